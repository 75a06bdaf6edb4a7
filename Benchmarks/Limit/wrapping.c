#include "wrapping.h"

#include "store.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

enum {
  // Magic and format.
  HEADER_START_BYTES = 10,
  STORE_OFFSET = 16,
  STORE_BYTES = 16,
  BOUND_HEADER_BYTES = HEADER_START_BYTES + STORE_BYTES,
  LARGEST_BINDING_BYTES = 512,
};

void derive_key(uint8_t out[32], uint64_t id, const uint8_t key[32]) {
  crypto_kdf_derive_from_key(out, 32, id, "SSNTOOLS", key);
}

int unwrap_key(
  uint8_t out[32], const uint8_t *wrapped, const uint8_t key[32], bound_header header,
  const void *binding, size_t binding_bytes
) {
  uint8_t data[BOUND_HEADER_BYTES + LARGEST_BINDING_BYTES];
  require(binding_bytes <= LARGEST_BINDING_BYTES, "a slot's parameters");
  memcpy(data, header.bytes, HEADER_START_BYTES);
  memcpy(data + HEADER_START_BYTES, header.bytes + STORE_OFFSET, STORE_BYTES);
  memcpy(data + BOUND_HEADER_BYTES, binding, binding_bytes);
  return crypto_aead_xchacha20poly1305_ietf_decrypt(
    out, NULL, NULL, wrapped + NONCE_BYTES, 32 + TAG_BYTES, data,
    BOUND_HEADER_BYTES + binding_bytes, wrapped, key) == 0;
}

// Whether a slot, with all that is before its commitment, is for a key.
static int is_committed(
  const uint8_t *slot, size_t leading, const uint8_t key[32], bound_header header
) {
  crypto_generichash_state state;
  uint8_t commitment[SLOT_COMMITMENT_BYTES];
  crypto_generichash_init(&state, key, 32, sizeof commitment);
  crypto_generichash_update(
    &state, (const uint8_t *)header.slot_context, strlen(header.slot_context));
  crypto_generichash_update(&state, header.bytes + STORE_OFFSET, STORE_BYTES);
  crypto_generichash_update(&state, slot, leading);
  crypto_generichash_final(&state, commitment, sizeof commitment);
  return sodium_memcmp(commitment, slot + leading, sizeof commitment) == 0;
}

size_t unwrap_store_key(
  uint8_t out[32], const uint8_t *slots, int slot_count, bound_header header, const char *key_path
) {
  uint8_t raw_key[32];
  int key_file = open(key_path, O_RDONLY | O_CLOEXEC);
  require(key_file >= 0 && read(key_file, raw_key, 32) == 32, "key file");
  close(key_file);
  int is_found = 0;
  const uint8_t *at = slots;
  for (int slot = 0; slot < slot_count; slot += 1) {
    size_t leading = 4 + (size_t)(at[2] | at[3] << 8), bound = leading + SLOT_COMMITMENT_BYTES;
    is_found = is_found || (at[0] == 1 && is_committed(at, leading, raw_key, header)
      && unwrap_key(out, at + bound, raw_key, header, at, bound));
    at += bound + WRAPPED_KEY_BYTES;
  }
  require(is_found, "no raw key slot opens");
  return (size_t)(at - slots);
}
