#include <stddef.h>
#include <stdint.h>

/* libFuzzer provides main. It calls LLVMFuzzerInitialize once and LLVMFuzzerTestOneInput with each input
   (https://llvm.org/docs/LibFuzzer.html). The two functions `ringline_fuzz…` are in the Swift target. */
void ringline_fuzz_begin(void);
void ringline_fuzz(const uint8_t *bytes, size_t count);

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    ringline_fuzz_begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    ringline_fuzz(bytes, count);
    return 0;
}
