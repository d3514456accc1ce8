// The death of the owner of the calls: sessions on all nodes, calls under way, and SIGKILL for the first process.
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t killedAt; // 0 before the death
static Connection **lost; // the connections that were closed and are not connecting again yet
static uint32_t lostCount, ofOwner, ofOthers, through, talkersAway;
static uint64_t allBackAt;
static Samples throughTime, keptTime;

// When a client connects again: the devices in calls at once, the others within `--spread` seconds.
static uint64_t returnsAt(const Connection *c) {
    if (c->talk) return 0;
    return killedAt + (uint64_t)((double)(c->number * 2654435761u % 1000) * 1e6 * options.spread);
}

static void connectAgain(void) {
    uint64_t now = nowNs();
    for (uint32_t i = 0; i < lostCount && opening < options.atOnce;) {
        Connection *c = lost[i];
        if (returnsAt(c) > now) {
            i++;
            continue;
        }
        lost[i] = lost[--lostCount];
        openConnection(c, c->side, c->number, c->batch);
    }
}

// The sockets of the killed process. A socket of another node may be closed if the dead owner had a signal of it and
// did not confirm it, so only one in a call; every other close is a fault.
static bool mayBeClosed(Connection *c) { return killedAt && (c->node == 0 || c->talk); }

static void closed(Connection *c) {
    lost[lostCount++] = c;
    if (c->node == 0 && killedAt) ofOwner++;
    else ofOthers++;
    if (!c->talk) return;
    talkersAway += !c->talk->isAway;
    c->talk->wasClosed = c->talk->isAway = true;
}

static bool isAcked(const Talk *talk, uint32_t number) {
    return talk->ackedBits[(number - 1) / 64] >> (number - 1) % 64 & 1;
}

// A client sends what was not acknowledged again, under the same id.
static void opened(Connection *c) {
    char text[CANDIDATE_BYTES + 1];
    if (!c->talk || !c->talk->isAway) return;
    c->talk->isAway = false;
    if (--talkersAway == 0) allBackAt = nowNs();
    for (uint32_t number = 1; number <= c->talk->sent; number++)
        if (!isAcked(c->talk, number)) sendText(c, text, candidateText(c, number, c->talk->due[number], text, sizeof text));
}

// A candidate may come again, by a replay or because its sender sent it again.
static void text(Connection *c, Kind kind, const char *text, size_t length, uint64_t at) {
    Talk *talk = c->talk, *other;
    uint32_t number, pair;
    char side;
    if (!talk) return;
    other = talk->peer->talk;
    if (kind == KIND_ICE) {
        if (!readCandidate(text, length, &number, &pair, &side) || pair != c->number ||
            side != (c->side == CALLER ? 'e' : 'c') || number < 1 || number > other->sent) {
            faults.foreign++;
            return;
        }
        uint64_t bit = 1ull << (number - 1) % 64, *word = &talk->seen[(number - 1) / 64];
        if (*word & bit) return;
        *word |= bit;
        talk->received++;
        delivered++;
        if (number != other->probe) return;
        through++;
        addSample(&throughTime, at - other->due[number]);
        if (!talk->wasClosed && !other->wasClosed) addSample(&keptTime, at - other->due[number]);
    } else if (kind == KIND_ACK && readAck(text, length, &number) && number >= 1 && number <= talk->sent) {
        if (!isAcked(talk, number)) talk->acked++, acked++;
        talk->ackedBits[(number - 1) / 64] |= 1ull << (number - 1) % 64;
    }
}

// Sends candidates of all sides in turn, at --rate, for --seconds.
static void sendAtRate(Batch *b) {
    uint64_t total = (uint64_t)(options.rate * options.seconds), began = nowNs();
    for (uint64_t i = 0; i < total;) {
        uint64_t now = nowNs(), due = began + (uint64_t)((double)i * 1e9 / options.rate);
        if (due > now) turn((int64_t)(due - now));
        else sendCandidate(&b->connections[i++ % (b->pairs * 2)], now);
    }
}

// Sends the next signal of every second call from this one on: the caller's or the callee's.
static void sendProbes(Batch *b, uint32_t first) {
    uint64_t now = nowNs();
    for (uint32_t i = first; i < b->pairs; i += 2) {
        Connection *c = &b->connections[2 * i + i / 2 % 2];
        c->talk->probe = c->talk->sent + 1;
        // If the connection is closed, the signal is sent on the next one.
        if (c->phase == OPEN) sendCandidate(c, now);
        else c->talk->due[++c->talk->sent] = now;
    }
}

static void turnAgainFor(double seconds) {
    for (uint64_t until = nowNs() + (uint64_t)(seconds * 1e9); nowNs() < until;) {
        turn(1000000);
        connectAgain();
    }
}

// Opens --idle sessions and --pairs calls over all nodes, kills the owner amid traffic, and sends one signal of each
// call: of one half in the same moment, when the other nodes still have their links to the dead owner, and of the other
// half when they have none.
void takeOverScenario(void) {
    if (options.dialect != RINGLINE || options.portCount < 2) die("needs several nodes");
    uint32_t count = (uint32_t)options.idle, sessions = count + 2 * (uint32_t)options.pairs;
    lost = calloc(sessions, sizeof *lost);
    if (!lost) die("out of memory");
    Connection *idle = openIdle(count);
    Batch b;
    behaviour.text = talkText;
    openBatch(&b, (uint32_t)options.pairs, 1);
    startCalls(&b);
    turnFor(1);
    behaviour = (Behaviour){.opened = opened, .text = text, .closed = closed, .expects = mayBeClosed};
    sendAtRate(&b);

    firstNode = 1;
    killedAt = nowNs();
    if (kill((pid_t)options.pids[0], SIGKILL)) die("kill: %s", strerror(errno));
    sendProbes(&b, 0);
    turnAgainFor(0.3);
    sendProbes(&b, 1);
    uint64_t until = killedAt + 30000000000ull, spreadEnd = killedAt + (uint64_t)(options.spread * 1e9);
    while ((through < b.pairs || lostCount || opening || nowNs() < spreadEnd) && nowNs() < until) turnAgainFor(0.001);
    // Afterwards all calls go on, in both directions.
    for (uint32_t i = 0; i < b.pairs * 2; i++) sendCandidate(&b.connections[i], nowNs());
    awaitCandidates(&b, 10);
    checkBatch(&b);
    countIdle(idle, count);
    printf(",\"sessions\":%u,\"calls\":%u,\"through\":%u,\"through_us\":{\"p50\":%.0f,\"p99\":%.0f,\"max\":%.0f}"
           ",\"kept_calls\":%zu,\"kept_through_us\":{\"p50\":%.0f,\"p99\":%.0f,\"max\":%.0f}"
           ",\"closed_of_owner\":%u,\"closed_of_others\":%u,\"back_seconds\":%.3f",
        sessions, b.pairs, through, quantileUs(&throughTime, 0.5), quantileUs(&throughTime, 0.99), quantileUs(&throughTime, 1),
        keptTime.count, quantileUs(&keptTime, 0.5), quantileUs(&keptTime, 0.99), quantileUs(&keptTime, 1), ofOwner, ofOthers,
        allBackAt ? (double)(allBackAt - killedAt) * 1e-9 : -1);
}
