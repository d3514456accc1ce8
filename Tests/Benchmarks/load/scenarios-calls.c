// The cost of a whole call: two connects, offer, answer, ten candidates of each side, and the end.
#include "load.h"

#include <stdio.h>

enum { CANDIDATES = 10, CALLS_AT_ONCE = 32 };

static Batch batch;
static uint32_t begun, done;

static void beginNext(void) {
    if (begun == batch.pairs) return;
    Connection *caller = &batch.connections[2 * begun++];
    char text[LARGEST_MESSAGE];
    sendText(caller, text, offerText(caller, text, sizeof text));
}

static void callsText(Connection *c, Kind kind, const char *text, size_t length, uint64_t at) {
    char end[LARGEST_MESSAGE];
    bool wasEnded = c->talk && c->talk->ended;
    talkText(c, kind, text, length, at);
    if (!c->talk) return;
    Connection *caller = c->side == CALLER ? c : c->talk->peer;
    if (kind == KIND_ANSWER && c == caller) {
        fillWindow(caller);
        fillWindow(caller->talk->peer);
    } else if (kind == KIND_ICE && caller->talk->received == perSide && caller->talk->peer->talk->received == perSide) {
        sendText(caller, end, endText(caller, end, sizeof end));
    } else if (kind == KIND_END && c->talk->ended && !wasEnded) {
        done++;
        beginNext();
    }
}

static uint32_t acknowledged(void) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < batch.pairs * 2; i++) sum += batch.talks[i].acked + batch.talks[i].otherAcks;
    return sum;
}

void callsScenario(void) {
    Connection *idle = openIdle((uint32_t)options.idle);
    uint64_t connectCpu = 0, callCpu = 0, elapsed = 0, calls = 0;
    behaviour.text = callsText;
    for (int i = 0; i < options.warmup + options.batches; i++) {
        uint64_t start = serverCpuNs();
        openBatch(&batch, (uint32_t)options.pairs, (uint32_t)i);
        turnFor(0.1);
        uint64_t open = serverCpuNs(), began = nowNs();
        begun = done = 0;
        window = options.window;
        perSide = CANDIDATES;
        for (uint32_t j = 0; j < CALLS_AT_ONCE; j++) beginNext();
        uint32_t acks = options.ringline ? batch.pairs * (2 * CANDIDATES + 3) : 0;
        while (done < batch.pairs || acknowledged() < acks) {
            if (nowNs() - began > 30000000000ull) die("%u of %u calls ended, %u acks", done, batch.pairs, acknowledged());
            turn(done < batch.pairs ? 100000000 : 2000000);
        }
        uint64_t took = nowNs() - began;
        turnFor(0.1);
        uint64_t over = serverCpuNs();
        checkBatch(&batch);
        closeBatch(&batch);
        turnFor(0.1);
        if (i < options.warmup) continue;
        connectCpu += (open - start) + (serverCpuNs() - over);
        callCpu += over - open;
        elapsed += took;
        calls += (uint64_t)options.pairs;
    }
    countIdle(idle, (uint32_t)options.idle);
    printf(",\"calls\":%llu,\"seconds\":%.3f,\"calls_per_second\":%.0f,\"cpu_us_per_call\":%.1f,\"cpu_us_per_call_alone\":%.1f",
        (unsigned long long)calls, (double)elapsed * 1e-9, (double)calls / ((double)elapsed * 1e-9),
        (double)(connectCpu + callCpu) * 1e-3 / (double)calls, (double)callCpu * 1e-3 / (double)calls);
}
