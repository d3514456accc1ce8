// Sockets and the event loop: one level-triggered epoll, and one receive buffer for all connections.
#define _GNU_SOURCE
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, INPUT_BYTES = 1 << 18, SOURCES = 200 };

Behaviour behaviour;
int opening, closing, firstNode;
static int poller;
static char input[INPUT_BYTES + 1];
static uint64_t arrivedAt; // the time at which the current bytes were read
static int shown;          // the number of complaints printed so far

void startLoop(void) {
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) die("epoll: %s", strerror(errno));
}

// The two sides of a pair are on successive nodes, and successive pairs begin at successive nodes.
static int nodeOf(const Connection *c) {
    return firstNode + (int)((c->number + (c->side == CALLEE)) % (uint32_t)(options.portCount - firstNode));
}

void openConnection(Connection *c, Side side, uint32_t number, uint32_t batch) {
    Talk *talk = c->talk;
    memset(c, 0, sizeof *c);
    c->talk = talk;
    c->side = side;
    c->number = number;
    c->batch = batch;
    c->node = nodeOf(c);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) die("socket: %s (raise ulimit -n)", strerror(errno));
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    // Use many source addresses, so that neither the ports of one address nor a limit by address is exhausted.
    static uint32_t source;
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001u + source++ % SOURCES)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.ports[c->node]),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(c->fd, (struct sockaddr *)&from, sizeof from)) die("bind: %s", strerror(errno));
    if (connect(c->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) die("connect: %s", strerror(errno));
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl: %s", strerror(errno));
    opening++;
}

static void forget(Connection *c) {
    if (c->phase < OPEN) opening--;
    if (c->phase == CLOSING) closing--;
    c->phase = GONE;
    if (c->tls) tlsFree(c);
    close(c->fd);
    free(c->rest);
    free(c->session);
    c->rest = c->session = NULL;
    c->restLength = 0;
}

static void lose(Connection *c, const char *why) {
    bool isExpected = behaviour.expects && behaviour.expects(c);
    faults.gone += !isExpected;
    if (!isExpected && shown++ < 3) fprintf(stderr, "load: session %u of batch %u is gone: %s\n", c->number, c->batch, why);
    forget(c);
    if (behaviour.closed) behaviour.closed(c);
}

static void transmit(Connection *c, const void *data, size_t length) {
    // Messages are small and few of them are on the way, so a full kernel buffer means that the server has stopped.
    if (c->phase == GONE) return;
    ssize_t sent = c->tls ? tlsSend(c, data, length) : send(c->fd, data, length, MSG_NOSIGNAL);
    if (sent != (ssize_t)length) lose(c, strerror(errno));
}

static void sendFrame(Connection *c, unsigned opcode, const char *payload, size_t length) {
    unsigned char frame[LARGEST_MESSAGE + 8];
    transmit(c, frame, maskedFrame(opcode, payload, length, frame));
}

void sendText(Connection *c, const char *text, size_t length) {
    char wrapped[LARGEST_MESSAGE];
    size_t size = envelope(c, text, length, wrapped, sizeof wrapped);
    sendFrame(c, 1, size ? wrapped : text, size ? size : length);
}

void closeConnection(Connection *c) {
    if (c->phase != OPEN) return;
    c->phase = CLOSING;
    closing++;
    sendFrame(c, 8, "\x03\xe8", 2);
}

void dropConnection(Connection *c) {
    if (c->phase != GONE) forget(c);
}

static void complain(const char *text, size_t length) {
    faults.errors++;
    if (shown++ < 3) fprintf(stderr, "load: the server says %.*s\n", (int)(length > 300 ? 300 : length), text);
}

static void takeText(Connection *c, char *text, size_t length) {
    if (c->phase == GONE) return;
    if (options.dialect == NATS && length == 4 && !memcmp(text, "PING", 4)) return sendFrame(c, 1, "PONG\r\n", 6);
    Kind kind = kindOf(text, length);
    if (c->phase == GREETING) {
        if (kind != KIND_GREETING) die("instead of a greeting: %.*s", (int)(length > 300 ? 300 : length), text);
        c->phase = OPEN;
        opening--;
        if (behaviour.opened) behaviour.opened(c);
        return;
    }
    if (kind == KIND_ERROR) complain(text, length);
    if (behaviour.text) behaviour.text(c, kind, text, length, arrivedAt);
}

static void take(Connection *c, unsigned opcode, char *payload, size_t length) {
    if (opcode == 9) {
        sendFrame(c, 10, payload, length);
    } else if (opcode == 8) {
        if (c->phase == CLOSING) return; // the answer to our close frame; the end of the stream follows
        char why[32];
        snprintf(why, sizeof why, "close %d", length >= 2 ? (unsigned char)payload[0] << 8 | (unsigned char)payload[1] : 1005);
        lose(c, why);
    } else if (opcode == 1 || opcode == 2) {
        eachText(c, payload, length, takeText);
    } else if (opcode != 10) {
        die("a frame of kind %u", opcode);
    }
}

static void watch(Connection *c, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event)) die("epoll_ctl: %s", strerror(errno));
}

static void upgrade(Connection *c) {
    int error = 0;
    bool wantsWrite = false;
    socklen_t size = sizeof error;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) die("connect: %s", strerror(error));
    if (options.tls && !tlsHandshake(c, &wantsWrite)) return watch(c, wantsWrite ? EPOLLOUT : EPOLLIN);
    char request[2048];
    size_t length = upgradeRequest(c, request, sizeof request);
    watch(c, EPOLLIN);
    c->phase = UPGRADING;
    transmit(c, request, length);
}

// Returns the length of the response's head, or 0 while it is incomplete.
static size_t upgraded(Connection *c, char *data, size_t length) {
    char *end = memmem(data, length, "\r\n\r\n", 4);
    if (!end) return 0;
    if (length < 12 || memcmp(data, "HTTP/1.1 101", 12)) die("no upgrade: %.*s", (int)(length > 300 ? 300 : length), data);
    c->phase = GREETING;
    if (options.dialect != RINGLINE) {
        char join[512];
        sendFrame(c, 1, join, joinText(c, join, sizeof join));
    }
    return (size_t)(end + 4 - data);
}

static void readable(Connection *c) {
    size_t kept = c->restLength;
    if (kept) memcpy(input, c->rest, kept);
    ssize_t got = c->tls ? tlsReceive(c, input + kept, INPUT_BYTES - kept) : recv(c->fd, input + kept, INPUT_BYTES - kept, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        if (c->phase != CLOSING) {
            lose(c, got ? strerror(errno) : "end of stream");
        } else {
            forget(c);
            if (behaviour.closed) behaviour.closed(c);
        }
        return;
    }
    arrivedAt = nowNs();
    size_t length = kept + (size_t)got, at = 0;
    if (c->phase == UPGRADING) at = upgraded(c, input, length);
    if (c->phase != UPGRADING) at += eachFrame(c, input + at, length - at, take);
    if (c->phase == GONE) return;
    size_t left = length - at;
    if (!left && !kept) return;
    free(c->rest);
    c->rest = left ? malloc(left) : NULL;
    if (left && !c->rest) die("out of memory");
    if (left) memcpy(c->rest, input + at, left);
    c->restLength = left;
}

void turn(int64_t timeoutNs) {
    struct epoll_event events[EVENTS];
    struct timespec timeout = {timeoutNs / 1000000000, timeoutNs % 1000000000};
    int count = epoll_pwait2(poller, events, EVENTS, timeoutNs < 0 ? NULL : &timeout, NULL);
    if (count < 0 && errno != EINTR) die("epoll_pwait2: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        Connection *c = events[i].data.ptr;
        if (c->phase == GONE) continue;
        if (c->phase == CONNECTING) upgrade(c);
        else readable(c);
    }
}

void turnFor(double seconds) {
    for (uint64_t now = nowNs(), until = now + (uint64_t)(seconds * 1e9); now < until; now = nowNs())
        turn((int64_t)(until - now));
}

static void awaitNone(const int *counter, const char *what) {
    uint64_t until = nowNs() + 60u * 1000000000ull;
    while (*counter > 0) {
        if (nowNs() > until) die("%d %s hang", *counter, what);
        turn(100000000);
    }
}

void openAll(Connection *connections, size_t count, Side side, uint32_t firstNumber, uint32_t batch) {
    for (size_t i = 0; i < count; i++) {
        while (opening >= options.atOnce) turn(100000000);
        openConnection(&connections[i], side, firstNumber + (uint32_t)i, batch);
    }
    awaitNone(&opening, "handshakes");
}

void closeAll(Connection *connections, size_t count) {
    for (size_t i = 0; i < count; i++) closeConnection(&connections[i]);
    awaitNone(&closing, "closes");
}
