// The functions that the embedded Swift runtime expects and that wasi-libc does not have, or has only with imports that
// a browser cannot satisfy.
#include <stddef.h>
#include <stdint.h>

// The seed of Swift's hash tables, from JavaScript: `crypto.getRandomValues`.
__attribute__((import_module("env"), import_name("random"))) extern void random_from_javascript(void *bytes, size_t size);

void arc4random_buf(void *bytes, size_t size) { random_from_javascript(bytes, size); }

// The stack protector. A fixed value is enough: an overwritten guard shows a bug, and nobody can attack the stack of a
// module from outside.
uintptr_t __stack_chk_guard = 0x595e9fbd;
void __stack_chk_fail(void) { __builtin_trap(); }

typedef struct {
    uint64_t low;
    int64_t high;
} Integer128;

// The product of two 128-bit integers, which clang does not inline for this target. Each 64-bit factor is split into
// halves, whose products fit into 64 bits.
void __multi3(Integer128 *product, uint64_t a_low, int64_t a_high, uint64_t b_low, int64_t b_high) {
    uint64_t a0 = a_low & 0xffffffff, a1 = a_low >> 32, b0 = b_low & 0xffffffff, b1 = b_low >> 32;
    uint64_t part = a0 * b0;
    uint64_t lowest = part & 0xffffffff;
    part = a1 * b0 + (part >> 32);
    uint64_t middle = part & 0xffffffff, highest = part >> 32;
    part = a0 * b1 + middle;
    product->low = (part << 32) | lowest;
    product->high = a1 * b1 + highest + (part >> 32) + a_low * b_high + a_high * b_low;
}
