// Latencies. All samples are kept, so that a quantile is an exact value and not an estimate.
#include "load.h"

#include <stdlib.h>

Samples oneWay, ackTime, lateness, answerTime;

void addSample(Samples *samples, uint64_t ns) {
    if (samples->count == samples->capacity) {
        samples->capacity = samples->capacity ? samples->capacity * 2 : 1 << 16;
        samples->tens = realloc(samples->tens, samples->capacity * sizeof *samples->tens);
        if (!samples->tens) die("out of memory");
    }
    samples->tens[samples->count++] = ns / 10 > UINT32_MAX ? UINT32_MAX : (uint32_t)(ns / 10);
}

static int byValue(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double quantileUs(Samples *samples, double quantile) {
    if (!samples->count) return -1;
    qsort(samples->tens, samples->count, sizeof *samples->tens, byValue);
    size_t at = (size_t)((double)(samples->count - 1) * quantile + 0.5);
    return samples->tens[at] / 100.0;
}
