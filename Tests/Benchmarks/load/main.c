// load -- generates the load of one scenario, and prints its cost for the server as one JSON object. See ../README.md.
#define _GNU_SOURCE
#include "load.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

Options options = {
    .ports = {8080}, .portCount = 1, .idle = 0, .pairs = 100, .window = 4, .messages = BURST_PER_SIDE, .batches = 3, .warmup = 1,
    .connects = 4000, .atOnce = 64, .rate = 2000, .seconds = 4,
    .calls = 1000, .spread = 5,
};
Faults faults;
uint32_t runName;

_Noreturn void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(2);
}

uint64_t nowNs(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"throughput", throughputScenario}, {"rate", rateScenario},   {"idle", idleScenario},
    {"churn", churnScenario},           {"calls", callsScenario}, {"storm", stormScenario},
    {"live", liveScenario},             {"take-over", takeOverScenario}, {"steady", steadyScenario},
};

static const char *const dialects[] = {"plain", "ringline", "nats", "spreed"};

static int count(const char *text, int least) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < least || value > 10000000) die("not a number from %d on: %s", least, text);
    return (int)value;
}

// Reads numbers with commas between them; returns how many there are.
static int list(char *text, void (*add)(int at, int value)) {
    int at = 0;
    for (char *one = strtok(text, ","); one; one = strtok(NULL, ",")) {
        if (at == MOST_NODES) die("at most %d servers", MOST_NODES);
        add(at++, count(one, 1));
    }
    return at;
}

static void addPort(int at, int value) { options.ports[at] = value; }
static void addPid(int at, int value) { options.pids[at] = value; }

static void readOptions(int argc, char **argv) {
    static const struct option known[] = {
        {"port", 1, 0, 'p'},  {"pid", 1, 0, 'P'},      {"dialect", 1, 0, 'd'}, {"secret", 1, 0, 's'},
        {"idle", 1, 0, 'i'},  {"pairs", 1, 0, 'n'},    {"window", 1, 0, 'w'},  {"messages", 1, 0, 'm'},
        {"batches", 1, 0, 'b'}, {"warmup", 1, 0, 'u'}, {"connects", 1, 0, 'c'}, {"at-once", 1, 0, 'a'},
        {"rate", 1, 0, 'r'},  {"seconds", 1, 0, 't'},  {"calls", 1, 0, 'C'}, {"tls", 0, 0, 'T'},
        {"allocations", 1, 0, 'A'}, {"spread", 1, 0, 'S'},
        {0, 0, 0, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'p': options.portCount = list(optarg, addPort); break;
        case 'P': options.pidCount = list(optarg, addPid); break;
        case 'd':
            for (options.dialect = PLAIN; strcmp(dialects[options.dialect], optarg); options.dialect++)
                if (options.dialect == SPREED) die("--dialect is plain, ringline, nats or spreed");
            break;
        case 's': options.secretFile = optarg; break;
        case 'i': options.idle = count(optarg, 0); break;
        case 'n': options.pairs = count(optarg, 1); break;
        case 'w': options.window = count(optarg, 1); break;
        case 'm': options.messages = count(optarg, 1); break;
        case 'b': options.batches = count(optarg, 1); break;
        case 'u': options.warmup = count(optarg, 0); break;
        case 'c': options.connects = count(optarg, 1); break;
        case 'a': options.atOnce = count(optarg, 1); break;
        case 'T': options.tls = true; break;
        case 'A': options.allocationsFile = optarg; break;
        case 'C': options.calls = count(optarg, 1); break;
        case 'r': options.rate = strtod(optarg, NULL); break;
        case 't': options.seconds = strtod(optarg, NULL); break;
        case 'S': options.spread = strtod(optarg, NULL); break;
        default: die("see README.md for the options");
        }
    }
    if (optind != argc - 1) die("load SCENARIO --port N,… --pid N,… [--dialect ringline --secret FILE]; see README.md");
    options.scenario = argv[optind];
    if (!options.pidCount || !options.portCount) die("--port and --pid of the server are needed");
    if (options.dialect == RINGLINE && !options.secretFile) die("--secret is needed for Ringline's tokens");
    if (options.messages > MOST_PER_SIDE) die("--messages is at most %d", MOST_PER_SIDE);
    if (!(options.rate > 0) || !(options.seconds > 0)) die("--rate and --seconds are above 0");
}

int main(int argc, char **argv) {
    readOptions(argc, argv);
    if (options.dialect == RINGLINE) readSecret(options.secretFile);

    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    // In `steady` few of the pairs are connected at a time.
    int busy = strcmp(options.scenario, "steady") ? options.pairs : 0;
    if ((rlim_t)(options.idle + 2 * busy + 32) > limit.rlim_max)
        die("so many sessions need more descriptors than the %llu allowed", (unsigned long long)limit.rlim_max);
    // Reduce the timer slack from its default of 50 µs, so that the open loop sends on time.
    prctl(PR_SET_TIMERSLACK, 1UL);
    runName = (uint32_t)(nowNs() / 1000000 % 100000);
    startLoop();

    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(scenarios[i].name, options.scenario)) continue;
        printf("{\"scenario\":\"%s\",\"dialect\":\"%s\",\"load\":%.2f,\"idle\":%d", options.scenario,
            dialects[options.dialect], machineLoad(), options.idle);
        scenarios[i].run();
        uint64_t sum = faults.lost + faults.duplicated + faults.outOfOrder + faults.foreign + faults.unacked +
                       faults.errors + faults.gone;
        printf(",\"lost\":%llu,\"duplicated\":%llu,\"out_of_order\":%llu,\"foreign\":%llu,\"unacked\":%llu,"
               "\"errors\":%llu,\"gone\":%llu}\n",
            (unsigned long long)faults.lost, (unsigned long long)faults.duplicated,
            (unsigned long long)faults.outOfOrder, (unsigned long long)faults.foreign,
            (unsigned long long)faults.unacked, (unsigned long long)faults.errors, (unsigned long long)faults.gone);
        return sum != 0;
    }
    die("no scenario %s", options.scenario);
}
