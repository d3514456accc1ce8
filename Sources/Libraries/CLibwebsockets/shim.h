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

/// The number of bytes in front of a payload into which the library writes a header. `LWS_PRE` expands through a
/// function-like macro, which Swift does not import.
static inline size_t clws_pre(void) { return LWS_PRE; }

/// Tells the library not to change the process's user and group. Their type is `int` in version 4.1, and unsigned since
/// 4.2; C converts -1 to either.
static inline void clws_keep_user(struct lws_context_creation_info *info) {
    info->gid = -1;
    info->uid = -1;
}

/// Requires TLS 1.2 or later, forbids renegotiation and compression, prefers the server's order of ciphers, and
/// releases record buffers while a connection is idle (34 KB each). SSL_CTX_set_mode and SSL_CTX_set_min_proto_version
/// are macros over `SSL_CTX_ctrl`, which Swift does not import.
static inline int clws_harden_tls(void *context) {
    SSL_CTX *tls = (SSL_CTX *)context;
    SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    return SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
}

/// A key of TLS session tickets (RFC 5077, section 4), with the same parts as OpenSSL's own: the name at the beginning
/// of a ticket, a key for HMAC-SHA-256, and a key for AES-256-CBC.
typedef struct {
    unsigned char name[16], mac[32], cipher[32];
} clws_ticket_key;

/// The keys in use: the newest, which seals and opens tickets, and the one before it, which only opens them.
typedef struct {
    pthread_mutex_t lock;
    int count;
    clws_ticket_key keys[2];
} clws_ticket_ring;

/// Puts a new key in front and overwrites the older of the two keys. Returns 0 if there are no random bytes.
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

/// Creates a ring with one key; returns NULL if there is no memory or there are no random bytes.
static inline clws_ticket_ring *clws_make_tickets(void) {
    clws_ticket_ring *ring = (clws_ticket_ring *)calloc(1, sizeof *ring);
    if (!ring) return NULL;
    pthread_mutex_init(&ring->lock, NULL);
    if (clws_renew_tickets(ring)) return ring;
    free(ring);
    return NULL;
}

/// Frees a ring and leaves nothing of its keys in memory.
static inline void clws_free_tickets(clws_ticket_ring *ring) {
    pthread_mutex_destroy(&ring->lock);
    OPENSSL_cleanse(ring, sizeof *ring);
    free(ring);
}

/// OpenSSL's callback that looks up a key: the key for a new ticket if `seals` is set, otherwise the key that a ticket
/// names. Returns 1 if the key was found, and 0 if there is no such key. Returns 2 if the key was found but is not the
/// newest, so that the client needs a new ticket under the newest key. Returns -1 after a failure.
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

/// Makes a context seal and open its tickets with the keys of a ring, which must outlive the context. This function is
/// written in C because it passes a C function, `clws_find_ticket_key`, as the callback. The ring is stored as the
/// context's application data (index 0; the accessor is a macro), which libwebsockets does not use.
static inline int clws_use_tickets(void *context, clws_ticket_ring *ring) {
    SSL_CTX *tls = (SSL_CTX *)context;
    return SSL_CTX_set_ex_data(tls, 0, ring) == 1 && SSL_CTX_set_tlsext_ticket_key_evp_cb(tls, clws_find_ticket_key) == 1;
}

/// OpenSSL's callback that gives a handshake the chain and the key of another context, to which `place` points. If
/// `place` holds NULL, the handshake uses its own context's certificate. `STACK_OF` and the getter of the chain are
/// macros, which Swift does not import.
static inline int clws_take_certificate(SSL *handshake, void *place) {
    SSL_CTX *holder = *(SSL_CTX **)place;
    STACK_OF(X509) *chain = NULL;
    if (!holder) return 1;
    SSL_CTX_get0_chain_certs(holder, &chain);
    // Without this call, an old certificate for another kind of key would be served beside the new certificate.
    SSL_certs_clear(handshake);
    return SSL_use_cert_and_key(
        handshake, SSL_CTX_get0_certificate(holder), SSL_CTX_get0_privatekey(holder), chain, 1);
}

/// Makes every handshake of a context take the certificate to which `place` points. This function is written in C
/// because it passes a C function, `clws_take_certificate`, as the callback.
static inline void clws_look_for_certificate(void *context, void *place) {
    SSL_CTX_set_cert_cb((SSL_CTX *)context, clws_take_certificate, place);
}

/// Whether a handshake would accept the certificate that a context holds. To find out, this function calls
/// `clws_take_certificate` on a connection that is then discarded.
static inline int clws_can_serve(SSL_CTX *holder) {
    SSL *probe = SSL_new(holder);
    int done = probe ? clws_take_certificate(probe, &holder) : 0;
    SSL_free(probe);
    return done;
}

/// Gives OpenSSL no passphrase, so that it does not ask for one at the terminal. It is written in C, like the function
/// below that sets it, because Swift cannot pass a C function as a pointer.
static inline int clws_no_passphrase(char *buffer, int size, int writing, void *unused) {
    (void)buffer; (void)size; (void)writing; (void)unused;
    return 0;
}
static inline void clws_ask_no_passphrase(SSL_CTX *context) {
    SSL_CTX_set_default_passwd_cb(context, clws_no_passphrase);
}

/// Reserves a place for a value of our own in each TLS session. `SSL_get_ex_new_index` is a macro.
static inline int clws_new_ssl_place(void) { return SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL); }

/// Changes and reads a small count that several threads share. Swift's atomics need initialized memory; the counts are
/// in a large block that stays untouched until it is used.
static inline void clws_count(unsigned char *count, int by) {
    if (count) __atomic_fetch_add(count, (unsigned char)by, __ATOMIC_RELAXED);
}
static inline int clws_is_counted(const unsigned char *count) { return __atomic_load_n(count, __ATOMIC_RELAXED); }

/// Passes an accepted socket to the library. The connection's opaque pointer holds our `SocketID` from the first
/// callback on. The type is an OR of enum cases and the descriptor is a union; Swift imports neither well.
static inline struct lws *clws_adopt(struct lws_vhost *vhost, int fd, void *opaque) {
    lws_adopt_desc_t info;
    memset(&info, 0, sizeof(info));
    info.vh = vhost;
    info.type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL;
    info.fd.sockfd = fd;
    info.opaque = opaque;
    return lws_adopt_descriptor_vhost_via_info(&info);
}

/// glibc declares `accept4` only under `_GNU_SOURCE`, without which Swift's Glibc module is built. So the function is
/// declared here by its symbol.
extern int clws_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) __asm__("accept4");

/// Swift does not import `struct epoll_event`, which is packed. So the four functions below create an epoll set, add
/// and remove a socket with a number, and take the numbers of the ready sockets.
static inline int clws_epoll_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

/// Watches a socket for the first event that occurs: the peer hung up or, if `reads` is not 0, there is something to
/// read.
static inline int clws_epoll_add(int set, int fd, uint64_t number, int reads) {
    struct epoll_event event;
    memset(&event, 0, sizeof(event));
    event.events = (reads ? EPOLLIN : 0) | EPOLLRDHUP | EPOLLONESHOT;
    event.data.u64 = number;
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

static inline int clws_epoll_remove(int set, int fd) {
    struct epoll_event event;
    memset(&event, 0, sizeof(event));
    return epoll_ctl(set, EPOLL_CTL_DEL, fd, &event);
}

/// Writes the numbers of up to 64 ready sockets to `numbers`, without waiting. Returns the count of these sockets;
/// negative after a failure.
static inline int clws_epoll_take(int set, uint64_t *numbers) {
    struct epoll_event events[64];
    int count = epoll_wait(set, events, 64, 0);
    for (int i = 0; i < count; i++) numbers[i] = events[i].data.u64;
    return count;
}
