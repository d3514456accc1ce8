// TLS for a connection, by OpenSSL on the same non-blocking socket. The certificate is not verified, because the server
// is the one that was just started.
#include "load.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

static SSL_CTX *context;

// Returns false if the handshake must continue at the next event.
bool tlsHandshake(Connection *c, bool *wantsWrite) {
    if (!context) {
        context = SSL_CTX_new(TLS_client_method());
        if (!context) die("no TLS");
        // With ten thousand clients, idle connections should not keep their buffers.
        SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    }
    if (!c->tls) {
        c->tls = SSL_new(context);
        if (!c->tls || !SSL_set_fd(c->tls, c->fd)) die("no TLS connection");
    }
    int result = SSL_connect(c->tls);
    if (result == 1) return true;
    int error = SSL_get_error(c->tls, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        die("the TLS handshake: %s", ERR_reason_error_string(ERR_peek_error()));
    *wantsWrite = error == SSL_ERROR_WANT_WRITE;
    return false;
}

// Like recv: returns -1 with errno EAGAIN if there is nothing to read now, and 0 at the end of the stream.
ssize_t tlsReceive(Connection *c, void *data, size_t size) {
    size_t got = 0;
    // SSL_read returns one record at a time. Read all of them, because epoll reports no event for data that is already
    // in OpenSSL's buffer.
    while (got < size) {
        ERR_clear_error();
        int result = SSL_read(c->tls, (char *)data + got, (int)(size - got));
        if (result > 0) {
            got += (size_t)result;
            continue;
        }
        if (got) break;
        int error = SSL_get_error(c->tls, result);
        if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return errno = EAGAIN, -1;
        return 0;
    }
    return (ssize_t)got;
}

ssize_t tlsSend(Connection *c, const void *data, size_t length) {
    ERR_clear_error();
    int result = SSL_write(c->tls, data, (int)length);
    return result > 0 ? result : -1;
}

void tlsFree(Connection *c) {
    SSL_free(c->tls);
    c->tls = NULL;
}
