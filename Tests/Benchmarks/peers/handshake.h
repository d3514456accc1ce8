// Functions that the plain relays share: the names of pairs, and the answer to a client's key.
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PAIRS = 1000000 };

// Returns the number N in {"join":"pairN"}, or -1 if the text is not of this form.
static inline int joinedPair(const char *text, size_t length) {
    char copy[64];
    int number = -1, end = 0;
    if (length >= sizeof copy) return -1;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (sscanf(copy, "{\"join\":\"pair%d\"}%n", &number, &end) != 1 || (size_t)end != length) return -1;
    return number >= 0 && number < MOST_PAIRS ? number : -1;
}

// Computes the value of Sec-WebSocket-Accept, which proves that the key was read (RFC 6455, section 4.2.2).
static inline void acceptKey(const char *key, size_t length, char out[32]) {
    unsigned char joined[128], digest[EVP_MAX_MD_SIZE];
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    if (length > 64) length = 64;
    memcpy(joined, key, length);
    memcpy(joined + length, guid, sizeof guid - 1);
    EVP_Digest(joined, length + sizeof guid - 1, digest, NULL, EVP_sha1(), NULL);
    EVP_EncodeBlock((unsigned char *)out, digest, 20);
}

#endif
