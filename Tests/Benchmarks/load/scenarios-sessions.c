// The cost of connections: those that only stay open, those that come and go, and those that all reconnect together.
#include "load.h"

#include <stdio.h>
#include <stdlib.h>

Connection *openIdle(uint32_t count) {
    if (!count) return NULL;
    Connection *idle = calloc(count, sizeof *idle);
    if (!idle) die("out of memory");
    openAll(idle, count, LONE, 0, 0);
    turnFor(1);
    return idle;
}

// Adds the idle connections that are no longer open to `faults.gone`, unless some are already counted there.
void countIdle(Connection *idle, uint32_t count) {
    uint32_t open = 0;
    for (uint32_t i = 0; i < count; i++) open += idle[i].phase == OPEN;
    if (open < count && !faults.gone) faults.gone += count - open;
}

// ---- idle

void idleScenario(void) {
    enum { FIRST = 100 };
    if (options.idle < 1) die("--idle is needed");
    uint32_t count = (uint32_t)options.idle;
    Connection *idle = calloc(FIRST + (size_t)count, sizeof *idle);
    if (!idle) die("out of memory");
    // Open a few connections first, so that what a server allocates once is not charged to the connections.
    openAll(idle, FIRST, LONE, 0, 0);
    turnFor(1);
    uint64_t rss, pss, grownRss, grownPss;
    serverMemory(&rss, &pss);
    uint64_t cpu = serverCpuNs(), began = nowNs();
    openAll(idle + FIRST, count, LONE, FIRST, 0);
    uint64_t opened = nowNs() - began, openingCpu = serverCpuNs() - cpu;
    turnFor(1);
    serverMemory(&grownRss, &grownPss);
    cpu = serverCpuNs();
    turnFor(options.seconds);
    cpu = serverCpuNs() - cpu;
    printf(",\"rss\":%llu,\"rss_bytes_per_session\":%.0f,\"pss_bytes_per_session\":%.0f,\"open_seconds\":%.3f,"
           "\"open_cpu_us_per_session\":%.1f,\"idle_cpu_percent\":%.2f",
        (unsigned long long)grownRss, ((double)grownRss - (double)rss) / count, ((double)grownPss - (double)pss) / count,
        (double)opened * 1e-9, (double)openingCpu * 1e-3 / count, (double)cpu * 1e-7 / options.seconds);
    countIdle(idle, FIRST + count);
}

// ---- churn

// Connects, waits for the greeting and closes orderly; at most --at-once connections at a time.
static void churn(uint32_t count, uint32_t batch) {
    Connection *connections = calloc(count, sizeof *connections);
    if (!connections) die("out of memory");
    behaviour.opened = closeConnection;
    uint64_t until = nowNs() + 120u * 1000000000ull;
    for (uint32_t started = 0; started < count || opening > 0 || closing > 0;) {
        while (started < count && opening + closing < options.atOnce) {
            openConnection(&connections[started], LONE, started, batch);
            started++;
        }
        turn(100000000);
        if (nowNs() > until) die("%d handshakes and %d closes hang", opening, closing);
    }
    behaviour.opened = NULL;
    free(connections);
}

void churnScenario(void) {
    Connection *idle = openIdle((uint32_t)options.idle);
    churn(300, 1);
    turnFor(0.3);
    watchThreads();
    uint64_t own = ownCpuNs(), owner = ownerCpuNs(), cpu = serverCpuNs(), began = nowNs();
    churn((uint32_t)options.connects, 2);
    double took = (double)(nowNs() - began) * 1e-9;
    own = ownCpuNs() - own;
    turnFor(0.1); // let the server finish the last closes
    cpu = serverCpuNs() - cpu;
    owner = ownerCpuNs() - owner;
    printf(",\"connects\":%d,\"seconds\":%.3f,\"connects_per_second\":%.0f,\"cpu_us_per_connect\":%.2f"
           ",\"busiest_thread_us_per_connect\":%.2f,\"generator_cpu_us_per_connect\":%.2f",
        options.connects, took, options.connects / took, (double)cpu * 1e-3 / options.connects,
        (double)busiestThreadNs() * 1e-3 / options.connects, (double)own * 1e-3 / options.connects);
    if (options.pidCount > 1)
        printf(",\"owner_cpu_us_per_connect\":%.2f,\"owner_thread_us_per_connect\":%.2f", (double)owner * 1e-3 / options.connects,
            (double)ownerThreadNs() * 1e-3 / options.connects);
    countIdle(idle, (uint32_t)options.idle);
}

// ---- storm

static uint32_t replayed;

static void stormText(Connection *c, Kind kind, const char *text, size_t length, uint64_t at) {
    (void)text, (void)length, (void)at;
    if (kind == KIND_OFFER || kind == KIND_ANSWER) replayed += c->replayed++ == 0;
}

// Drops all connections of answered calls without a close frame, and lets the same devices reconnect immediately.
// Ringline must replay to each device that device's call, unasked; afterwards the calls continue.
void stormScenario(void) {
    if (options.idle < 2) die("--idle says how many sessions take part");
    Batch b;
    behaviour.text = talkText;
    openBatch(&b, (uint32_t)options.idle / 2, 1);
    startCalls(&b);
    turnFor(1);
    uint32_t count = b.pairs * 2;
    behaviour.text = stormText;
    uint64_t cpu = serverCpuNs(), began = nowNs();
    for (uint32_t i = 0; i < count; i++) dropConnection(&b.connections[i]);
    double dropped = (double)(nowNs() - began) * 1e-9;
    for (uint32_t i = 0; i < count; i++) {
        while (opening >= options.atOnce) turn(100000000);
        openConnection(&b.connections[i], i & 1 ? CALLEE : CALLER, i / 2, 1);
    }
    openAll(NULL, 0, LONE, 0, 0);
    double back = (double)(nowNs() - began) * 1e-9;
    for (uint64_t until = nowNs() + 10000000000ull; options.dialect == RINGLINE && replayed < count && nowNs() < until;) turn(100000000);
    double told = (double)(nowNs() - began) * 1e-9;
    cpu = serverCpuNs() - cpu;
    if (options.dialect == RINGLINE) faults.lost += count - replayed;
    printf(",\"sessions\":%u,\"dropped_seconds\":%.3f,\"back_seconds\":%.3f,\"replayed_seconds\":%.3f,\"replayed\":%u,"
           "\"cpu_seconds\":%.3f,\"cpu_us_per_session\":%.1f",
        count, dropped, back, told, replayed, (double)cpu * 1e-9, (double)cpu * 1e-3 / count);
    turnFor(0.5);
    behaviour.text = talkText;
    resetTalk();
    window = options.window;
    perSide = 4;
    for (uint32_t i = 0; i < count; i++) fillWindow(&b.connections[i]);
    awaitCandidates(&b, 10);
    checkBatch(&b);
    printf(",\"messages_after\":%llu", (unsigned long long)delivered);
}
