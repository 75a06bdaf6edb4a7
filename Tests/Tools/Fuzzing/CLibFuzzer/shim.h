#include <stddef.h>
#include <stdint.h>

/* The entry point of libclang_rt.fuzzer_no_main, which has no header of its own. */
int LLVMFuzzerRunDriver(int *argc, char ***argv,
                        int (*callback)(const uint8_t *data, size_t size));
