#pragma once
#include <uv.h>
#include <libwebsockets.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
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

/// A key of TLS session tickets (RFC 5077, section 4), as OpenSSL's own are: the name that a ticket begins with, a key for
/// HMAC-SHA-256 and one for AES-256-CBC.
typedef struct {
    unsigned char name[16], mac[32], cipher[32];
} clws_ticket_key;

/// The newest key, which seals and opens, and the one before it, which only opens.
typedef struct {
    pthread_mutex_t lock;
    int count;
    clws_ticket_key keys[2];
} clws_ticket_ring;

/// Puts a new key in front; the second goes for good. 0 where there is no randomness.
static inline int clws_renew_tickets(clws_ticket_ring *ring) {
    clws_ticket_key made;
    if (RAND_priv_bytes((unsigned char *)&made, sizeof made) != 1) return 0;
    pthread_mutex_lock(&ring->lock);
    ring->keys[1] = ring->keys[0];
    ring->keys[0] = made;
    if (ring->count < 2) ring->count++;
    pthread_mutex_unlock(&ring->lock);
    OPENSSL_cleanse(&made, sizeof made);
    return 1;
}

/// A ring with one key; NULL where there is no memory or no randomness.
static inline clws_ticket_ring *clws_make_tickets(void) {
    clws_ticket_ring *ring = (clws_ticket_ring *)calloc(1, sizeof *ring);
    if (!ring) return NULL;
    pthread_mutex_init(&ring->lock, NULL);
    if (clws_renew_tickets(ring)) return ring;
    free(ring);
    return NULL;
}

/// Leaves nothing of the keys in memory.
static inline void clws_free_tickets(clws_ticket_ring *ring) {
    pthread_mutex_destroy(&ring->lock);
    OPENSSL_cleanse(ring, sizeof *ring);
    free(ring);
}

/// OpenSSL asks for the key that seals a ticket, or for the one that a ticket names: 0 = there is none, 1 = here it is, 2 = here
/// it is, and the client is to get a ticket under the newest.
static inline int clws_find_ticket_key(
    SSL *session, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seals) {
    clws_ticket_ring *ring = (clws_ticket_ring *)SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), 0);
    clws_ticket_key key;
    int place = 0, found, done;
    OSSL_PARAM parameters[3];
    if (!ring) return -1;
    pthread_mutex_lock(&ring->lock);
    while (!seals && place < ring->count && memcmp(name, ring->keys[place].name, sizeof key.name)) place++;
    found = place < ring->count;
    if (found) key = ring->keys[place];
    pthread_mutex_unlock(&ring->lock);
    if (!found) return 0;
    parameters[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac, sizeof key.mac);
    parameters[1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0);
    parameters[2] = OSSL_PARAM_construct_end();
    if (seals) {
        memcpy(name, key.name, sizeof key.name);
        done = RAND_bytes(iv, 16) == 1 && EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.cipher, iv) == 1;
    } else {
        done = EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.cipher, iv) == 1;
    }
    done = done && EVP_MAC_CTX_set_params(mac, parameters) == 1;
    OPENSSL_cleanse(&key, sizeof key);
    return !done ? -1 : seals || place == 0 ? 1 : 2;
}

/// Has a context's tickets sealed and opened with the keys of a ring, which must outlive it: it hands C a function that is C's
/// own. The ring stands at the place for the application's data (index 0, a macro), which libwebsockets leaves alone.
static inline int clws_use_tickets(void *context, clws_ticket_ring *ring) {
    SSL_CTX *tls = (SSL_CTX *)context;
    return SSL_CTX_set_ex_data(tls, 0, ring) == 1 && SSL_CTX_set_tlsext_ticket_key_evp_cb(tls, clws_find_ticket_key) == 1;
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
