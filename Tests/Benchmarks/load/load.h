// load -- the declarations that the files of the generator share. ../README.md describes what it measures.
//
// The generator has one thread and one epoll, and everything is on the loopback. A connection is a WebSocket client
// (RFC 6455, masked frames, no extension). Two connections make a pair. A message of one must reach the other once and
// in order.
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    CANDIDATE_BYTES = 180,  // the payload of a candidate's frame
    MOST_PER_SIDE = 240,    // candidates of one side in one call: from 512 entries on, Ringline's log takes only an end
    CALLS_PER_USER = 30,    // Ringline's limit on new calls of a user a minute
    BURST_PER_SIDE = 190,   // sent at any rate: Ringline allows a connection 200 at once, then 50 a second
    SEEN_WORDS = 4,         // 64-bit words with a bit for each of MOST_PER_SIDE candidates
    LARGEST_MESSAGE = 4096, // the largest message that the generator sends
    MOST_NODES = 8,         // the servers that can be measured together
};

typedef enum { CONNECTING, UPGRADING, GREETING, OPEN, CLOSING, GONE } Phase;
typedef enum { CALLER, CALLEE, LONE } Side;
typedef enum { KIND_GREETING, KIND_OFFER, KIND_ANSWER, KIND_ICE, KIND_END, KIND_ACK, KIND_ERROR, KIND_OTHER } Kind;

// One side's state in a call, and the other side's candidates that it has received.
typedef struct Talk {
    struct Connection *peer;
    uint32_t sent, received, acked;
    uint32_t newest; // the highest number received
    uint64_t seen[SEEN_WORDS], ackedBits[SEEN_WORDS];
    uint64_t due[MOST_PER_SIDE + 1]; // when each should be sent, in ns of the monotonic clock
    uint64_t offeredAt;              // when the offer was sent, in ns of the monotonic clock (`steady` only)
    bool described;                  // the other side's offer or answer has been received
    bool ended;                      // the other side's end has been received (callees only)
    uint32_t otherAcks;              // acks of offer, answer and end
    uint32_t probe;                  // the number of the first candidate after the owner's death; 0: none
    bool wasClosed, isAway;          // its connection was closed after the owner's death; it is not open again
} Talk;

typedef struct Connection {
    int fd;
    Phase phase;
    Side side;
    uint32_t number; // the number of the pair, or of the single connection
    uint32_t batch;  // part of all names, so that each batch has names of its own
    uint32_t turn;   // tells the calls of one pair apart; 0 where each pair makes only one
    int node;        // the index in `options.ports` of the server that it is connected to
    Talk *talk;      // NULL for connections that only stay open
    char *rest;      // the beginning of a frame that is incomplete; NULL if there is none
    size_t restLength;
    struct ssl_st *tls; // NULL without --tls
    char *session;      // the name by which others address it (SPREED only)
    uint32_t replayed; // offers and answers received (for the storm)
} Connection;

// How a connection says who it is, and how it addresses its peer.
typedef enum { PLAIN, RINGLINE, NATS, SPREED } Dialect;

typedef struct Options {
    const char *scenario;
    bool tls;
    Dialect dialect;
    // Several servers are the nodes of one cluster. Connections are spread over the ports, see `nodeOf`.
    int ports[MOST_NODES], portCount;
    long pids[MOST_NODES]; // the first one is that of the owner
    int pidCount;
    const char *secretFile, *allocationsFile;
    int idle, pairs, window, messages, batches, warmup, connects, atOnce, calls;
    double rate, seconds, spread;
} Options;

// Counts that must be zero in every run.
typedef struct Faults {
    uint64_t lost, duplicated, outOfOrder, foreign, unacked, errors, gone;
} Faults;

extern Options options;
extern Faults faults;
extern uint32_t runName; // part of all names, so that runs on the same data folder do not share names

// main.c
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t nowNs(void);

// server.c -- measurements of the server from outside; of several servers, the sums
uint64_t serverCpuNs(void);
uint64_t ownerCpuNs(void);
uint64_t ownCpuNs(void);
void watchThreads(void);
uint64_t busiestThreadNs(void);
uint64_t ownerThreadNs(void);
void serverMemory(uint64_t *rss, uint64_t *pss);
double machineLoad(void);
typedef struct Allocations {
    uint64_t calls, bytes, loopCalls; // loopCalls: by the first thread, which is Ringline's event loop
} Allocations;
Allocations serverAllocations(void); // since the server started; zero without --allocations

// token.c
void readSecret(const char *file);
void makeToken(const char *user, char *out, size_t size);
void sign(const char *key, const char *text, char hex[65]); // HMAC-SHA-256

// frames.c -- encodes a frame, and splits a buffer into frames
typedef void FrameHandler(Connection *, unsigned opcode, char *payload, size_t length);
size_t maskedFrame(unsigned opcode, const char *payload, size_t length, unsigned char *out);
size_t eachFrame(Connection *, char *data, size_t length, FrameHandler *);

// tls.c
bool tlsHandshake(Connection *, bool *wantsWrite);
ssize_t tlsReceive(Connection *, void *data, size_t size);
ssize_t tlsSend(Connection *, const void *data, size_t length);
void tlsFree(Connection *);

// dialect.c -- the texts to send, and the meaning of received texts
size_t upgradeRequest(const Connection *, char *out, size_t size);
size_t joinText(const Connection *, char *out, size_t size);
size_t offerText(const Connection *, char *out, size_t size);
size_t anotherOfferText(const Connection *, uint32_t which, char *out, size_t size);
size_t answerText(const Connection *, char *out, size_t size);
size_t endText(const Connection *, char *out, size_t size);
size_t candidateText(const Connection *, uint32_t number, uint64_t due, char *out, size_t size);
void userName(const Connection *, Side, char *out, size_t size);
Kind kindOf(const char *text, size_t length);
bool readCandidate(const char *text, size_t length, uint32_t *number, uint32_t *pair, char *side);
bool readAck(const char *text, size_t length, uint32_t *number);

// envelope.c -- what the servers that are no plain relays need around a text
typedef void TextHandler(Connection *, char *text, size_t length);
size_t envelope(const Connection *, const char *text, size_t length, char *out, size_t size); // 0: none is needed
void eachText(Connection *, char *payload, size_t length, TextHandler *);

// connection.c -- sockets and the event loop
typedef struct Behaviour {
    void (*opened)(Connection *); // it has received its greeting
    void (*text)(Connection *, Kind, const char *text, size_t length, uint64_t at);
    void (*closed)(Connection *); // after CLOSING, or when the server has closed it
    bool (*expects)(Connection *); // whether it is no fault that the server has closed it; may be NULL
} Behaviour;
extern Behaviour behaviour;
extern int opening, closing; // the numbers of handshakes and closes under way
extern int firstNode;       // new connections go to the nodes from this index on
void startLoop(void);
void openConnection(Connection *, Side, uint32_t number, uint32_t batch);
void closeConnection(Connection *); // orderly, by a close frame
void dropConnection(Connection *);  // immediately and without a close frame, as when the network fails
void sendText(Connection *, const char *text, size_t length);
void turn(int64_t timeoutNs);       // waits for at most this time (-1: no limit) and handles the events
void turnFor(double seconds);
void openAll(Connection *, size_t count, Side, uint32_t firstNumber, uint32_t batch);
void closeAll(Connection *, size_t count);

// talk.c -- pairs in calls
typedef struct Batch {
    Connection *connections; // callers and callees alternately
    Talk *talks;
    uint32_t pairs;
} Batch;
extern uint64_t delivered, acked; // the numbers of candidates since resetTalk
extern int window;                // the number of candidates of one side on the way; 0: the scenario itself sends
extern uint32_t perSide;          // the number of candidates of each side
void resetTalk(void);
void openBatch(Batch *, uint32_t pairs, uint32_t batch);
void startCalls(Batch *);
void sendCandidate(Connection *, uint64_t due);
void fillWindow(Connection *);
void awaitCandidates(Batch *, double patience);
void checkBatch(Batch *); // adds missing candidates and acks to `faults`
void endCalls(Batch *);
void closeBatch(Batch *);
void talkText(Connection *, Kind, const char *text, size_t length, uint64_t at);

// samples.c -- latencies
typedef struct Samples {
    uint32_t *tens; // in tens of nanoseconds: up to 42 s
    size_t count, capacity;
} Samples;
extern Samples oneWay, ackTime, lateness, answerTime;
void addSample(Samples *, uint64_t ns);
double quantileUs(Samples *, double quantile);

// scenarios-*.c -- each prints the members of its JSON object after the common ones
void throughputScenario(void);
void rateScenario(void);
void idleScenario(void);
void churnScenario(void);
void callsScenario(void);
void steadyScenario(void);
void stormScenario(void);
void liveScenario(void);
void takeOverScenario(void);
Connection *openIdle(uint32_t count); // opens connections that only stay open during a scenario; NULL if count is 0
// adds the idle connections that the server has dropped to `faults.gone`, if that is 0
void countIdle(Connection *, uint32_t count);

#endif
