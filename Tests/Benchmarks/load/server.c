// The server's CPU time and memory as the kernel counts them.
#define _GNU_SOURCE
#include "load.h"

#include "../allocations.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// Returns the process's CPU clock: user and system time of all its threads, including ended ones, in nanoseconds.
// It is the sum of the values in /proc/PID/task/*/schedstat. utime + stime in /proc/PID/stat has a resolution of 10 ms.
static uint64_t cpuNs(long pid) {
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &t)) die("the server %ld has gone", pid);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t serverCpuNs(void) {
    uint64_t sum = 0;
    for (int i = 0; i < options.pidCount; i++) sum += cpuNs(options.pids[i]);
    return sum;
}

uint64_t ownerCpuNs(void) { return cpuNs(options.pids[0]); }

uint64_t ownCpuNs(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum { MOST_THREADS = 256 };
static struct {
    long id;
    uint64_t ns;
} threads[MOST_THREADS];
static int threadCount;

static uint64_t threadNs(long pid, const char *id) {
    char path[320];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%s/schedstat", pid, id);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fscanf(file, "%llu", &ns) != 1) ns = 0;
    fclose(file);
    return ns;
}

static uint64_t lookAtThreads(long pid, bool isBeginning) {
    char path[64];
    uint64_t busiest = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    DIR *folder = opendir(path);
    if (!folder) die("cannot read %s", path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        uint64_t ns = threadNs(pid, entry->d_name), before = 0;
        long id = atol(entry->d_name);
        for (int i = 0; i < threadCount && !isBeginning; i++) if (threads[i].id == id) before = threads[i].ns;
        if (isBeginning && threadCount < MOST_THREADS) threads[threadCount].id = id, threads[threadCount++].ns = ns;
        if (ns - before > busiest) busiest = ns - before;
    }
    closedir(folder);
    return busiest;
}

void watchThreads(void) {
    threadCount = 0;
    for (int i = 0; i < options.pidCount; i++) lookAtThreads(options.pids[i], true);
}

// Returns the CPU time of the busiest thread of all servers since `watchThreads`. If each thread has a core of its own,
// this thread is the bottleneck.
uint64_t busiestThreadNs(void) {
    uint64_t busiest = 0;
    for (int i = 0; i < options.pidCount; i++) {
        uint64_t ns = lookAtThreads(options.pids[i], false);
        if (ns > busiest) busiest = ns;
    }
    return busiest;
}

uint64_t ownerThreadNs(void) { return lookAtThreads(options.pids[0], false); }

static void addMemory(long pid, uint64_t *rss, uint64_t *pss) {
    char path[64], line[256];
    unsigned long long kilobytes;
    snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    if (!file) die("cannot read %s", path);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "Rss: %llu", &kilobytes) == 1) *rss += kilobytes * 1024;
        if (sscanf(line, "Pss: %llu", &kilobytes) == 1) *pss += kilobytes * 1024;
    }
    fclose(file);
}

void serverMemory(uint64_t *rss, uint64_t *pss) {
    *rss = *pss = 0;
    for (int i = 0; i < options.pidCount; i++) addMemory(options.pids[i], rss, pss);
}

static const CountedAllocations *mapAllocations(void) {
    const CountedAllocations *counted;
    int file = open(options.allocationsFile, O_RDONLY | O_CLOEXEC);
    if (file < 0 || lseek(file, 0, SEEK_END) != sizeof *counted) die("nobody counts in %s", options.allocationsFile);
    counted = mmap(NULL, sizeof *counted, PROT_READ, MAP_SHARED, file, 0);
    if (counted == MAP_FAILED) die("cannot map %s", options.allocationsFile);
    close(file);
    return counted;
}

Allocations serverAllocations(void) {
    static const CountedAllocations *counted;
    Allocations sum = {0};
    if (!options.allocationsFile) return sum;
    if (!counted) counted = mapAllocations();
    for (int i = 0; i < COUNTED_THREADS; i++) {
        uint64_t calls = counted->by[i].calls;
        sum.calls += calls;
        sum.bytes += counted->by[i].bytes;
        if (counted->by[i].thread == options.pids[0]) sum.loopCalls += calls;
    }
    return sum;
}

double machineLoad(void) {
    double load = 0;
    return getloadavg(&load, 1) == 1 ? load : -1;
}
