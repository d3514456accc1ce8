// What allocations.c writes and the generator reads: a file of the size of this struct, mapped by both.
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stdatomic.h>
#include <stdint.h>

enum { COUNTED_THREADS = 64 }; // those that come later share the last one's place

typedef struct CountedThread {
    _Atomic int64_t thread; // the kernel's number for it; 0: nobody yet
    _Atomic uint64_t calls, bytes;
} CountedThread;

typedef struct CountedAllocations {
    _Atomic uint32_t threads; // that have allocated at all
    uint32_t unused;
    CountedThread by[COUNTED_THREADS];
} CountedAllocations;

#endif
