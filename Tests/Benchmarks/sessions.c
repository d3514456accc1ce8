// sessions -- holds many WebSocket sessions on a Ringline server and measures what they cost it. See README.md.
//
//   gcc -O2 -Wall -Wextra -o sessions sessions.c -lcrypto
//   ./sessions --port 8080 --pid $(pidof ringline) --secret data/development-jwt-secret --idle 10000 --pairs 100
//
// One thread, one epoll. The server's memory and CPU are read from /proc/PID; everything is on loopback.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/hmac.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HANDSHAKES_AT_ONCE = 128, LARGEST_INPUT = 1 << 20, SIGNALS_PER_CALL = 240, MOST_LATENCIES = 1 << 20 };

typedef enum { CONNECTING, UPGRADING, GREETING, OPEN, GONE } Phase;
typedef enum { IDLE, CALLER, CALLEE } Role;

typedef struct Session {
    int fd;
    Phase phase;
    Role role;
    int number;              // of the idle session or of the pair
    char *input;             // what has come and is no whole frame yet; NULL while there is nothing
    size_t length, capacity;
    struct Session *peer;
    bool talking;            // the call is answered
    bool ending;
    int generation;          // of the pair's call
    int waiting;             // signals without an ack
    int sent;                // signals of this call
    double next;             // when the next one may go
} Session;

static int port = 8080, idleCount = 10000, pairCount = 100, window = 4;
static double seconds = 10, rate = 40;
static long serverPid;
static unsigned char secret[4096];
static size_t secretLength;
static int poller, opening, opened, lost;
static bool measuring, stopping;
static uint64_t relayed, refused;
static float *latencies;
static size_t latencyCount;
static unsigned run;

static _Noreturn void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("sessions: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ---- the server, seen from outside

static double serverCPU(void) {
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%ld/stat", serverPid);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file)) die("the server has gone (no %s)", path);
    fclose(file);
    char *at = strrchr(text, ')'); // the name may hold anything
    unsigned long user = 0, system = 0;
    if (!at || sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) die("cannot read %s", path);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static long serverRSS(void) {
    char path[64], line[256];
    long kilobytes = -1;
    snprintf(path, sizeof path, "/proc/%ld/status", serverPid);
    FILE *file = fopen(path, "r");
    if (!file) die("the server has gone (no %s)", path);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1) break;
    fclose(file);
    return kilobytes * 1024;
}

// ---- tokens

static size_t base64url(const unsigned char *data, size_t length, char *out) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t at = 0;
    for (size_t i = 0; i < length; i += 3) {
        uint32_t three = (uint32_t)data[i] << 16 | (i + 1 < length ? (uint32_t)data[i + 1] << 8 : 0) | (i + 2 < length ? data[i + 2] : 0);
        size_t characters = i + 2 < length ? 4 : length - i + 1;
        for (size_t j = 0; j < characters; j++) out[at++] = alphabet[three >> (18 - 6 * j) & 63];
    }
    out[at] = 0;
    return at;
}

static void mint(const char *user, char *out) {
    char claims[256];
    int length = snprintf(claims, sizeof claims, "{\"sub\":\"%s\",\"exp\":%ld}", user, (long)time(NULL) + 86400);
    static const char header[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    size_t at = base64url((const unsigned char *)header, sizeof header - 1, out);
    out[at++] = '.';
    at += base64url((unsigned char *)claims, (size_t)length, out + at);
    unsigned char signature[32];
    unsigned size = sizeof signature;
    HMAC(EVP_sha256(), secret, (int)secretLength, (unsigned char *)out, at, signature, &size);
    out[at++] = '.';
    base64url(signature, size, out + at);
}

// ---- frames

static void transmit(Session *s, const void *data, size_t length) {
    if (s->phase == GONE) return;
    // Everything sent here is small and few of it is on the way: a full kernel buffer means that the server has stopped.
    if (send(s->fd, data, length, MSG_NOSIGNAL) != (ssize_t)length) {
        s->phase = GONE;
        lost++;
        close(s->fd);
    }
}

static void sendFrame(Session *s, unsigned char kind, const char *payload, size_t length) {
    unsigned char frame[4096];
    size_t at = 2;
    frame[0] = 0x80 | kind;
    if (length < 126) {
        frame[1] = (unsigned char)(0x80 | length);
    } else {
        frame[1] = 0x80 | 126;
        frame[2] = (unsigned char)(length >> 8);
        frame[3] = (unsigned char)length;
        at = 4;
    }
    if (at + 4 + length > sizeof frame) die("a message of %zu bytes", length);
    memset(frame + at, 0, 4); // the mask of noughts leaves the payload as it is
    memcpy(frame + at + 4, payload, length);
    transmit(s, frame, at + 4 + length);
}

static void say(Session *s, const char *format, ...) {
    char text[3072];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sendFrame(s, 1, text, (size_t)length);
}

static bool isType(const char *text, const char *type) {
    for (const char *at = text; (at = strstr(at, "\"type\"")); at++) {
        const char *value = at + 6;
        while (*value == ' ' || *value == ':') value++;
        size_t length = strlen(type);
        if (*value == '"' && !strncmp(value + 1, type, length) && value[1 + length] == '"') return true;
    }
    return false;
}

// ---- a pair's call

static const char description[] =
    "v=0\\r\\no=- 1 2 IN IP4 127.0.0.1\\r\\ns=-\\r\\nt=0 0\\r\\nm=audio 9 UDP/TLS/RTP/SAVPF 111\\r\\nc=IN IP4 0.0.0.0\\r\\na=mid:0\\r\\n";

static void callName(const Session *s, char *out, size_t size) {
    snprintf(out, size, "bench-%u-%d-%d", run, s->number, s->generation);
}

static void startCall(Session *caller) {
    char name[64];
    for (int i = 0; i < 2; i++) {
        Session *s = i ? caller->peer : caller;
        s->generation = caller->generation + (i ? 0 : 1);
        s->talking = s->ending = false;
        s->sent = s->waiting = 0;
    }
    callName(caller, name, sizeof name);
    say(caller, "{\"type\":\"offer\",\"id\":\"o%d\",\"callId\":\"%s\",\"to\":\"b%u-%d\",\"sdp\":\"%s\"}", caller->generation, name, run, caller->number, description);
}

static void talk(Session *s) {
    char name[64];
    double time = now();
    if (s->phase != OPEN || !s->talking || stopping) return;
    callName(s, name, sizeof name);
    while (s->waiting < window && s->sent < SIGNALS_PER_CALL && (rate <= 0 || s->next <= time)) {
        if (rate > 0) s->next = (s->next < time - 1 ? time : s->next) + 1 / rate;
        s->waiting++;
        s->sent++;
        say(s, "{\"type\":\"ice\",\"id\":\"g%d-%d\",\"callId\":\"%s\",\"candidate\":{\"candidate\":\"candidate:%llu 1 udp 2122260223 192.0.2.1 54321 typ host generation 0 ufrag EsAw network-id 1\",\"sdpMid\":\"0\",\"sdpMLineIndex\":0}}",
            s->generation, s->sent, name, (unsigned long long)(time * 1e9));
    }
    Session *caller = s->role == CALLER ? s : s->peer;
    bool full = s->sent == SIGNALS_PER_CALL && s->peer->sent == SIGNALS_PER_CALL && !s->waiting && !s->peer->waiting;
    if (full && !caller->ending) {
        caller->ending = true;
        say(caller, "{\"type\":\"end\",\"id\":\"e%d\",\"callId\":\"%s\"}", caller->generation, name);
    }
}

static void onText(Session *s, char *text) {
    char name[64];
    if (s->phase == GREETING) {
        if (!isType(text, "welcome")) die("instead of a welcome: %.200s", text);
        s->phase = OPEN;
        opening--;
        opened++;
        return;
    }
    if (s->role == IDLE) return;
    if (isType(text, "error")) {
        if (!refused++) fprintf(stderr, "sessions: refused: %.200s\n", text);
        if (s->waiting) s->waiting--;
    } else if (isType(text, "ack")) {
        if (s->ending) {
            // The end's own ack, since nothing else was on the way.
            startCall(s);
        } else if (s->waiting) {
            s->waiting--;
        }
    } else if (isType(text, "ice")) {
        char *at = strstr(text, "candidate:");
        double sent = at ? (double)strtoull(at + 10, NULL, 10) * 1e-9 : 0;
        if (measuring) {
            relayed++;
            if (latencyCount < MOST_LATENCIES) latencies[latencyCount++] = (float)((now() - sent) * 1e3);
        }
    } else if (s->role == CALLEE && isType(text, "offer")) {
        callName(s, name, sizeof name);
        if (!strstr(text, name)) return;
        say(s, "{\"type\":\"answer\",\"id\":\"a%d\",\"callId\":\"%s\",\"sdp\":\"%s\"}", s->generation, name, description);
    } else if (s->role == CALLER && isType(text, "answer")) {
        s->talking = s->peer->talking = true;
        s->waiting = s->peer->waiting = 0;
        s->next = s->peer->next = now();
    }
    talk(s);
    if (s->peer) talk(s->peer);
}

// ---- a connection

static Session *connectSession(Session *s, Role role, int number) {
    memset(s, 0, sizeof *s);
    s->role = role;
    s->number = number;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0) die("socket: %s (raise ulimit -n)", strerror(errno));
    int one = 1;
    setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // Many sources, so that neither the ephemeral ports of one address nor a limit by address is in the way.
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001u + (uint32_t)(number % 200))};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(s->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (bind(s->fd, (struct sockaddr *)&from, sizeof from)) die("bind: %s", strerror(errno));
    if (connect(s->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) die("connect: %s", strerror(errno));
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = s};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, s->fd, &event)) die("epoll_ctl: %s", strerror(errno));
    opening++;
    return s;
}

static void upgrade(Session *s) {
    char user[64], token[1024], request[2048];
    snprintf(user, sizeof user, s->role == IDLE ? "idle%u-%d" : s->role == CALLER ? "a%u-%d" : "b%u-%d", run, s->number);
    mint(user, token);
    int length = snprintf(request, sizeof request,
        "GET /ws?device=bench HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer %s\r\n\r\n", port, token);
    s->phase = UPGRADING;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    epoll_ctl(poller, EPOLL_CTL_MOD, s->fd, &event);
    transmit(s, request, (size_t)length);
}

static void gone(Session *s) {
    if (s->phase == GONE) return;
    if (s->phase != OPEN) die("the server closed a connection before its welcome: %.*s", (int)(s->length < 200 ? s->length : 200), s->input ? s->input : "");
    s->phase = GONE;
    lost++;
    close(s->fd);
}

static size_t onFrame(Session *s, unsigned char *data, size_t length) {
    if (length < 2) return 0;
    size_t size = data[1] & 127, at = 2;
    if (size == 126) {
        if (length < 4) return 0;
        size = (size_t)data[2] << 8 | data[3];
        at = 4;
    } else if (size == 127) {
        if (length < 10) return 0;
        size = 0;
        for (int i = 2; i < 10; i++) size = size << 8 | data[i];
        at = 10;
    }
    if (size > LARGEST_INPUT) die("a frame of %zu bytes", size);
    if (length < at + size) return 0;
    switch (data[0] & 15) {
    case 1: {
        unsigned char after = data[at + size]; // there is room for one more: see onReadable
        data[at + size] = 0;
        onText(s, (char *)data + at);
        data[at + size] = after;
        break;
    }
    case 8: gone(s); break;
    case 9: sendFrame(s, 10, (char *)data + at, size); break;
    default: break;
    }
    return at + size;
}

static void onReadable(Session *s) {
    if (s->capacity - s->length < 4096) {
        s->capacity = s->capacity ? s->capacity * 2 : 8192;
        if (s->capacity > 2 * LARGEST_INPUT) die("too much input");
        if (!(s->input = realloc(s->input, s->capacity + 1))) die("out of memory");
    }
    ssize_t got = recv(s->fd, s->input + s->length, s->capacity - s->length, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
        gone(s);
        return;
    }
    s->length += (size_t)got;
    size_t used = 0;
    if (s->phase == UPGRADING) {
        s->input[s->length] = 0;
        char *end = strstr(s->input, "\r\n\r\n");
        if (!end) return;
        if (strncmp(s->input, "HTTP/1.1 101", 12)) die("no upgrade: %.200s", s->input);
        used = (size_t)(end + 4 - s->input);
        s->phase = GREETING;
    }
    while (s->phase != GONE) {
        size_t frame = onFrame(s, (unsigned char *)s->input + used, s->length - used);
        if (!frame) break;
        used += frame;
    }
    memmove(s->input, s->input + used, s->length -= used);
    if (!s->length) { // ten thousand idle sessions need no buffers here
        free(s->input);
        s->input = NULL;
        s->capacity = 0;
    }
}

static void turn(int milliseconds) {
    struct epoll_event events[512];
    int count = epoll_wait(poller, events, 512, milliseconds);
    for (int i = 0; i < count; i++) {
        Session *s = events[i].data.ptr;
        if (s->phase == GONE) continue;
        if (s->phase == CONNECTING) {
            int error = 0;
            socklen_t size = sizeof error;
            getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size);
            if (error) die("connect: %s", strerror(error));
            upgrade(s);
        } else {
            onReadable(s);
        }
    }
}

static void settle(double limit) {
    double until = now() + limit;
    while (opening > 0) {
        if (now() > until) die("%d handshakes hang", opening);
        turn(100);
    }
}

static void openIdle(Session *sessions, int from, int to) {
    double began = now();
    for (int i = from; i < to; i++) {
        while (opening >= HANDSHAKES_AT_ONCE) turn(100);
        connectSession(&sessions[i], IDLE, i);
    }
    settle(60);
    if (to > from) printf("opened %d sessions in %.2f s\n", to - from, now() - began);
}

static void quiet(int count, long before, double *cpu) {
    // What the opening left to be done is done first, and is not counted.
    for (double until = now() + 2; now() < until;) turn(100);
    long memory = serverRSS();
    double used = serverCPU(), began = now();
    for (double until = began + seconds; now() < until;) turn(100);
    *cpu = (serverCPU() - used) / (now() - began) * 100;
    printf("%6d idle sessions: server RSS %.1f MiB", count, (double)memory / 1048576);
    if (count) printf(", %.0f bytes each", (double)(memory - before) / count);
    printf(", CPU %.2f %% over %.0f quiet seconds (pings included)\n", *cpu, seconds);
}

static int byValue(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void relay(int idle) {
    Session *pairs = calloc((size_t)pairCount * 2, sizeof *pairs);
    if (!pairs) die("out of memory");
    run++;
    stopping = false;
    for (int i = 0; i < pairCount; i++) {
        while (opening >= HANDSHAKES_AT_ONCE) turn(100);
        Session *caller = connectSession(&pairs[2 * i], CALLER, i), *callee = connectSession(&pairs[2 * i + 1], CALLEE, i);
        caller->peer = callee;
        callee->peer = caller;
    }
    settle(60);
    for (int i = 0; i < pairCount; i++) startCall(&pairs[2 * i]);
    int talking = 0;
    for (double until = now() + 20; talking < pairCount;) {
        turn(10);
        talking = 0;
        for (int i = 0; i < pairCount; i++) talking += pairs[2 * i].talking;
        if (now() > until) die("only %d of %d calls were answered", talking, pairCount);
    }
    relayed = refused = 0;
    latencyCount = 0;
    measuring = true;
    double used = serverCPU(), began = now();
    for (double until = began + seconds; now() < until;) {
        turn(1);
        for (int i = 0; i < 2 * pairCount; i++) talk(&pairs[i]);
    }
    measuring = false;
    used = serverCPU() - used;
    double took = now() - began;
    qsort(latencies, latencyCount, sizeof *latencies, byValue);
    printf("%6d idle sessions, %d pairs: %llu messages relayed (%.0f/s), server CPU %.1f us each, latency p50 %.2f ms, p99 %.2f ms, %llu refused\n",
        idle, pairCount, (unsigned long long)relayed, (double)relayed / took, relayed ? used * 1e6 / (double)relayed : 0,
        latencyCount ? (double)latencies[latencyCount / 2] : 0, latencyCount ? (double)latencies[latencyCount * 99 / 100] : 0,
        (unsigned long long)refused);
    stopping = true;
    for (int i = 0; i < pairCount; i++) {
        char name[64];
        callName(&pairs[2 * i], name, sizeof name);
        say(&pairs[2 * i], "{\"type\":\"end\",\"id\":\"last\",\"callId\":\"%s\"}", name);
    }
    for (double until = now() + 1; now() < until;) turn(10);
    int broken = 0;
    for (int i = 0; i < 2 * pairCount; i++) {
        if (pairs[i].phase == GONE) broken++;
        else close(pairs[i].fd);
        free(pairs[i].input);
    }
    if (broken) printf("        %d of these connections were closed by the server\n", broken);
    free(pairs);
}

int main(int argc, char **argv) {
    const char *secretFile = NULL;
    static const struct option options[] = {
        {"port", 1, 0, 'p'}, {"pid", 1, 0, 'P'}, {"secret", 1, 0, 's'}, {"idle", 1, 0, 'i'}, {"pairs", 1, 0, 'n'},
        {"window", 1, 0, 'w'}, {"rate", 1, 0, 'r'}, {"seconds", 1, 0, 't'}, {0, 0, 0, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 'p': port = atoi(optarg); break;
        case 'P': serverPid = atol(optarg); break;
        case 's': secretFile = optarg; break;
        case 'i': idleCount = atoi(optarg); break;
        case 'n': pairCount = atoi(optarg); break;
        case 'w': window = atoi(optarg); break;
        case 'r': rate = atof(optarg); break;
        case 't': seconds = atof(optarg); break;
        default: die("see README.md for the options");
        }
    }
    if (!serverPid || !secretFile || window < 1 || seconds <= 0 || idleCount < 0 || pairCount < 0) die("--pid and --secret are needed; see README.md");
    FILE *file = fopen(secretFile, "rb");
    if (!file || !(secretLength = fread(secret, 1, sizeof secret, file))) die("cannot read %s", secretFile);
    fclose(file);
    if (secret[secretLength - 1] == '\n') secretLength--;

    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if ((rlim_t)(idleCount + 2 * pairCount + 32) > limit.rlim_max) die("%d sessions need more descriptors than the %llu allowed", idleCount, (unsigned long long)limit.rlim_max);
    if ((poller = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll: %s", strerror(errno));
    latencies = malloc(MOST_LATENCIES * sizeof *latencies);
    Session *idle = calloc((size_t)idleCount + 1, sizeof *idle);
    if (!latencies || !idle) die("out of memory");
    setvbuf(stdout, NULL, _IOLBF, 0);
    run = (unsigned)time(NULL) % 100000 * 10; // names of their own for each run on the same data folder

    long before = serverRSS();
    double cpu;
    quiet(0, before, &cpu);
    if (pairCount) relay(0);
    int few = idleCount < 100 ? idleCount : 100;
    openIdle(idle, 0, few);
    // Relaying has grown the server's heap: what the idle ones cost is counted from here.
    before = serverRSS();
    quiet(few, before, &cpu);
    if (pairCount) relay(few);
    before = serverRSS();
    openIdle(idle, few, idleCount);
    long grown = serverRSS() - before;
    quiet(idleCount, before, &cpu);
    if (idleCount > few) printf("        %.0f bytes of RSS for each of the last %d sessions\n", (double)grown / (idleCount - few), idleCount - few);
    if (pairCount) relay(idleCount);
    int open = 0;
    for (int i = 0; i < idleCount; i++) open += idle[i].phase == OPEN;
    printf("%d of %d idle sessions are still open\n", open, idleCount);
    return open < idleCount || lost > 0;
}
