// load -- what the files of the generator share. See ../README.md for what it measures.
//
// One thread, one epoll, everything on loopback. A connection is a WebSocket client (RFC 6455, masked frames, no
// extension); two of them make a pair, and what one of a pair says has to reach the other: once, and in order.
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    CANDIDATE_BYTES = 180,  // of one candidate's frame, without the frame's header
    MOST_PER_SIDE = 240,    // candidates of one side in one call: Ringline's log of a call takes 512 signals
    CALLS_PER_USER = 30,    // Ringline allows a user so many new calls a minute
    BURST_PER_SIDE = 190,   // as many at any speed: Ringline allows a session 200 at once, then 50 a second
    SEEN_WORDS = 4,         // bits for MOST_PER_SIDE candidates
    LARGEST_MESSAGE = 4096, // that the generator ever sends
};

typedef enum { CONNECTING, UPGRADING, GREETING, OPEN, CLOSING, GONE } Phase;
typedef enum { CALLER, CALLEE, LONE } Side;
typedef enum { KIND_GREETING, KIND_OFFER, KIND_ANSWER, KIND_ICE, KIND_END, KIND_ACK, KIND_ERROR, KIND_OTHER } Kind;

// One side's part in a call, and what is known of the other side's candidates.
typedef struct Talk {
    struct Connection *peer;
    uint32_t sent, received, acked;
    uint32_t newest; // the highest number that has come
    uint64_t seen[SEEN_WORDS], ackedBits[SEEN_WORDS];
    uint64_t due[MOST_PER_SIDE + 1]; // when each was meant to go, in ns of the monotonic clock
    bool described;                  // the other side's offer or answer has come
    bool ended;                      // the other side's end has come (of a callee)
    uint32_t otherAcks;              // of offer, answer and end
} Talk;

typedef struct Connection {
    int fd;
    Phase phase;
    Side side;
    uint32_t number; // of the pair, or of the lone session
    uint32_t batch;  // makes the names of each batch its own
    Talk *talk;      // NULL for those that only stay
    char *rest;      // the beginning of a frame that has not come whole; NULL while there is none
    size_t restLength;
    struct ssl_st *tls; // NULL without --tls
    uint32_t replayed; // offers and answers that came (the storm counts them)
} Connection;

typedef struct Options {
    const char *scenario;
    bool tls;
    bool ringline; // the dialect: Ringline's, or that of the plain relays
    int port;
    long pid;
    const char *secretFile, *allocationsFile;
    int idle, pairs, window, messages, batches, warmup, connects, atOnce, calls;
    double rate, seconds;
} Options;

// What must be nought in every row.
typedef struct Faults {
    uint64_t lost, duplicated, outOfOrder, foreign, unacked, errors, gone;
} Faults;

extern Options options;
extern Faults faults;
extern uint32_t runName; // makes the names of each run its own, so that a data folder can be used again

// main.c
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t nowNs(void);

// server.c -- the server, seen from outside
uint64_t serverCpuNs(void);
uint64_t ownCpuNs(void);
void watchThreads(void);
uint64_t busiestThreadNs(void);
void serverMemory(uint64_t *rss, uint64_t *pss);
double machineLoad(void);
typedef struct Allocations {
    uint64_t calls, bytes, loopCalls; // of all its threads, and of its first one, which is Ringline's loop
} Allocations;
Allocations serverAllocations(void); // since it started; nought without --allocations

// token.c
void readSecret(const char *file);
void makeToken(const char *user, char *out, size_t size);

// frames.c -- one frame out, and the frames of a buffer
typedef void FrameHandler(Connection *, unsigned opcode, char *payload, size_t length);
size_t maskedFrame(unsigned opcode, const char *payload, size_t length, unsigned char *out);
size_t eachFrame(Connection *, char *data, size_t length, FrameHandler *);

// tls.c
bool tlsHandshake(Connection *, bool *wantsWrite);
ssize_t tlsReceive(Connection *, void *data, size_t size);
ssize_t tlsSend(Connection *, const void *data, size_t length);
void tlsFree(Connection *);

// dialect.c -- what is said, and what it means
size_t upgradeRequest(const Connection *, char *out, size_t size);
size_t joinText(const Connection *, char *out, size_t size);
size_t offerText(const Connection *, char *out, size_t size);
size_t anotherOfferText(const Connection *, uint32_t which, char *out, size_t size);
size_t answerText(const Connection *, char *out, size_t size);
size_t endText(const Connection *, char *out, size_t size);
size_t candidateText(const Connection *, uint32_t number, uint64_t due, char *out, size_t size);
Kind kindOf(const char *text, size_t length);
bool readCandidate(const char *text, size_t length, uint32_t *number, uint32_t *pair, char *side);
bool readAck(const char *text, size_t length, uint32_t *number);

// connection.c -- sockets and the loop
typedef struct Behaviour {
    void (*opened)(Connection *); // it has been welcomed
    void (*text)(Connection *, Kind, const char *text, size_t length, uint64_t at);
    void (*closed)(Connection *); // after CLOSING, or by the server
} Behaviour;
extern Behaviour behaviour;
extern int opening, closing; // handshakes and closes that are under way
void startLoop(void);
void openConnection(Connection *, Side, uint32_t number, uint32_t batch);
void closeConnection(Connection *); // in order, by a close frame
void dropConnection(Connection *);  // at once, as a network that goes away
void sendText(Connection *, const char *text, size_t length);
void turn(int64_t timeoutNs);       // waits for at most so long (-1: for ever) and handles what has come
void turnFor(double seconds);
void openAll(Connection *, size_t count, Side, uint32_t firstNumber, uint32_t batch);
void closeAll(Connection *, size_t count);

// talk.c -- pairs within calls
typedef struct Batch {
    Connection *connections; // caller and callee in turn
    Talk *talks;
    uint32_t pairs;
} Batch;
extern uint64_t delivered, acked; // candidates, since resetTalk
extern int window;                // candidates of one side on the way; 0: the scenario itself sends
extern uint32_t perSide;          // candidates of each side
void resetTalk(void);
void openBatch(Batch *, uint32_t pairs, uint32_t batch);
void startCalls(Batch *);
void sendCandidate(Connection *, uint64_t due);
void fillWindow(Connection *);
void awaitCandidates(Batch *, double patience);
void checkBatch(Batch *); // adds what is missing to `faults`
void endCalls(Batch *);
void closeBatch(Batch *);
void talkText(Connection *, Kind, const char *text, size_t length, uint64_t at);

// samples.c -- latencies
typedef struct Samples {
    uint32_t *tens; // of nanoseconds: up to 42 s
    size_t count, capacity;
} Samples;
extern Samples oneWay, ackTime, lateness;
void addSample(Samples *, uint64_t ns);
double quantileUs(Samples *, double quantile);

// scenarios-*.c: each prints the members of its JSON object after the common ones
void throughputScenario(void);
void rateScenario(void);
void idleScenario(void);
void churnScenario(void);
void callsScenario(void);
void stormScenario(void);
void liveScenario(void);
Connection *openIdle(uint32_t count); // those that stay beside a scenario; NULL if none are asked for
void countIdle(Connection *, uint32_t count); // those that the server has dropped are faults

#endif
