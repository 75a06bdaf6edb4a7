// The keys in the header of a sealed store, in files or in a database, with only libsodium. Any
// error ends the program.

#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
  WRAPPED_KEY_BYTES = 72,
  SLOT_COMMITMENT_BYTES = 16,
};

// The beginning of a header, which its slots and wrapped keys are bound to, and the word that its
// slots' commitments begin with.
typedef struct {
  const uint8_t *bytes;
  const char *slot_context;
} bound_header;

// Derives the key of a number.
void derive_key(uint8_t out[32], uint64_t id, const uint8_t key[32]);
// Opens a wrapped key, to which the header's beginning and a text are bound; returns whether it
// opens.
int unwrap_key(
  uint8_t out[32], const uint8_t *wrapped, const uint8_t key[32], bound_header header,
  const void *binding, size_t binding_bytes);
// Opens one of some slots with the raw key in a file; returns how many bytes the slots have.
size_t unwrap_store_key(
  uint8_t out[32], const uint8_t *slots, int slot_count, bound_header header,
  const char *key_path);
