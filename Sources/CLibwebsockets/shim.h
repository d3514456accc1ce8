#pragma once
#include <uv.h>
#include <libwebsockets.h>
#include <openssl/err.h>
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

/// Gives a handshake the chain and the key that another context holds, whose address stands in `place`; nothing there
/// leaves what the handshake has. `STACK_OF` and the getter of the chain are macros, which Swift does not import.
static inline int clws_take_certificate(SSL *handshake, void *place) {
    SSL_CTX *holder = *(SSL_CTX **)place;
    STACK_OF(X509) *chain = NULL;
    if (!holder) return 1;
    SSL_CTX_get0_chain_certs(holder, &chain);
    // Without this a certificate for another kind of key would be served besides the new one.
    SSL_certs_clear(handshake);
    return SSL_use_cert_and_key(
        handshake, SSL_CTX_get0_certificate(holder), SSL_CTX_get0_privatekey(holder), chain, 1);
}

/// Has every handshake of a context look for its certificate: it hands C a function that is C's own.
static inline void clws_look_for_certificate(void *context, void *place) {
    SSL_CTX_set_cert_cb((SSL_CTX *)context, clws_take_certificate, place);
}

/// Whether a handshake would take what a context holds: the same calls as above, on a connection that is thrown away.
static inline int clws_can_serve(SSL_CTX *holder) {
    SSL *probe = SSL_new(holder);
    int done = probe ? clws_take_certificate(probe, &holder) : 0;
    SSL_free(probe);
    return done;
}

/// OpenSSL would ask for a key's passphrase at the terminal. A C function that Swift cannot name as a pointer.
static inline int clws_no_passphrase(char *buffer, int size, int writing, void *unused) {
    (void)buffer; (void)size; (void)writing; (void)unused;
    return 0;
}
static inline void clws_ask_no_passphrase(SSL_CTX *context) {
    SSL_CTX_set_default_passwd_cb(context, clws_no_passphrase);
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
