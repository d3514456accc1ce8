// The cost of a whole call: two connects, offer, answer, ten candidates of each side, and the end.
#include "load.h"

#include <stdio.h>
#include <stdlib.h>

enum { CANDIDATES = 10, CALLS_AT_ONCE = 32 };

static Batch batch;
static uint32_t begun, done;

static void beginNext(void) {
    if (begun == batch.pairs) return;
    Connection *caller = &batch.connections[2 * begun++];
    char text[LARGEST_MESSAGE];
    sendText(caller, text, offerText(caller, text, sizeof text));
}

// Sends what follows in a call after a text; returns whether the callee has just received the call's end.
static bool goOn(Connection *c, Kind kind, const char *text, size_t length, uint64_t at) {
    char end[LARGEST_MESSAGE];
    bool wasEnded = c->talk && c->talk->ended;
    talkText(c, kind, text, length, at);
    if (!c->talk) return false;
    Connection *caller = c->side == CALLER ? c : c->talk->peer;
    if (kind == KIND_ANSWER && c == caller) {
        fillWindow(caller);
        fillWindow(caller->talk->peer);
    } else if (kind == KIND_ICE && caller->talk->received == perSide && caller->talk->peer->talk->received == perSide) {
        sendText(caller, end, endText(caller, end, sizeof end));
    }
    return kind == KIND_END && c->talk->ended && !wasEnded;
}

static void callsText(Connection *c, Kind kind, const char *text, size_t length, uint64_t at) {
    if (!goOn(c, kind, text, length, at)) return;
    done++;
    beginNext();
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
        uint32_t acks = options.dialect == RINGLINE ? batch.pairs * (2 * CANDIDATES + 3) : 0;
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

// ---- steady

static uint32_t running, finished;

static void offerWhenBothAreOpen(Connection *c) {
    Connection *caller = c->side == CALLER ? c : c->talk->peer;
    char text[LARGEST_MESSAGE];
    if (c->talk->peer->phase != OPEN) return;
    caller->talk->offeredAt = nowNs();
    sendText(caller, text, offerText(caller, text, sizeof text));
}

static void steadyText(Connection *c, Kind kind, const char *text, size_t length, uint64_t at) {
    if (kind == KIND_ANSWER && c->side == CALLER) addSample(&answerTime, at - c->talk->offeredAt);
    goOn(c, kind, text, length, at);
    const Talk *mine = c->talk, *other = c->talk->peer->talk;
    bool isOver = mine->ended || other->ended;
    uint32_t acks = mine->acked + other->acked + mine->otherAcks + other->otherAcks;
    if (!isOver || (options.dialect == RINGLINE && acks < 2 * CANDIDATES + 3)) return;
    closeConnection(c);
    closeConnection(c->talk->peer);
}

static void steadyClosed(Connection *c) {
    if (c->talk->peer->phase != GONE) return;
    running--;
    finished++;
}

// Makes whole calls at --rate for --seconds, each pair again and again: two connects, a call, two closes. Measures the time
// from an offer until its answer, and the server's resident memory at the end of every tenth of the time.
void steadyScenario(void) {
    Batch b = {calloc((size_t)options.pairs * 2, sizeof(Connection)), calloc((size_t)options.pairs * 2, sizeof(Talk)),
        (uint32_t)options.pairs};
    if (!b.connections || !b.talks) die("out of memory");
    for (uint32_t i = 0; i < b.pairs * 2; i++) b.connections[i].phase = GONE;
    behaviour = (Behaviour){.opened = offerWhenBothAreOpen, .text = steadyText, .closed = steadyClosed};
    window = options.window;
    perSide = CANDIDATES;
    uint64_t calls = (uint64_t)(options.rate * options.seconds), skipped = 0, began = nowNs(), cpu = serverCpuNs();
    uint64_t rss[10] = {0}, pss, tenth = calls < 10 ? 1 : calls / 10;
    for (uint64_t i = 0; i < calls;) {
        uint64_t now = nowNs(), due = began + (uint64_t)((double)i * 1e9 / options.rate);
        if (due > now) {
            turn((int64_t)(due - now));
            continue;
        }
        uint32_t pair = (uint32_t)(i % b.pairs);
        Connection *both = &b.connections[2 * pair];
        if (both[0].phase != GONE || both[1].phase != GONE) {
            skipped++;
        } else {
            for (uint32_t side = 0; side < 2; side++) {
                Talk *talk = &b.talks[2 * pair + side];
                *talk = (Talk){.peer = &both[side ^ 1]};
                both[side].talk = talk;
            }
            for (uint32_t side = 0; side < 2; side++) {
                openConnection(&both[side], side ? CALLEE : CALLER, pair, 0);
                both[side].turn = (uint32_t)(i / b.pairs) + 1;
            }
            running++;
        }
        i++;
        oneWay.count = ackTime.count = 0;
        if (i % tenth == 0 && i / tenth <= 10) serverMemory(&rss[i / tenth - 1], &pss);
    }
    for (uint64_t until = nowNs() + 30000000000ull; running && nowNs() < until;) turn(100000000);
    cpu = serverCpuNs() - cpu;
    faults.lost += running;
    faults.errors += skipped;
    printf(",\"answer_us\":{\"p50\":%.0f,\"p99\":%.0f}", quantileUs(&answerTime, 0.5), quantileUs(&answerTime, 0.99));
    printf(",\"calls\":%u,\"skipped\":%llu,\"rate\":%.0f,\"seconds\":%.0f,\"cpu_us_per_call\":%.1f,\"rss_of_tenths\":[", finished,
        (unsigned long long)skipped, options.rate, options.seconds, (double)cpu * 1e-3 / (finished ? finished : 1));
    for (int i = 0; i < 10; i++) printf("%s%llu", i ? "," : "", (unsigned long long)rss[i]);
    printf("]");
}
