// Tokens of the generator's users, signed with HS256 and the server's secret (RFC 7515, RFC 7519).
#define _GNU_SOURCE
#include "load.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static unsigned char secret[4096];
static size_t secretLength;

void readSecret(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) die("cannot read %s", path);
    secretLength = fread(secret, 1, sizeof secret, file);
    fclose(file);
    if (secretLength && secret[secretLength - 1] == '\n') secretLength--;
    if (!secretLength) die("%s is empty", path);
}

static size_t base64url(const unsigned char *data, size_t length, char *out) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t at = 0;
    for (size_t i = 0; i < length; i += 3) {
        uint32_t three = (uint32_t)data[i] << 16;
        if (i + 1 < length) three |= (uint32_t)data[i + 1] << 8;
        if (i + 2 < length) three |= data[i + 2];
        size_t characters = i + 2 < length ? 4 : length - i + 1;
        for (size_t j = 0; j < characters; j++) out[at++] = alphabet[three >> (18 - 6 * j) & 63];
    }
    out[at] = 0;
    return at;
}

void sign(const char *key, const char *text, char hex[65]) {
    unsigned char signature[32];
    unsigned length = sizeof signature;
    HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, strlen(text), signature, &length);
    for (unsigned i = 0; i < length; i++) snprintf(hex + 2 * i, 3, "%02x", signature[i]);
}

void makeToken(const char *user, char *out, size_t size) {
    static const char header[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    char claims[256];
    int length = snprintf(claims, sizeof claims, "{\"sub\":\"%s\",\"exp\":%ld}", user, (long)time(NULL) + 86400);
    if (size < 512) die("no room for a token");
    size_t at = base64url((const unsigned char *)header, sizeof header - 1, out);
    out[at++] = '.';
    at += base64url((unsigned char *)claims, (size_t)length, out + at);
    unsigned char signature[32];
    unsigned signatureLength = sizeof signature;
    HMAC(EVP_sha256(), secret, (int)secretLength, (unsigned char *)out, at, signature, &signatureLength);
    out[at++] = '.';
    base64url(signature, signatureLength, out + at);
}
