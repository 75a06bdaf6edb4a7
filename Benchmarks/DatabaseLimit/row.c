#include "row.h"
#include "wrapping.h"

#include <sodium.h>
#include <string.h>

enum {
  CHECKSUM_BYTES = 16,
  // Offsets in the header.
  SLOT_COUNT_OFFSET = 10,
  STORE_OFFSET = 16,
  SLOTS_OFFSET = 40,
  // In the data that a row's sealings bind.
  ASSOCIATED_BYTES = 87,
};

// MARK: the header

void row_keys_open(row_keys *keys, const uint8_t *header, size_t bytes, const char *key_path) {
  uint8_t store_key[32], index_key[32], data_key[32], header_key[32], mac[MAC_BYTES];
  require(bytes > SLOTS_OFFSET + CHECKSUM_BYTES + MAC_BYTES, "header");
  size_t checked = bytes - CHECKSUM_BYTES - MAC_BYTES;
  crypto_generichash(mac, CHECKSUM_BYTES, header, checked, NULL, 0);
  require(memcmp(mac, header + checked, CHECKSUM_BYTES) == 0, "header checksum");

  uint16_t counts[2];
  memcpy(counts, header + SLOT_COUNT_OFFSET, sizeof counts);
  require(counts[1] == 1, "one epoch");
  bound_header bound = {header, "SSNTDBS1 slot"};
  const uint8_t *at = header + SLOTS_OFFSET;
  at += unwrap_store_key(store_key, at, counts[0], bound, key_path);
  require(unwrap_key(index_key, at, store_key, bound, "index", 5), "index key");
  at += WRAPPED_KEY_BYTES;
  uint8_t binding[8] = "data";
  memcpy(binding + 4, at, 4);
  memcpy(&keys->epoch, at, 4);
  require(unwrap_key(data_key, at + 8, store_key, bound, binding, 8), "data key");
  derive_key(header_key, 1, store_key);
  crypto_generichash(mac, MAC_BYTES, header, bytes - MAC_BYTES, header_key, 32);
  require(sodium_memcmp(mac, header + bytes - MAC_BYTES, MAC_BYTES) == 0, "header MAC");

  memcpy(keys->header_mac, mac, MAC_BYTES);
  memcpy(keys->store, header + STORE_OFFSET, 16);
  derive_key(keys->group_key, 2, index_key);
  derive_key(keys->namespace_key, 3, index_key);
  derive_key(keys->shard_key, 4, index_key);
  derive_key(keys->tag_key, 5, index_key);
  derive_key(keys->value_key, 3, data_key);
  derive_key(keys->name_key, 5, data_key);
}

// MARK: addresses

static void hash(uint8_t out[16], const uint8_t *bytes, size_t count, const uint8_t key[32]) {
  crypto_generichash(out, 16, bytes, count, key, 32);
}

// The length of a part of a canonical name.
static size_t part_bytes(const uint8_t *part) {
  uint32_t length = 0;
  if (part[0]) memcpy(&length, part + 1, 4);
  return part[0] ? 5 + (size_t)length : 1;
}

row_address row_address_of(const row_keys *keys, const uint8_t *canonical, size_t canonical_bytes) {
  row_address made;
  uint8_t half[16];
  size_t group_bytes = part_bytes(canonical);
  group_bytes += part_bytes(canonical + group_bytes);
  size_t namespace_bytes = group_bytes + part_bytes(canonical + group_bytes);
  hash(half, canonical, group_bytes, keys->group_key);
  memcpy(made.namespace, half, 8);
  hash(half, canonical, namespace_bytes, keys->namespace_key);
  memcpy(made.namespace + 8, half, 8);
  hash(made.tag, canonical, canonical_bytes, keys->tag_key);
  hash(half, canonical, canonical_bytes, keys->shard_key);
  memcpy(&made.shard, half, 2);
  return made;
}

// MARK: rows

static void associate(
  const row_keys *keys, const row_fields *fields, uint8_t out[ASSOCIATED_BYTES]
) {
  memcpy(out, "SSNTDBI1", 8);
  memcpy(out + 8, keys->store, 16);
  memcpy(out + 24, fields->address.namespace, 16);
  memcpy(out + 40, &fields->address.shard, 2);
  memcpy(out + 42, fields->address.tag, 16);
  memcpy(out + 58, &fields->version, 8);
  memcpy(out + 66, &fields->epoch, 4);
  out[70] = fields->is_gone;
  memcpy(out + 71, fields->write, WRITE_BYTES);
}

void row_seal(
  const row_keys *keys, const row_fields *fields, const uint8_t *canonical, size_t canonical_bytes,
  const uint8_t *value, sealed_row *out
) {
  uint8_t data[ASSOCIATED_BYTES];
  uint32_t length = VALUE_BYTES;
  size_t name_bytes = SEALED_NAME_BYTES - TAG_BYTES, value_bytes = SEALED_VALUE_BYTES - TAG_BYTES;
  require(canonical_bytes <= name_bytes, "the length of a name");
  memset(out, 0, sizeof *out);
  randombytes_buf(out->nonce, NONCE_BYTES);
  memcpy(out->name, canonical, canonical_bytes);
  memcpy(out->value, &length, 4);
  memcpy(out->value + 4, value, VALUE_BYTES);
  associate(keys, fields, data);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    out->name, NULL, out->name, name_bytes, data, sizeof data, NULL, out->nonce, keys->name_key);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    out->value, NULL, out->value, value_bytes, data, sizeof data, NULL, out->nonce,
    keys->value_key);
}

void row_open_value(
  const row_keys *keys, const row_fields *fields, const uint8_t *nonce, const uint8_t *sealed,
  size_t sealed_bytes, uint8_t value[VALUE_BYTES]
) {
  uint8_t data[ASSOCIATED_BYTES], text[SEALED_VALUE_BYTES];
  uint32_t length;
  require(sealed_bytes == SEALED_VALUE_BYTES, "the length of a sealed value");
  associate(keys, fields, data);
  int opened = crypto_aead_xchacha20poly1305_ietf_decrypt(
    text, NULL, NULL, sealed, sealed_bytes, data, sizeof data, nonce, keys->value_key);
  memcpy(&length, text, 4);
  require(opened == 0 && length == VALUE_BYTES && !fields->is_gone, "the value does not open");
  memcpy(value, text + 4, VALUE_BYTES);
}

void row_open_name(
  const row_keys *keys, const row_fields *fields, const uint8_t *nonce, const uint8_t *sealed,
  size_t sealed_bytes, uint8_t canonical[SEALED_NAME_BYTES]
) {
  uint8_t data[ASSOCIATED_BYTES];
  require(sealed_bytes == SEALED_NAME_BYTES, "the length of a sealed name");
  associate(keys, fields, data);
  int opened = crypto_aead_xchacha20poly1305_ietf_decrypt(
    canonical, NULL, NULL, sealed, sealed_bytes, data, sizeof data, nonce, keys->name_key);
  require(opened == 0, "the name does not open");
  size_t canonical_bytes = 0;
  for (int part = 0; part < 4; part += 1) {
    canonical_bytes += part_bytes(canonical + canonical_bytes);
  }
  row_address address = row_address_of(keys, canonical, canonical_bytes);
  require(memcmp(&address, &fields->address, sizeof address) == 0, "the name of another item");
}
