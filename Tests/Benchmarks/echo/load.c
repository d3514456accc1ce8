/* Load for the relay: cc -O2 -o load load.c && ./load PORT CONNECTIONS ACTIVE SECONDS BYTES SERVER_PID
 *
 * Opens CONNECTIONS connections. The last ACTIVE of them send one message of BYTES bytes each, and another one for each
 * message received. Prints the CPU time of the server's main thread for each message (from /proc/PID/schedstat), and
 * the server's resident memory before and after. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }

static double cpu(int pid) {
    char path[64], line[2048]; snprintf(path, 64, "/proc/%d/schedstat", pid);
    FILE *f = fopen(path, "r"); double ns = 0; if (f) { if (fgets(line, 2048, f)) ns = atof(line); fclose(f); }
    return ns / 1e9;
}

static long rss(int pid) {
    char path[64], line[256]; long kb = 0; snprintf(path, 64, "/proc/%d/status", pid);
    FILE *f = fopen(path, "r"); if (!f) return 0;
    while (fgets(line, 256, f)) if (!strncmp(line, "VmRSS:", 6)) kb = atol(line + 6);
    fclose(f); return kb;
}

int main(int argc, char **argv) {
    if (argc < 7) return 1;
    int port = atoi(argv[1]), n = atoi(argv[2]), active = atoi(argv[3]), bytes = atoi(argv[5]), pid = atoi(argv[6]);
    double seconds = atof(argv[4]);
    struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); l.rlim_cur = l.rlim_max; setrlimit(RLIMIT_NOFILE, &l);
    int *fds = malloc(n * sizeof(int)); long *got = calloc(n, sizeof(long));
    long before = rss(pid); double opening = now();
    for (int i = 0; i < n; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x7F000001)};
        if (connect(fd, (struct sockaddr *)&a, sizeof a)) { perror("connect"); return 1; }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        const char *u = "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
        if (write(fd, u, strlen(u)) < 0) return 1;
        char r[1024]; int k = recv(fd, r, sizeof r, 0);
        if (k < 12 || memcmp(r, "HTTP/1.1 101", 12)) { printf("refused at %d\n", i); return 1; }
        fds[i] = fd;
    }
    printf("opened %d in %.2f s\n", n, now() - opening);
    sleep(1);
    printf("resident: %ld KB before, %ld KB after, %.0f bytes a session\n", before, rss(pid), (rss(pid) - before) * 1024.0 / n);
    if (!active) return 0;
    fds += n - active;
    unsigned char *m = malloc(bytes + 16); int h = 0;
    m[h++] = 0x81;
    if (bytes < 126) m[h++] = 0x80 | bytes; else { m[h++] = 0x80 | 126; m[h++] = bytes >> 8; m[h++] = bytes & 255; }
    memset(m + h, 0, 4); h += 4; memset(m + h, 'x', bytes);
    for (int i = 0; i < 4; i++) m[h - 4 + i] = i + 1;
    for (int i = 0; i < bytes; i++) m[h + i] ^= 1 + (i & 3);
    int total = h + bytes, frame = bytes + (bytes < 126 ? 2 : 4), ep = epoll_create1(0);
    for (int i = 0; i < active; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.u32 = i}; epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &e);
    }
    double began = now(), used = cpu(pid); long messages = 0;
    for (int i = 0; i < active; i++) if (write(fds[i], m, total) < 0) return 1;
    static char sink[1 << 20];
    while (now() - began < seconds) {
        struct epoll_event e[256]; int k = epoll_wait(ep, e, 256, 100);
        for (int j = 0; j < k; j++) {
            int i = e[j].data.u32; long c = recv(fds[i], sink, sizeof sink, 0);
            if (c <= 0) { printf("closed\n"); return 1; }
            got[i] += c;
            while (got[i] >= frame) { got[i] -= frame; messages++; if (write(fds[i], m, total) < 0) return 1; }
        }
    }
    double time = now() - began; used = cpu(pid) - used;
    printf("%ld messages of %d bytes, %.0f a second, server CPU %.2f us each\n", messages, bytes, messages / time, used / messages * 1e6);
    return 0;
}
