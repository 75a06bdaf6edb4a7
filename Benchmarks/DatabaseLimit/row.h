// The header and the rows of the sealed database store, format 2, as far as the lower bound needs
// them, with only libsodium. Any error ends the program.

#pragma once

#include "store.h"

enum {
  ADDRESS_HALF_BYTES = 16,
  WRITE_BYTES = 16,
  MAC_BYTES = 32,
  // Of an item of the benchmark: a name of one step, and a value of `VALUE_BYTES`.
  SEALED_NAME_BYTES = 64 + TAG_BYTES,
  SEALED_VALUE_BYTES = 544 + TAG_BYTES,
};

// The keys of an open store, and the epoch that is written.
typedef struct {
  uint8_t store[16];
  uint8_t group_key[32], namespace_key[32], shard_key[32], tag_key[32];
  uint8_t name_key[32], value_key[32];
  // That of the header, which a statement that writes must find there.
  uint8_t header_mac[MAC_BYTES];
  uint32_t epoch;
} row_keys;

typedef struct {
  uint8_t namespace[ADDRESS_HALF_BYTES];
  int16_t shard;
  uint8_t tag[ADDRESS_HALF_BYTES];
} row_address;

// What both sealings of a row bind, besides the store.
typedef struct {
  row_address address;
  int64_t version;
  uint32_t epoch;
  uint8_t is_gone;
  uint8_t write[WRITE_BYTES];
} row_fields;

typedef struct {
  uint8_t nonce[NONCE_BYTES];
  uint8_t name[SEALED_NAME_BYTES];
  uint8_t value[SEALED_VALUE_BYTES];
} sealed_row;

// Unwraps the keys of a header with a raw key slot. The store has one epoch.
void row_keys_open(row_keys *keys, const uint8_t *header, size_t bytes, const char *key_path);
// Computes where the item of a canonical name lies.
row_address row_address_of(const row_keys *keys, const uint8_t *canonical, size_t canonical_bytes);
// Seals name and value with a new nonce.
void row_seal(
  const row_keys *keys, const row_fields *fields, const uint8_t *canonical, size_t canonical_bytes,
  const uint8_t *value, sealed_row *out);
// Opens a sealed value of `VALUE_BYTES`.
void row_open_value(
  const row_keys *keys, const row_fields *fields, const uint8_t *nonce, const uint8_t *sealed,
  size_t sealed_bytes, uint8_t value[VALUE_BYTES]);
// Opens a sealed name and checks that it is that of the row's address.
void row_open_name(
  const row_keys *keys, const row_fields *fields, const uint8_t *nonce, const uint8_t *sealed,
  size_t sealed_bytes, uint8_t canonical[SEALED_NAME_BYTES]);
