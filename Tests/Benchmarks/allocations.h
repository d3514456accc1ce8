// The file that allocations.c writes and the generator reads: both map it; it has the size of CountedAllocations.
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stdatomic.h>
#include <stdint.h>

enum { COUNTED_THREADS = 64 }; // further threads share the last place

typedef struct CountedThread {
    _Atomic int64_t thread; // the kernel's thread id; 0: unused
    _Atomic uint64_t calls, bytes;
} CountedThread;

typedef struct CountedAllocations {
    _Atomic uint32_t threads; // the number of threads that have allocated
    uint32_t unused;
    CountedThread by[COUNTED_THREADS];
} CountedAllocations;

#endif
