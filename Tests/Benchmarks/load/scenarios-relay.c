// The cost of a relayed message: as fast as a window allows, at a given rate, and beside live calls.
#define _GNU_SOURCE
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct Sum {
    uint64_t messages, acks, cpu, ownerCpu, busiest, ownerThread, elapsed, own;
    Allocations allocations;
} Sum;

// Runs one batch with new users in new calls, so that no limit on a connection or on a call's log is reached. Only the
// candidates are measured.
static void runBatch(uint32_t batch, void (*send)(Batch *), Sum *sum) {
    Batch b;
    openBatch(&b, (uint32_t)options.pairs, batch);
    startCalls(&b);
    // Let the server finish the work that opening has left.
    turnFor(0.3);
    resetTalk();
    oneWay.count = sum->messages ? oneWay.count : 0;
    ackTime.count = sum->messages ? ackTime.count : 0;
    lateness.count = sum->messages ? lateness.count : 0;
    Allocations before = serverAllocations();
    watchThreads();
    uint64_t own = ownCpuNs(), owner = ownerCpuNs(), cpu = serverCpuNs(), began = nowNs();
    send(&b);
    awaitCandidates(&b, 10);
    sum->elapsed += nowNs() - began;
    sum->cpu += serverCpuNs() - cpu;
    sum->ownerCpu += ownerCpuNs() - owner;
    sum->busiest += busiestThreadNs();
    sum->ownerThread += ownerThreadNs();
    sum->own += ownCpuNs() - own;
    Allocations after = serverAllocations();
    sum->allocations.calls += after.calls - before.calls;
    sum->allocations.bytes += after.bytes - before.bytes;
    sum->allocations.loopCalls += after.loopCalls - before.loopCalls;
    sum->messages += delivered;
    sum->acks += acked;
    window = 0;
    checkBatch(&b);
    endCalls(&b);
    closeBatch(&b);
}

static Sum runBatches(void (*send)(Batch *)) {
    Connection *idle = openIdle((uint32_t)options.idle);
    behaviour.text = talkText;
    Sum sum = {0};
    for (int i = 0; i < options.warmup + options.batches; i++) {
        if (i <= options.warmup) sum = (Sum){0};
        runBatch((uint32_t)i, send, &sum);
    }
    countIdle(idle, (uint32_t)options.idle);
    return sum;
}

static void report(Sum sum) {
    double messages = sum.messages ? (double)sum.messages : 1;
    printf(",\"pairs\":%d,\"messages\":%llu,\"acks\":%llu,\"seconds\":%.3f,\"messages_per_second\":%.0f,"
           "\"cpu_us_per_message\":%.3f,\"busiest_thread_us_per_message\":%.3f,\"generator_cpu_us_per_message\":%.3f",
        options.pairs, (unsigned long long)sum.messages, (unsigned long long)sum.acks, (double)sum.elapsed * 1e-9,
        messages / ((double)sum.elapsed * 1e-9), (double)sum.cpu * 1e-3 / messages, (double)sum.busiest * 1e-3 / messages,
        (double)sum.own * 1e-3 / messages);
    if (options.pidCount > 1)
        printf(",\"owner_cpu_us_per_message\":%.3f,\"owner_thread_us_per_message\":%.3f", (double)sum.ownerCpu * 1e-3 / messages,
            (double)sum.ownerThread * 1e-3 / messages);
    if (options.allocationsFile)
        printf(",\"allocations_per_message\":%.2f,\"loop_allocations_per_message\":%.2f,\"allocated_bytes_per_message\":%.0f",
            (double)sum.allocations.calls / messages, (double)sum.allocations.loopCalls / messages,
            (double)sum.allocations.bytes / messages);
}

// ---- closed loop

static void fillAll(Batch *b) {
    window = options.window;
    perSide = (uint32_t)options.messages;
    for (uint32_t i = 0; i < b->pairs * 2; i++) fillWindow(&b->connections[i]);
}

void throughputScenario(void) {
    report(runBatches(fillAll));
    printf(",\"window\":%d,\"one_way_us\":{\"p50\":%.0f,\"p99\":%.0f}", options.window, quantileUs(&oneWay, 0.5),
        quantileUs(&oneWay, 0.99));
}

// ---- open loop

// Sends each candidate at its own time, whether the earlier ones have arrived or not. Its latency counts from that
// time, so that a server that stalls is charged for everything that should have been sent meanwhile.
static void sendOnTime(Batch *b) {
    uint32_t senders = b->pairs * 2;
    uint64_t total = (uint64_t)perSide * senders, began = nowNs() + 1000000;
    for (uint64_t i = 0; i < total;) {
        uint64_t now = nowNs(), due = began + (uint64_t)((double)i * 1e9 / options.rate);
        if (due > now) {
            turn((int64_t)(due - now));
            continue;
        }
        addSample(&lateness, now - due);
        // Successive candidates belong to different pairs: first those of all callers, then those of all callees.
        uint32_t at = (uint32_t)(i % senders);
        at = at < b->pairs ? 2 * at : 2 * (at - b->pairs) + 1;
        Connection *c = &b->connections[at];
        if (c->phase == OPEN) sendCandidate(c, due);
        i++;
    }
}

void rateScenario(void) {
    double each = options.rate * options.seconds / (2.0 * options.pairs);
    perSide = each < 1 ? 1 : each > MOST_PER_SIDE ? MOST_PER_SIDE : (uint32_t)each;
    if (options.rate > 100.0 * options.pairs && perSide > BURST_PER_SIDE) perSide = BURST_PER_SIDE;
    Sum sum = runBatches(sendOnTime);
    report(sum);
    printf(",\"rate\":%.0f,\"one_way_us\":{\"p50\":%.0f,\"p99\":%.0f,\"max\":%.0f},\"generator_late_us\":{\"p50\":%.0f,\"p99\":%.0f}",
        options.rate, quantileUs(&oneWay, 0.5), quantileUs(&oneWay, 0.99), quantileUs(&oneWay, 1), quantileUs(&lateness, 0.5),
        quantileUs(&lateness, 0.99));
    if (options.dialect == RINGLINE)
        printf(",\"ack_us\":{\"p50\":%.0f,\"p99\":%.0f,\"max\":%.0f}", quantileUs(&ackTime, 0.5), quantileUs(&ackTime, 0.99),
            quantileUs(&ackTime, 1));
}

// ---- beside live calls

static uint32_t offersCame, offersAcked;

static void liveText(Connection *c, Kind kind, const char *text, size_t length, uint64_t at) {
    (void)text, (void)length, (void)at;
    offersCame += kind == KIND_OFFER && c->side == CALLEE;
    offersAcked += kind == KIND_ACK && c->side == CALLER;
}

// Begins this number of calls that ring and are never answered (the server must be started with a long --ring-timeout),
// and beside them measures the throughput of the usual pairs.
void liveScenario(void) {
    enum { UNACKNOWLEDGED = 500, BATCH = 19 };
    if (options.dialect != RINGLINE) die("a plain relay knows no calls");
    uint32_t calls = (uint32_t)options.calls, made = 0;
    Batch b;
    uint64_t rss, pss, grownRss, grownPss;
    char text[LARGEST_MESSAGE];
    behaviour.text = liveText;
    openBatch(&b, (calls + CALLS_PER_USER - 1) / CALLS_PER_USER, BATCH);
    turnFor(1);
    serverMemory(&rss, &pss);
    uint64_t cpu = serverCpuNs(), began = nowNs();
    for (uint32_t which = 0; made < calls; which++) {
        for (uint32_t i = 0; i < b.pairs && made < calls; i++, made++) {
            Connection *caller = &b.connections[2 * i];
            while (made - offersAcked >= UNACKNOWLEDGED && !faults.errors) turn(100000000);
            sendText(caller, text, anotherOfferText(caller, which, text, sizeof text));
        }
    }
    for (uint64_t until = nowNs() + 10000000000ull; (offersAcked < calls || offersCame < calls) && nowNs() < until;)
        turn(100000000);
    double took = (double)(nowNs() - began) * 1e-9;
    turnFor(1);
    cpu = serverCpuNs() - cpu;
    serverMemory(&grownRss, &grownPss);
    faults.lost += calls - offersCame;
    faults.unacked += calls - offersAcked;
    printf(",\"calls\":%u,\"begin_seconds\":%.3f,\"cpu_us_per_begun_call\":%.1f,\"rss_bytes_per_call\":%.0f", calls, took,
        (double)cpu * 1e-3 / calls, ((double)grownRss - (double)rss) / calls);
    report(runBatches(fillAll));
}
