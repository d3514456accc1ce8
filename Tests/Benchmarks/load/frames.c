// WebSocket frames (RFC 6455) of a client.
#include "load.h"

#include <string.h>

// The mask is not zero. A server must unmask in any case, but some servers skip that for a mask of zeros.
size_t maskedFrame(unsigned opcode, const char *payload, size_t length, unsigned char *out) {
    static uint32_t state = 0x9e3779b9;
    size_t at = 2;
    if (length > LARGEST_MESSAGE) die("a message of %zu bytes", length);
    out[0] = (unsigned char)(0x80 | opcode);
    if (length < 126) {
        out[1] = (unsigned char)(0x80 | length);
    } else {
        out[1] = 0x80 | 126;
        out[2] = (unsigned char)(length >> 8);
        out[3] = (unsigned char)length;
        at = 4;
    }
    state = state * 1664525u + 1013904223u;
    unsigned char mask[4] = {(unsigned char)(state >> 24), (unsigned char)(state >> 16), (unsigned char)(state >> 8),
        (unsigned char)(state | 1)};
    memcpy(out + at, mask, 4);
    at += 4;
    for (size_t i = 0; i < length; i++) out[at + i] = (unsigned char)payload[i] ^ mask[i & 3];
    return at + length;
}

// Calls the handler for each complete frame and returns the number of bytes that these frames took. The servers here
// send unmasked, unfragmented frames; any other frame ends the run.
size_t eachFrame(Connection *c, char *data, size_t length, FrameHandler *handle) {
    size_t at = 0;
    while (length - at >= 2) {
        const unsigned char *head = (const unsigned char *)data + at;
        size_t size = head[1] & 127, header = 2;
        if (!(head[0] & 0x80) || head[1] & 0x80 || head[0] & 0x70) die("a frame begins with %02x %02x", head[0], head[1]);
        if (size == 126) {
            if (length - at < 4) break;
            size = (size_t)head[2] << 8 | head[3];
            header = 4;
        } else if (size == 127) {
            die("a frame of more than 64 KiB");
        }
        if (length - at < header + size) break;
        handle(c, head[0] & 15, data + at + header, size);
        at += header + size;
        if (c->phase == GONE) return length;
    }
    return at;
}
