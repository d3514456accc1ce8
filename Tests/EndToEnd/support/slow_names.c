// Replaces getaddrinfo, so that a test decides how names resolve (slow_names.py).
//
// A name that ends in ".hangs.test" has no result before 20 seconds have passed, like one whose name server does not
// respond. A name that ends in ".here.test" is 127.0.0.1. All other names resolve as usual.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

typedef int (*lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int ends_in(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    lookup real = (lookup)dlsym(RTLD_NEXT, "getaddrinfo");
    if (name != NULL && ends_in(name, ".hangs.test")) {
        sleep(20);
        return EAI_AGAIN;
    }
    if (name != NULL && ends_in(name, ".here.test")) name = "127.0.0.1";
    return real(name, service, hints, result);
}
