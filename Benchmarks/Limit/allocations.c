// Counts how often a thread allocates memory: functions of these names in a program replace those
// of glibc, which are still there under other names.

#include "store.h"

#include <errno.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static _Thread_local uint64_t count;

uint64_t allocation_count(void) { return count; }

void *malloc(size_t bytes) {
  count += 1;
  return __libc_malloc(bytes);
}

void *calloc(size_t element_count, size_t bytes) {
  count += 1;
  return __libc_calloc(element_count, bytes);
}

void *realloc(void *memory, size_t bytes) {
  count += 1;
  return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  count += 1;
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = aligned_alloc(alignment, bytes);
  return *memory == NULL ? ENOMEM : 0;
}
