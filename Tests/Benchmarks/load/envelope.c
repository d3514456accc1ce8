// What the servers that are no plain relays need around a text: nats-server a subject (docs.nats.io, "Client Protocol"),
// nextcloud-spreed-signaling the session of the peer (its docs, "Standalone signaling API").
#define _GNU_SOURCE
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t envelope(const Connection *c, const char *text, size_t length, char *out, size_t size) {
    char user[64];
    int head = 0;
    const char *tail = "\r\n";
    if (options.dialect == NATS) {
        userName(c, c->side ^ 1, user, sizeof user);
        head = snprintf(out, size, "PUB %s %zu\r\n", user, length);
    } else if (options.dialect == SPREED) {
        const char *peer = c->talk ? c->talk->peer->session : NULL;
        if (!peer) die("a text for nobody");
        tail = "}}";
        head = snprintf(out, size, "{\"type\":\"message\",\"message\":{\"recipient\":{\"type\":\"session\",\"sessionid\":\"%s\"},\"data\":", peer);
    }
    if (!head) return 0;
    if ((size_t)head + length + 2 > size) die("an envelope does not fit");
    memcpy(out + head, text, length);
    memcpy(out + head + length, tail, 2);
    return (size_t)head + length + 2;
}

// nats-server sends several messages in one frame. The line of a message ends with the length of its payload.
static void eachNatsMessage(Connection *c, char *at, size_t length, TextHandler *handle) {
    for (char *end = at + length; at < end;) {
        char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
        if (!line) die("a line of nats-server has no end");
        size_t size = (size_t)(line - at);
        if (size > 4 && !memcmp(at, "MSG ", 4)) {
            char *number = line;
            while (number[-1] != ' ') number--;
            size_t payload = strtoul(number, NULL, 10);
            if (payload + 4 > (size_t)(end - line)) die("a message of nats-server is cut");
            handle(c, line + 2, payload);
            at = line + 2 + payload + 2;
            continue;
        }
        if (size == 4) handle(c, at, size); // PING or PONG
        else if (size > 0 && *at == '-') die("nats-server says %.*s", (int)size, at);
        at = line + 2;
    }
}

void eachText(Connection *c, char *payload, size_t length, TextHandler *handle) {
    if (options.dialect == NATS) return eachNatsMessage(c, payload, length, handle);
    if (options.dialect == SPREED) {
        static const char member[] = "\"sessionid\":\"", data[] = "\"data\":";
        char *at = memmem(payload, length, data, sizeof data - 1), *end = payload + length;
        if (at) return handle(c, at + sizeof data - 1, (size_t)(end - at) - (sizeof data - 1));
        if (c->phase == GREETING && (at = memmem(payload, length, member, sizeof member - 1))) {
            at += sizeof member - 1;
            char *quote = memchr(at, '"', (size_t)(end - at));
            c->session = quote ? strndup(at, (size_t)(quote - at)) : NULL;
        }
    }
    handle(c, payload, length);
}
