// Pairs in calls: records what each side has sent, and checks that all of it arrives once, in order, and at its peer.
#include "load.h"

#include <stdlib.h>
#include <string.h>

uint64_t delivered, acked;
int window;
uint32_t perSide;
static uint32_t described, ended, otherAcks;

void resetTalk(void) { delivered = acked = 0; }

void openBatch(Batch *b, uint32_t pairs, uint32_t batch) {
    *b = (Batch){calloc(pairs * 2, sizeof(Connection)), calloc(pairs * 2, sizeof(Talk)), pairs};
    if (!b->connections || !b->talks) die("out of memory");
    described = ended = otherAcks = 0;
    for (uint32_t i = 0; i < pairs * 2; i++) {
        b->connections[i].talk = &b->talks[i];
        b->talks[i].peer = &b->connections[i ^ 1];
    }
    for (uint32_t i = 0; i < pairs * 2; i++) {
        while (opening >= options.atOnce) turn(100000000);
        openConnection(&b->connections[i], i & 1 ? CALLEE : CALLER, i / 2, batch);
    }
    openAll(NULL, 0, LONE, 0, 0); // waits for the last handshakes
}

void closeBatch(Batch *b) {
    closeAll(b->connections, b->pairs * 2);
    free(b->connections);
    free(b->talks);
}

static void awaitCount(const uint32_t *counter, uint32_t expected, const char *what) {
    uint64_t until = nowNs() + 20u * 1000000000ull;
    while (*counter < expected) {
        if (nowNs() > until) die("%u of %u %s", *counter, expected, what);
        turn(100000000);
    }
}

// Sends all offers; the callees answer each when it arrives. A plain relay sends no acks.
void startCalls(Batch *b) {
    char text[LARGEST_MESSAGE];
    for (uint32_t i = 0; i < b->pairs; i++) {
        Connection *caller = &b->connections[2 * i];
        sendText(caller, text, offerText(caller, text, sizeof text));
        while (options.dialect == RINGLINE && otherAcks + 100 < i) turn(100000000);
    }
    awaitCount(&described, b->pairs * 2, "offers and answers came");
    if (options.dialect == RINGLINE) awaitCount(&otherAcks, b->pairs * 2, "offers and answers were acknowledged");
}

void sendCandidate(Connection *c, uint64_t due) {
    char text[CANDIDATE_BYTES + 1];
    Talk *talk = c->talk;
    talk->sent++;
    talk->due[talk->sent] = due;
    sendText(c, text, candidateText(c, talk->sent, due, text, sizeof text));
}

void fillWindow(Connection *c) {
    const Talk *other = c->talk->peer->talk;
    while (c->phase == OPEN && c->talk->sent < perSide && c->talk->sent - other->received < (uint32_t)window)
        sendCandidate(c, nowNs());
}

static void candidateCame(Connection *c, const char *text, size_t length, uint64_t at) {
    Talk *talk = c->talk;
    const Talk *other = talk->peer->talk;
    uint32_t number, pair;
    char side;
    bool mine = readCandidate(text, length, &number, &pair, &side) && pair == c->number &&
                side == (c->side == CALLER ? 'e' : 'c') && number >= 1 && number <= other->sent;
    if (!mine) {
        faults.foreign++;
        return;
    }
    uint64_t bit = 1ull << (number - 1) % 64, *word = &talk->seen[(number - 1) / 64];
    if (*word & bit) {
        faults.duplicated++;
        return;
    }
    *word |= bit;
    if (number < talk->newest) faults.outOfOrder++;
    else talk->newest = number;
    talk->received++;
    delivered++;
    addSample(&oneWay, at - other->due[number]);
    if (window) fillWindow(talk->peer);
}

static void ackCame(Connection *c, const char *text, size_t length, uint64_t at) {
    Talk *talk = c->talk;
    uint32_t number;
    if (!readAck(text, length, &number)) {
        talk->otherAcks++;
        otherAcks++;
        return;
    }
    if (number < 1 || number > talk->sent) {
        faults.foreign++;
        return;
    }
    uint64_t bit = 1ull << (number - 1) % 64, *word = &talk->ackedBits[(number - 1) / 64];
    if (*word & bit) faults.duplicated++;
    else talk->acked++, acked++;
    *word |= bit;
    addSample(&ackTime, at - talk->due[number]);
}

void talkText(Connection *c, Kind kind, const char *text, size_t length, uint64_t at) {
    if (!c->talk) return;
    if (kind == KIND_ICE) {
        candidateCame(c, text, length, at);
    } else if (kind == KIND_ACK) {
        ackCame(c, text, length, at);
    } else if ((kind == KIND_OFFER && c->side == CALLEE) || (kind == KIND_ANSWER && c->side == CALLER)) {
        if (c->talk->described) faults.duplicated++;
        else described++;
        c->talk->described = true;
        if (c->side == CALLEE) {
            char answer[LARGEST_MESSAGE];
            sendText(c, answer, answerText(c, answer, sizeof answer));
        }
    } else if (kind == KIND_END && c->side == CALLEE) {
        if (c->talk->ended) faults.duplicated++;
        else ended++;
        c->talk->ended = true;
    }
}

// Waits until everything that was sent has arrived and is acknowledged, or nothing has come for `patience` seconds.
void awaitCandidates(Batch *b, double patience) {
    uint64_t before = ~0ull, changed = nowNs();
    for (;;) {
        uint64_t sent = 0, got = 0, confirmed = 0;
        for (uint32_t i = 0; i < b->pairs * 2; i++) {
            sent += b->talks[i].sent;
            got += b->talks[i].received;
            confirmed += b->talks[i].acked;
        }
        if (got == sent && (options.dialect != RINGLINE || confirmed == sent)) return;
        // Computing the sums walks over all connections, so do it only every now and then.
        uint64_t target = (options.dialect == RINGLINE ? 2 : 1) * (sent - got > 0 ? sent - got : 1), start = delivered + acked;
        for (uint64_t until = nowNs() + 20000000; nowNs() < until && delivered + acked < start + target;) turn(5000000);
        if (got + confirmed != before) changed = nowNs();
        before = got + confirmed;
        if ((double)(nowNs() - changed) * 1e-9 > patience) return;
    }
}

void checkBatch(Batch *b) {
    for (uint32_t i = 0; i < b->pairs * 2; i++) {
        faults.lost += b->talks[i].sent - b->talks[i ^ 1].received;
        if (options.dialect == RINGLINE) faults.unacked += b->talks[i].sent - b->talks[i].acked;
    }
}

void endCalls(Batch *b) {
    char text[LARGEST_MESSAGE];
    for (uint32_t i = 0; i < b->pairs; i++) {
        Connection *caller = &b->connections[2 * i];
        sendText(caller, text, endText(caller, text, sizeof text));
    }
    awaitCount(&ended, b->pairs, "ends came");
    if (options.dialect == RINGLINE) awaitCount(&otherAcks, b->pairs * 3, "ends were acknowledged");
}
