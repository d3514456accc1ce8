// The texts of the dialects and their meaning. A pair sends the same texts in all: an offer, an answer, candidates and an
// end. Ringline makes a call of them; the other servers pass them on. The dialects differ in how a connection
// identifies itself, and in what is around a text (envelope.c).
#define _GNU_SOURCE
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A session description as long as a browser's for an audio call, with JSON escapes.
static const char description[] =
    "v=0\\r\\no=- 4611731400430051336 2 IN IP4 127.0.0.1\\r\\ns=-\\r\\nt=0 0\\r\\na=group:BUNDLE 0\\r\\na=msid-semantic: WMS\\r\\n"
    "m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126\\r\\nc=IN IP4 0.0.0.0\\r\\na=rtcp:9 IN IP4 0.0.0.0\\r\\n"
    "a=ice-ufrag:EsAw\\r\\na=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y\\r\\na=ice-options:trickle\\r\\n"
    "a=fingerprint:sha-256 DA:7B:57:DC:28:CE:04:4F:31:79:85:C4:31:67:EB:27:58:29:ED:77:2A:0D:24:AE:ED:AD:30:BC:BD:F1:9C:02\\r\\n"
    "a=setup:actpass\\r\\na=mid:0\\r\\na=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level\\r\\na=sendrecv\\r\\na=rtcp-mux\\r\\n"
    "a=rtpmap:111 opus/48000/2\\r\\na=rtcp-fb:111 transport-cc\\r\\na=fmtp:111 minptime=10;useinbandfec=1\\r\\n"
    "a=rtpmap:63 red/48000/2\\r\\na=fmtp:63 111/111\\r\\na=rtpmap:9 G722/8000\\r\\na=rtpmap:0 PCMU/8000\\r\\n"
    "a=rtpmap:8 PCMA/8000\\r\\na=rtpmap:13 CN/8000\\r\\na=rtpmap:110 telephone-event/48000\\r\\na=rtpmap:126 telephone-event/8000\\r\\n";

static size_t checked(int length, size_t size) {
    if (length < 0 || (size_t)length >= size) die("a text does not fit");
    return (size_t)length;
}

void userName(const Connection *c, Side side, char *out, size_t size) {
    snprintf(out, size, "%c%05u-%u-%05u", "ceL"[side], runName, c->batch, c->number);
}

// The numbers have a fixed width, so that all candidates have the same length.
static void callName(const Connection *c, char *out, size_t size) {
    int length = snprintf(out, size, "b%05u-%u-%05u", runName, c->batch, c->number);
    if (c->turn) snprintf(out + length, size - (size_t)length, "-%u", c->turn);
}

size_t upgradeRequest(const Connection *c, char *out, size_t size) {
    char user[64], token[1024], credentials[1200] = "";
    const char *path = options.dialect == SPREED ? "/spreed" : "/";
    char named[96];
    if (options.dialect == RINGLINE) {
        userName(c, c->side, user, sizeof user);
        makeToken(user, token, sizeof token);
        snprintf(credentials, sizeof credentials, "Authorization: Bearer %s\r\n", token);
        snprintf(named, sizeof named, "/ws?device=d-%s", user); // in the storm the same devices reconnect
        path = named;
    }
    return checked(snprintf(out, size,
                       "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
                       path, options.ports[c->node], credentials),
        size);
}

// Each batch has pair numbers of its own. The numbers of single connections are above all of them.
size_t joinText(const Connection *c, char *out, size_t size) {
    char user[64], signature[65];
    userName(c, c->side, user, sizeof user);
    if (options.dialect == NATS)
        return checked(snprintf(out, size, "CONNECT {\"verbose\":false,\"auth_token\":\"secret\"}\r\nSUB %s 1\r\nPING\r\n", user), size);
    if (options.dialect == SPREED) {
        static const char nonce[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        sign("secret", nonce, signature);
        return checked(snprintf(out, size,
                           "{\"id\":\"h\",\"type\":\"hello\",\"hello\":{\"version\":\"1.0\",\"auth\":{\"type\":\"internal\",\"params\":"
                           "{\"random\":\"%s\",\"token\":\"%s\",\"backend\":\"http://127.0.0.1/\"}}}}",
                           nonce, signature),
            size);
    }
    uint32_t number = c->side == LONE ? 500000 + c->number : c->batch % 20 * 20000 + c->number;
    return checked(snprintf(out, size, "{\"join\":\"pair%u\"}", number), size);
}

size_t offerText(const Connection *c, char *out, size_t size) {
    char call[64], callee[64];
    callName(c, call, sizeof call);
    userName(c, CALLEE, callee, sizeof callee);
    return checked(snprintf(out, size, "{\"type\":\"offer\",\"id\":\"o\",\"callId\":\"%s\",\"to\":\"%s\",\"sdp\":\"%s\"}", call,
                       callee, description),
        size);
}

// One of several calls between the same two users. Ringline only; it marks further calls as waiting.
size_t anotherOfferText(const Connection *c, uint32_t which, char *out, size_t size) {
    char call[64], callee[64];
    callName(c, call, sizeof call);
    userName(c, CALLEE, callee, sizeof callee);
    return checked(snprintf(out, size, "{\"type\":\"offer\",\"id\":\"o%u\",\"callId\":\"%s-%u\",\"to\":\"%s\",\"sdp\":\"%s\"}", which,
                       call, which, callee, description),
        size);
}

size_t answerText(const Connection *c, char *out, size_t size) {
    char call[64];
    callName(c, call, sizeof call);
    return checked(snprintf(out, size, "{\"type\":\"answer\",\"id\":\"a\",\"callId\":\"%s\",\"sdp\":\"%s\"}", call, description), size);
}

size_t endText(const Connection *c, char *out, size_t size) {
    char call[64];
    callName(c, call, sizeof call);
    return checked(snprintf(out, size, "{\"type\":\"end\",\"id\":\"e\",\"callId\":\"%s\"}", call), size);
}

size_t candidateText(const Connection *c, uint32_t number, uint64_t due, char *out, size_t size) {
    char call[64];
    callName(c, call, sizeof call);
    size_t at = checked(snprintf(out, size,
                            "{\"type\":\"ice\",\"id\":\"i%05u\",\"callId\":\"%s\",\"candidate\":{\"candidate\":"
                            "\"candidate:%05u %05u%c 1 udp 2122260223 192.0.2.1 9 typ host %012llx",
                            number, call, number, c->number, c->side == CALLER ? 'c' : 'e',
                            (unsigned long long)(due & 0xffffffffffffu)),
        size);
    static const char tail[] = "\",\"sdpMid\":\"0\"}}";
    if (at + sizeof tail - 1 > CANDIDATE_BYTES || size <= CANDIDATE_BYTES) die("a candidate of %zu bytes", at + sizeof tail - 1);
    memset(out + at, 'x', CANDIDATE_BYTES - at);
    memcpy(out + CANDIDATE_BYTES - (sizeof tail - 1), tail, sizeof tail - 1);
    return CANDIDATE_BYTES;
}

// ---- received texts

static const char *find(const char *text, size_t length, const char *what, size_t whatLength) {
    const char *at = memmem(text, length, what, whatLength);
    return at ? at + whatLength : NULL;
}
#define FIND(text, length, literal) find(text, length, literal, sizeof(literal) - 1)

static bool begins(const char *at, const char *end, const char *word) {
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && !memcmp(at, word, length);
}

// The texts come only from the measured servers. They have no blanks around the colon, and the generator's descriptions
// and candidates contain no such member.
Kind kindOf(const char *text, size_t length) {
    const char *end = text + length, *type = FIND(text, length, "\"type\":\"");
    if (!type) return FIND(text, length, "\"joined\"") || FIND(text, length, "PONG") ? KIND_GREETING : KIND_OTHER;
    if (begins(type, end, "ice\"")) return KIND_ICE;
    if (begins(type, end, "ack\"")) return KIND_ACK;
    if (begins(type, end, "offer\"")) return KIND_OFFER;
    if (begins(type, end, "answer\"")) return KIND_ANSWER;
    if (begins(type, end, "end\"")) return KIND_END;
    if (begins(type, end, "welcome\"") || begins(type, end, "hello\"")) return KIND_GREETING;
    if (begins(type, end, "error\"")) return KIND_ERROR;
    return KIND_OTHER;
}

static bool digits(const char *at, const char *end, uint32_t *value) {
    *value = 0;
    if (end - at < 5) return false;
    for (int i = 0; i < 5; i++) {
        if (at[i] < '0' || at[i] > '9') return false;
        *value = *value * 10 + (uint32_t)(at[i] - '0');
    }
    return true;
}

bool readCandidate(const char *text, size_t length, uint32_t *number, uint32_t *pair, char *side) {
    const char *end = text + length, *at = FIND(text, length, "\"candidate:");
    if (!at || end - at < 12 || !digits(at, end, number) || !digits(at + 6, end, pair)) return false;
    *side = at[11];
    return true;
}

// Returns whether the text is the ack of a candidate, and sets the candidate's number.
bool readAck(const char *text, size_t length, uint32_t *number) {
    const char *at = FIND(text, length, "\"id\":\"i");
    return at && digits(at, text + length, number);
}
