#pragma once
#include <uv.h>
#include <libwebsockets.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/// `LWS_PRE` is a function-like macro expression, which Swift does not import.
static inline size_t clws_pre(void) { return LWS_PRE; }

/// TLS 1.2 at least, no renegotiation, and record buffers that are given back while a connection is idle (34 KB each):
/// macros over `SSL_CTX_ctrl`, which Swift does not import.
static inline int clws_harden_tls(void *context) {
    SSL_CTX *tls = (SSL_CTX *)context;
    SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    return SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
}

/// The length of the keys of TLS session tickets, and reading and setting them: macros over `SSL_CTX_ctrl`, as above.
enum { CLWS_TICKET_KEYS = 80 };
static inline int clws_get_ticket_keys(void *context, void *keys) {
    return SSL_CTX_get_tlsext_ticket_keys((SSL_CTX *)context, keys, CLWS_TICKET_KEYS) == 1;
}
static inline int clws_set_ticket_keys(void *context, void *keys) {
    return SSL_CTX_set_tlsext_ticket_keys((SSL_CTX *)context, keys, CLWS_TICKET_KEYS) == 1;
}

/// Adopts an accepted socket with our own number in it from the first callback on: the type is an or of enum cases, the
/// descriptor a union, and neither is imported well.
static inline struct lws *clws_adopt(struct lws_vhost *vhost, int fd, void *opaque) {
    lws_adopt_desc_t info;
    memset(&info, 0, sizeof(info));
    info.vh = vhost;
    info.type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL;
    info.fd.sockfd = fd;
    info.opaque = opaque;
    return lws_adopt_descriptor_vhost_via_info(&info);
}

/// `accept4` is declared for GNU sources only, and Swift's Glibc module is built without that. Defined here by its symbol.
extern int clws_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) __asm__("accept4");

/// `struct epoll_event` is packed, which Swift does not import: the three calls on an epoll set, with a number for each
/// socket.
static inline int clws_epoll_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

/// Once: the peer hung up, or there is something to read.
static inline int clws_epoll_add(int set, int fd, uint64_t number) {
    struct epoll_event event;
    memset(&event, 0, sizeof(event));
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
    event.data.u64 = number;
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

static inline int clws_epoll_remove(int set, int fd) {
    struct epoll_event event;
    memset(&event, 0, sizeof(event));
    return epoll_ctl(set, EPOLL_CTL_DEL, fd, &event);
}

/// Up to 64 numbers of those that are ready, without waiting.
static inline int clws_epoll_take(int set, uint64_t *numbers) {
    struct epoll_event events[64];
    int count = epoll_wait(set, events, 64, 0);
    for (int i = 0; i < count; i++) numbers[i] = events[i].data.u64;
    return count;
}
