// relay-epoll -- the limit: a relay that does nothing else. It has one thread and one epoll, makes one recv and one
// send for each message, and unmasks in place. See ../README.md for the dialect.
//
//   gcc -O2 -o relay-epoll relay-epoll.c -lcrypto && ./relay-epoll --port 0
#define _GNU_SOURCE
#include "handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INPUT = 1 << 17, HEADROOM = 16, EVENTS = 256 };

// As small as possible, because each connection needs one.
typedef struct Client {
    struct Client *peer;
    char *rest; // the beginning of an incomplete frame, or NULL
    char *left; // bytes that the socket has not accepted, or NULL
    uint32_t restLength, leftLength;
    int fd;
    int pair; // -1 until it has joined
    bool upgraded, closed;
} Client;

static Client *waiting[MOST_PAIRS]; // the first member of a pair, until the second one joins
static Client *graves[EVENTS];      // freed after the turn, because an event of the same turn may still refer to them
static int graveCount, poller;
static char buffer[HEADROOM + INPUT]; // a relayed message gets its new header in front of it

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(1);
}

static void bury(Client *c) {
    if (c->closed) return;
    c->closed = true;
    if (c->peer) {
        // The peer waits for a new partner.
        c->peer->peer = NULL;
        waiting[c->pair] = c->peer;
    } else if (c->pair >= 0 && waiting[c->pair] == c) {
        waiting[c->pair] = NULL;
    }
    close(c->fd);
    free(c->rest);
    free(c->left);
    graves[graveCount++] = c;
}

static void watch(Client *c, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

static void keep(Client *c, const char *data, size_t length) {
    char *grown = realloc(c->left, c->leftLength + length);
    if (!grown || c->leftLength + length > 1 << 20) {
        // The client is too slow. It is closed at its next event, because the caller may still use it.
        if (grown) c->left = grown;
        shutdown(c->fd, SHUT_RDWR);
        return;
    }
    memcpy(grown + c->leftLength, data, length);
    c->left = grown;
    c->leftLength += (uint32_t)length;
}

static void transmit(Client *c, const char *data, size_t length) {
    ssize_t sent = 0;
    if (!c->left) {
        sent = send(c->fd, data, length, MSG_NOSIGNAL);
        if (sent == (ssize_t)length) return;
        if (sent < 0 && errno != EAGAIN) return; // an event of its own will report the error
        if (sent < 0) sent = 0;
        watch(c, EPOLLIN | EPOLLOUT);
    }
    keep(c, data + sent, length - (size_t)sent);
}

static void flush(Client *c) {
    ssize_t sent = c->left ? send(c->fd, c->left, c->leftLength, MSG_NOSIGNAL) : 0;
    if (sent < 0) return;
    c->leftLength -= (uint32_t)sent;
    if (c->leftLength) {
        memmove(c->left, c->left + sent, c->leftLength);
        return;
    }
    free(c->left);
    c->left = NULL;
    watch(c, EPOLLIN);
}

// In front of the payload there must be at least 4 writable bytes, those of its old header.
static void sendFrame(Client *c, unsigned opcode, char *payload, size_t length) {
    unsigned char *head = (unsigned char *)payload - (length < 126 ? 2 : 4);
    head[0] = (unsigned char)(0x80 | opcode);
    if (length < 126) {
        head[1] = (unsigned char)length;
    } else {
        head[1] = 126;
        head[2] = (unsigned char)(length >> 8);
        head[3] = (unsigned char)length;
    }
    transmit(c, (char *)head, (size_t)(payload - (char *)head) + length);
}

static void join(Client *c, const char *text, size_t length) {
    char answer[HEADROOM + 32];
    c->pair = joinedPair(text, length);
    if (c->pair < 0) return bury(c);
    Client *other = waiting[c->pair];
    waiting[c->pair] = other ? NULL : c;
    if (other) {
        c->peer = other;
        other->peer = c;
    }
    memcpy(answer + HEADROOM, "{\"joined\":true}", 15);
    sendFrame(c, 1, answer + HEADROOM, 15);
}

static void take(Client *c, unsigned opcode, char *payload, size_t length) {
    if (opcode == 8) {
        sendFrame(c, 8, payload, length > 2 ? 2 : length);
        bury(c);
    } else if (opcode == 9) {
        sendFrame(c, 10, payload, length);
    } else if (opcode == 1 && c->pair < 0) {
        join(c, payload, length);
    } else if (opcode == 1 && c->peer) {
        sendFrame(c->peer, 1, payload, length);
    }
}

static void unmask(char *data, size_t length, const char mask[4]) {
    uint64_t word;
    char twice[8];
    size_t i = 0;
    memcpy(twice, mask, 4);
    memcpy(twice + 4, mask, 4);
    uint64_t pattern;
    memcpy(&pattern, twice, 8);
    for (; i + 8 <= length; i += 8) {
        memcpy(&word, data + i, 8);
        word ^= pattern;
        memcpy(data + i, &word, 8);
    }
    for (; i < length; i++) data[i] = (char)(data[i] ^ mask[i & 3]);
}

static size_t frames(Client *c, char *data, size_t length) {
    size_t at = 0;
    while (length - at >= 6 && !c->closed) {
        unsigned char *head = (unsigned char *)data + at;
        size_t size = head[1] & 127, header = 6;
        if (!(head[0] & 0x80) || !(head[1] & 0x80) || size == 127) {
            bury(c); // the generator sends only unfragmented, masked frames below 64 KiB
            return length;
        }
        if (size == 126) {
            if (length - at < 8) break;
            size = (size_t)head[2] << 8 | head[3];
            header = 8;
        }
        if (length - at < header + size) break;
        char *payload = data + at + header, mask[4];
        memcpy(mask, payload - 4, 4);
        unmask(payload, size, mask);
        take(c, head[0] & 15, payload, size);
        at += header + size;
    }
    return at;
}

static size_t upgrade(Client *c, char *data, size_t length) {
    static const char name[] = "Sec-WebSocket-Key: ";
    char answer[256], accept[32];
    char *end = memmem(data, length, "\r\n\r\n", 4);
    if (!end) return 0;
    char *key = memmem(data, length, name, sizeof name - 1);
    if (!key) {
        bury(c);
        return length;
    }
    acceptKey(key + sizeof name - 1, 24, accept);
    int size = snprintf(answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept);
    transmit(c, answer, (size_t)size);
    c->upgraded = true;
    return (size_t)(end + 4 - data);
}

static void readable(Client *c) {
    char *data = buffer + HEADROOM;
    size_t kept = c->restLength, at = 0;
    if (kept) memcpy(data, c->rest, kept);
    ssize_t got = recv(c->fd, data + kept, INPUT - kept, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return bury(c);
    size_t length = kept + (size_t)got;
    if (!c->upgraded) at = upgrade(c, data, length);
    if (c->upgraded && !c->closed) at += frames(c, data + at, length - at);
    if (c->closed || (at == length && !kept)) return;
    free(c->rest);
    c->restLength = (uint32_t)(length - at);
    c->rest = c->restLength ? malloc(c->restLength) : NULL;
    if (c->restLength && !c->rest) fail("malloc");
    if (c->rest) memcpy(c->rest, data + at, c->restLength);
}

static void welcome(int listener) {
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
        if (fd < 0) return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        Client *c = calloc(1, sizeof *c);
        if (!c) fail("calloc");
        c->fd = fd;
        c->pair = -1;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (argc != 3 || strcmp(argv[1], "--port")) return fputs("relay-epoll --port N\n", stderr), 2;
    address.sin_port = htons((uint16_t)atoi(argv[2]));
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);

    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    socklen_t size = sizeof address;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, events[EVENTS];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    printf("listening on http://127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);

    for (;;) {
        int count = epoll_wait(poller, events, EVENTS, -1);
        if (count < 0 && errno != EINTR) fail("epoll_wait");
        for (int i = 0; i < count; i++) {
            Client *c = events[i].data.ptr;
            if (!c) {
                welcome(listener);
            } else if (!c->closed) {
                if (events[i].events & EPOLLOUT) flush(c);
                if (events[i].events & ~EPOLLOUT) readable(c);
            }
        }
        while (graveCount) free(graves[--graveCount]);
    }
}
