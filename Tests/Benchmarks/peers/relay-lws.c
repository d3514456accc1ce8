// relay-lws -- a relay on bare libwebsockets: the cost of the library that Ringline uses. See ../README.md.
//
//   gcc -O2 -o relay-lws relay-lws.c -lwebsockets -luv -lcrypto && ./relay-lws --port 0 --loop uv
//
// --loop uv: libuv's event loop (epoll); poll: the library's own. --direct: write immediately if the receiver has
// nothing queued, although the library's documentation asks to wait for a writable callback.
#define _GNU_SOURCE
#include "handshake.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <uv.h>

typedef struct Message {
    struct Message *next;
    size_t length;
    unsigned char bytes[]; // begins with LWS_PRE bytes for the library
} Message;

typedef struct Client {
    struct lws *wsi;
    struct Client *peer;
    Message *first, *last; // the queue of messages to it
    int pair;              // -1 until it has joined
} Client;

static Client *waiting[MOST_PAIRS]; // the first member of a pair, until the second one joins
static bool direct;

static Message *makeMessage(const void *data, size_t length) {
    Message *m = malloc(sizeof *m + LWS_PRE + length);
    if (!m) abort();
    m->next = NULL;
    m->length = length;
    memcpy(m->bytes + LWS_PRE, data, length);
    return m;
}

static void deliver(Client *c, const void *data, size_t length) {
    if (direct && !c->first && !lws_partial_buffered(c->wsi)) {
        // There is one thread and one message at a time, so the buffer can be reused.
        static unsigned char copy[LWS_PRE + 65536];
        if (length <= 65536) {
            memcpy(copy + LWS_PRE, data, length);
            // After a failure the library closes the connection at its next turn.
            lws_write(c->wsi, copy + LWS_PRE, length, LWS_WRITE_TEXT);
            return;
        }
    }
    Message *m = makeMessage(data, length);
    if (c->last) c->last->next = m;
    else c->first = m;
    c->last = m;
    lws_callback_on_writable(c->wsi);
}

static int join(Client *c, const char *text, size_t length) {
    c->pair = joinedPair(text, length);
    if (c->pair < 0) return -1;
    Client *other = waiting[c->pair];
    waiting[c->pair] = other ? NULL : c;
    if (other) {
        c->peer = other;
        other->peer = c;
    }
    deliver(c, "{\"joined\":true}", 15);
    return 0;
}

static void leave(Client *c) {
    if (c->peer) {
        c->peer->peer = NULL;
        waiting[c->pair] = c->peer;
    } else if (c->pair >= 0 && waiting[c->pair] == c) {
        waiting[c->pair] = NULL;
    }
    for (Message *m = c->first, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    c->first = c->last = NULL;
}

// Writes one message per callback, then asks for the next callback, as the library's examples do.
static int writable(Client *c) {
    Message *m = c->first;
    if (!m) return 0;
    c->first = m->next;
    if (!c->first) c->last = NULL;
    int written = lws_write(c->wsi, m->bytes + LWS_PRE, m->length, LWS_WRITE_TEXT);
    bool short_ = written < (int)m->length;
    free(m);
    if (short_) return -1;
    if (c->first) lws_callback_on_writable(c->wsi);
    return 0;
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    Client *c = user;
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        *c = (Client){.wsi = wsi, .pair = -1};
        return 0;
    case LWS_CALLBACK_RECEIVE:
        // Messages here fit into the receive buffer, so they come in one piece.
        if (!lws_is_first_fragment(wsi) || !lws_is_final_fragment(wsi)) return -1;
        if (c->pair < 0) return join(c, in, length);
        if (c->peer) deliver(c->peer, in, length);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return writable(c);
    case LWS_CALLBACK_CLOSED:
        leave(c);
        return 0;
    default:
        return 0;
    }
}

static const struct lws_protocols protocols[] = {{"relay", callback, sizeof(Client), 4096, 0, NULL, 0}, {NULL, NULL, 0, 0, 0, NULL, 0}};

int main(int argc, char **argv) {
    int port = -1;
    const char *loop = "uv";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--direct")) direct = true;
        else if (!strcmp(argv[i], "--port") && i + 1 < argc) port = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--loop") && i + 1 < argc) loop = argv[++i];
        else return fprintf(stderr, "relay-lws --port N [--loop uv|poll] [--direct]\n"), 2;
    }
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    lws_set_log_level(LLL_ERR, NULL);

    struct lws_context_creation_info info = {0};
    uv_loop_t foreign;
    void *loops[1] = {&foreign};
    info.port = port;
    info.iface = "127.0.0.1";
    info.protocols = protocols;
    // Use neither the library's timers (a sorted list, walked at each insertion) nor extensions.
    static const lws_retry_bo_t never = {.secs_since_valid_ping = 0, .secs_since_valid_hangup = 0};
    info.retry_and_idle_policy = &never;
    bool uv = !strcmp(loop, "uv");
    if (uv) {
        uv_loop_init(&foreign);
        info.options |= LWS_SERVER_OPTION_LIBUV;
        info.foreign_loops = loops;
    }
    struct lws_context *context = lws_create_context(&info);
    if (!context) return fputs("no context\n", stderr), 1;
    struct lws_vhost *host = lws_get_vhost_by_name(context, "default");
    printf("listening on http://127.0.0.1:%d\n", lws_get_vhost_listen_port(host));
    fflush(stdout);
    if (uv) return uv_run(&foreign, UV_RUN_DEFAULT);
    while (lws_service(context, 0) >= 0) {}
    return 0;
}
