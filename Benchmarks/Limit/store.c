#define _GNU_SOURCE
#include "store.h"
#include "wrapping.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the lower bound is for little-endian machines"
#endif

enum {
  CHUNK_BYTES = 256 << 10,
  PAGE_BYTES = 4096,
  NAME_STEP = 64,
  SMALLEST_VALUE_BYTES = 64,
  // Offsets in the journal's head.
  JOURNAL_ID_OFFSET = 32,
  VERSION_OFFSET = 48,
  PREDECESSOR_OFFSET = 56,
  HEAD_CHAIN_OFFSET = 72,
  // The input of a record's chain value: the previous chain value, and the record's first 32 bytes,
  // its nonce and both authentication tags.
  CHAINED_NAME_OFFSET = 16 + CHAIN_OFFSET,
  CHAINED_VALUE_OFFSET = CHAINED_NAME_OFFSET + TAG_BYTES,
  CHAINED_BYTES = CHAINED_VALUE_OFFSET + TAG_BYTES,
  // More places of the index than a processor fetches at the same time.
  PENDING_COUNT = 32,
};

static const char service[] = "com.example.benchmark";

void require(int condition, const char *what) {
  if (condition) return;
  perror(what);
  exit(1);
}

// MARK: keys

static size_t read_file(const store *store, const char *name, uint8_t *out, size_t most) {
  int file = openat(store->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  require(file >= 0, name);
  ssize_t count = pread(file, out, most, 0);
  require(count >= 0, name);
  close(file);
  return (size_t)count;
}

static void derive_short(uint8_t out[16], uint64_t id, const uint8_t key[32]) {
  uint8_t whole[32];
  derive_key(whole, id, key);
  memcpy(out, whole, 16);
}

static void unwrap_keys(store *store, const char *key_path) {
  uint8_t store_key[32], data_key[32], header_key[32];
  uint8_t header[4096], mac[32];
  size_t length = read_file(store, "header", header, sizeof header);
  require(length > 32 && length < sizeof header, "header");
  crypto_generichash(mac, 16, header, length - 48, NULL, 0);
  require(memcmp(mac, header + length - 48, 16) == 0, "header checksum");

  bound_header bound = {header, "SSNTOOLS slot"};
  const uint8_t *slots = header + 32;
  size_t slots_bytes =
    unwrap_store_key(store_key, slots, header[10] | header[11] << 8, bound, key_path);
  require(unwrap_key(data_key, slots + slots_bytes, store_key, bound, "data", 4), "data key");
  derive_key(header_key, 1, store_key);
  crypto_generichash(mac, 32, header, length - 32, header_key, 32);
  require(sodium_memcmp(mac, header + length - 32, 32) == 0, "header MAC");
  derive_short(store->tag_key, 2, data_key);
  derive_key(store->value_key, 3, data_key);
  derive_short(store->chain_key, 4, data_key);
  derive_key(store->name_key, 5, data_key);
  derive_short(store->mask_key, 6, data_key);
}

// MARK: opening

static file_identity identity_of(int file) {
  struct stat status;
  require(fstat(file, &status) == 0, "fstat");
  return (file_identity){status.st_ino, status.st_dev};
}

void store_open(store *store, const char *path, const char *key_path) {
  require(sodium_init() >= 0, "libsodium");
  store->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  require(store->directory >= 0, path);
  unwrap_keys(store, key_path);
  store->journal = openat(store->directory, "journal", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  store->mark = openat(store->directory, "mark", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  store->lock = openat(store->directory, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  require(store->journal >= 0 && store->mark >= 0 && store->lock >= 0, path);

  store->journal_file = identity_of(store->journal);
  store->mark_file = identity_of(store->mark);
  store->lock_file = identity_of(store->lock);
  store->looked_at = 0;

  uint8_t head[HEAD_BYTES], chain[16];
  require(pread(store->journal, head, HEAD_BYTES, 0) == HEAD_BYTES, "journal");
  crypto_shorthash_siphashx24(chain, head, HEAD_CHAIN_OFFSET, store->chain_key);
  require(memcmp(chain, head + HEAD_CHAIN_OFFSET, 16) == 0, "journal head");
  memcpy(store->journal_id, head + JOURNAL_ID_OFFSET, 16);
  memcpy(store->chain, chain, 16);
  memcpy(&store->version, head + VERSION_OFFSET, 8);
  // The first change of a journal that has a predecessor does not change the store.
  if (!sodium_is_zero(head + PREDECESSOR_OFFSET, 16)) store->version -= 1;
  store->end = HEAD_BYTES;
  store->chain_at = HEAD_CHAIN_OFFSET;
  store->number = 0;
}

void store_close(store *store) {
  close(store->directory);
  close(store->journal);
  close(store->mark);
  close(store->lock);
}

window window_of(int file) {
  window made = {file, aligned_alloc(PAGE_BYTES, CHUNK_BYTES), 0, 0};
  require(made.bytes != NULL, "memory");
  return made;
}

uint8_t *window_at(window *window, uint64_t offset, uint64_t count) {
  if (offset < window->start || offset + count > window->start + window->count) {
    // The kernel copies whole pages to whole pages fastest.
    window->start = offset & ~(uint64_t)(PAGE_BYTES - 1);
    ssize_t got = pread(window->file, window->bytes, CHUNK_BYTES, (off_t)window->start);
    require(got >= 0 && window->start + (uint64_t)got >= offset + count, "journal");
    window->count = (uint64_t)got;
  }
  return window->bytes + (offset - window->start);
}

// Requires only zeros between the end of the records and the end of the file.
static void check_reserve(const store *store, window *window) {
  for (uint64_t at = store->end; at < store->length; at += PAGE_BYTES) {
    uint64_t left = store->length - at, count = left < PAGE_BYTES ? left : PAGE_BYTES;
    const uint8_t *bytes = window_at(window, at, count);
    require(bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0, "behind the end");
  }
}

// Returns a record's kind and writes the tag of its item, both from the prefix.
static int unmask(const store *store, const uint8_t *prefix, uint64_t tag[2]) {
  uint64_t mask[2], masked[2];
  crypto_shorthash_siphashx24(
    (uint8_t *)mask, prefix + BOUND_BYTES, NONCE_BYTES, store->mask_key);
  memcpy(masked, prefix + 16, 16);
  masked[0] ^= mask[0];
  masked[1] ^= mask[1];
  tag[0] = masked[0] >> 8 | masked[1] << 56;
  tag[1] = masked[1] >> 8;
  return (int)(masked[0] & 0xff);
}

// Puts the entries whose places were fetched ahead into the index.
static void put_pending(item_index *index, const entry *pending, size_t *count) {
  for (size_t at = 0; at < *count; at += 1) index_put(index, pending + at);
  *count = 0;
}

void store_walk(store *store, item_index *index) {
  uint8_t *mark = store->seen_mark, check[16];
  uint64_t length, version;
  require(pread(store->mark, mark, MARK_BYTES, 0) == MARK_BYTES, "mark");
  crypto_shorthash_siphashx24(check, mark, 48, store->chain_key);
  require(memcmp(check, mark + 48, 16) == 0, "mark");
  require(memcmp(mark, store->journal_id, 16) == 0, "the mark of another journal");
  memcpy(&length, mark + 16, 8);
  memcpy(&version, mark + 24, 8);
  struct stat status;
  require(fstat(store->journal, &status) == 0, "journal");
  store->length = (uint64_t)status.st_size;
  require(length <= store->length, "the mark is ahead of the journal");

  window window = window_of(store->journal);
  uint8_t input[CHAINED_BYTES];
  memcpy(input, store->chain, 16);
  entry pending[PENDING_COUNT];
  size_t pending_count = 0;
  int is_in_change = 0;
  while (store->end < length) {
    const uint8_t *prefix = window_at(&window, store->end, PREFIX_BYTES);
    uint32_t lengths[2];
    uint64_t number;
    memcpy(lengths, prefix, 8);
    memcpy(&number, prefix + 8, 8);
    require(number == store->number + 1, "record number");
    uint64_t bytes = PREFIX_BYTES + (uint64_t)lengths[0] + lengths[1];
    uint64_t name_end = store->end + PREFIX_BYTES + lengths[0], end = store->end + bytes;
    entry entry = {.offset = store->end, .record_bytes = bytes, .number_low = number};
    int kind = unmask(store, prefix, entry.tag);
    require(is_in_change != !!(kind & KIND_FIRST), "the kind of a record");
    require(!(kind & KIND_REMOVED), "the measured journals have no removals");
    is_in_change = !(kind & KIND_LAST);
    store->version += !is_in_change;
    memcpy(input + 16, prefix, CHAIN_OFFSET);
    memcpy(store->chain, prefix + CHAIN_OFFSET, 16);

    memcpy(
      input + CHAINED_NAME_OFFSET, window_at(&window, name_end - TAG_BYTES, TAG_BYTES), TAG_BYTES);
    memcpy(input + CHAINED_VALUE_OFFSET, window_at(&window, end - TAG_BYTES, TAG_BYTES), TAG_BYTES);
    crypto_shorthash_siphashx24(check, input, CHAINED_BYTES, store->chain_key);
    require(memcmp(check, store->chain, 16) == 0, "chain");
    memcpy(input, store->chain, 16);
    // Room for as many records as fit if all are as long as the first.
    if (index && number == 1) index_reserve(index, (length - HEAD_BYTES) / bytes + 1);
    if (index) {
      index_fetch(index, entry.tag);
      pending[pending_count] = entry;
      pending_count += 1;
      if (pending_count == PENDING_COUNT) put_pending(index, pending, &pending_count);
    }
    store->chain_at = store->end + CHAIN_OFFSET;
    store->end = end;
    store->number = number;
  }
  if (index) put_pending(index, pending, &pending_count);
  require(
    store->end == length && store->version == version && !is_in_change
      && memcmp(mark + 32, store->chain, 16) == 0,
    "the journal differs from the mark");
  check_reserve(store, &window);
  free(window.bytes);
}

// MARK: records

size_t canonical_name(uint8_t *out, const char *identifier, size_t identifier_bytes) {
  uint32_t length = sizeof service - 1;
  uint8_t *at = out;
  *at++ = 1;
  memcpy(at, &length, 4);
  memcpy(at + 4, service, length);
  at += 4 + length;
  *at++ = 0;
  *at++ = 0;
  *at++ = 1;
  length = (uint32_t)identifier_bytes;
  memcpy(at, &length, 4);
  memcpy(at + 4, identifier, length);
  return (size_t)(at + 4 + length - out);
}

static size_t padded_name(size_t length) {
  if (length == 0) return NAME_STEP;
  return (length + NAME_STEP - 1) & ~(size_t)(NAME_STEP - 1);
}

static size_t padded_value(size_t value_bytes) {
  size_t length = 4 + value_bytes;
  if (length < SMALLEST_VALUE_BYTES) length = SMALLEST_VALUE_BYTES;
  int exponent = 63 - __builtin_clzl(length);
  int kept = 63 - __builtin_clzl((unsigned long)exponent) + 1;
  size_t mask = ((size_t)1 << (exponent - kept)) - 1;
  return (length + mask) & ~mask;
}

size_t sealed_name_bytes(size_t canonical_bytes) {
  return padded_name(canonical_bytes) + TAG_BYTES;
}

size_t record_bytes(size_t canonical_bytes, size_t value_bytes) {
  return PREFIX_BYTES + sealed_name_bytes(canonical_bytes) + padded_value(value_bytes) + TAG_BYTES;
}

void item_tag(
  const store *store, const uint8_t *canonical, size_t canonical_bytes, uint64_t tag[2]
) {
  crypto_shorthash_siphashx24((uint8_t *)tag, canonical, canonical_bytes, store->tag_key);
  tag[1] &= UINT64_MAX >> 8;
}

// Writes the associated data of both sealed parts of a record.
static void associate(const store *store, const uint8_t *record, uint8_t out[16 + BOUND_BYTES]) {
  memcpy(out, store->journal_id, 16);
  memcpy(out + 16, record, BOUND_BYTES);
}

size_t seal_plain(
  store *store, uint8_t *out, const uint8_t *nonce, int kind, const uint64_t tag[2],
  const plain_record *plain
) {
  uint32_t lengths[2] = {
    (uint32_t)plain->name_bytes + TAG_BYTES, (uint32_t)plain->value_bytes + TAG_BYTES};
  uint64_t number = store->number + 1, masked[2];
  crypto_shorthash_siphashx24((uint8_t *)masked, nonce, NONCE_BYTES, store->mask_key);
  masked[0] ^= (uint64_t)kind | tag[0] << 8;
  masked[1] ^= tag[0] >> 56 | tag[1] << 8;
  memcpy(out, lengths, 8);
  memcpy(out + 8, &number, 8);
  memcpy(out + 16, masked, 16);
  memcpy(out + BOUND_BYTES, nonce, NONCE_BYTES);

  uint8_t data[16 + BOUND_BYTES], input[CHAINED_BYTES];
  uint8_t *name = out + PREFIX_BYTES, *value = name + lengths[0], *end = value + lengths[1];
  associate(store, out, data);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    name, NULL, plain->name, plain->name_bytes, data, sizeof data, NULL, nonce, store->name_key);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    value, NULL, plain->value, plain->value_bytes, data, sizeof data, NULL, nonce,
    store->value_key);

  memcpy(input, store->chain, 16);
  memcpy(input + 16, out, CHAIN_OFFSET);
  memcpy(input + CHAINED_NAME_OFFSET, value - TAG_BYTES, TAG_BYTES);
  memcpy(input + CHAINED_VALUE_OFFSET, end - TAG_BYTES, TAG_BYTES);
  crypto_shorthash_siphashx24(store->chain, input, CHAINED_BYTES, store->chain_key);
  memcpy(out + CHAIN_OFFSET, store->chain, 16);
  store->chain_at = store->end + CHAIN_OFFSET;
  store->end += (uint64_t)(end - out);
  store->number = number;
  return (size_t)(end - out);
}

size_t seal_record_with(
  store *store, uint8_t *out, const uint8_t *nonce, int kind, const uint8_t *canonical,
  size_t canonical_bytes, const uint8_t *value, size_t value_bytes
) {
  uint8_t *name = out + PREFIX_BYTES, *content = name + sealed_name_bytes(canonical_bytes);
  plain_record plain = {name, content, padded_name(canonical_bytes), padded_value(value_bytes)};
  uint32_t length = (uint32_t)value_bytes;
  uint64_t tag[2];
  item_tag(store, canonical, canonical_bytes, tag);
  memcpy(name, canonical, canonical_bytes);
  memcpy(content, &length, 4);
  memcpy(content + 4, value, value_bytes);
  return seal_plain(store, out, nonce, kind, tag, &plain);
}

size_t seal_record(
  store *store, uint8_t *out, int kind, const uint8_t *canonical, size_t canonical_bytes,
  const uint8_t *value, size_t value_bytes
) {
  uint8_t nonce[NONCE_BYTES];
  randombytes_buf(nonce, NONCE_BYTES);
  return seal_record_with(store, out, nonce, kind, canonical, canonical_bytes, value, value_bytes);
}

// Opens a part of a record in place.
static void open_part(
  const store *store, const uint8_t *record, uint8_t *part, uint32_t bytes, const uint8_t *key
) {
  uint8_t data[16 + BOUND_BYTES];
  associate(store, record, data);
  int opened = crypto_aead_xchacha20poly1305_ietf_decrypt(
    part, NULL, NULL, part, bytes, data, sizeof data, record + BOUND_BYTES, key);
  require(opened == 0, "the record does not open");
}

// Reads the lengths of both sealed parts of an entry's record.
static void load_lengths(const uint8_t *record, const entry *entry, uint32_t lengths[2]) {
  memcpy(lengths, record, 8);
  require(
    memcmp(record + 8, &entry->number_low, 4) == 0
      && PREFIX_BYTES + lengths[0] + lengths[1] == entry->record_bytes,
    "the record of another item");
}

// Returns the length of the canonical name at the beginning of a name.
static size_t parsed_canonical_bytes(const uint8_t *name, size_t name_bytes) {
  size_t at = 0;
  for (int part = 0; part < 4; part += 1) {
    uint32_t length = 0;
    if (name[at]) memcpy(&length, name + at + 1, 4);
    at += name[at] ? 5 + (size_t)length : 1;
  }
  require(at <= name_bytes, "a name");
  return at;
}

size_t open_name(const store *store, uint8_t *record, const entry *entry) {
  uint32_t lengths[2];
  uint64_t tag[2];
  uint8_t *name = record + PREFIX_BYTES;
  load_lengths(record, entry, lengths);
  open_part(store, record, name, lengths[0], store->name_key);
  size_t canonical_bytes = parsed_canonical_bytes(name, lengths[0] - TAG_BYTES);
  item_tag(store, name, canonical_bytes, tag);
  require(memcmp(tag, entry->tag, 16) == 0, "the name of another item");
  return canonical_bytes;
}

const uint8_t *open_record(
  const store *store, uint8_t *record, const entry *entry, size_t value_bytes
) {
  uint32_t lengths[2], length;
  uint64_t tag[2];
  load_lengths(record, entry, lengths);
  unmask(store, record, tag);
  require(memcmp(tag, entry->tag, 16) == 0, "the record of another item");
  uint8_t *value = record + PREFIX_BYTES + lengths[0];
  open_part(store, record, value, lengths[1], store->value_key);
  memcpy(&length, value, 4);
  require(length == value_bytes, "the length of a value");
  return value + 4;
}

plain_record open_plain(const store *store, uint8_t *record, const entry *entry) {
  uint32_t lengths[2];
  open_name(store, record, entry);
  memcpy(lengths, record, 8);
  uint8_t *name = record + PREFIX_BYTES, *value = name + lengths[0];
  open_part(store, record, value, lengths[1], store->value_key);
  return (plain_record){name, value, lengths[0] - TAG_BYTES, lengths[1] - TAG_BYTES};
}

void store_successor(store *next, const store *store) {
  *next = *store;
  uint8_t head[HEAD_BYTES];
  require(pread(store->journal, head, HEAD_BYTES, 0) == HEAD_BYTES, "journal");
  randombytes_buf(next->journal_id, 16);
  memcpy(head + JOURNAL_ID_OFFSET, next->journal_id, 16);
  memcpy(head + VERSION_OFFSET, &store->version, 8);
  crypto_generichash(head + PREDECESSOR_OFFSET, 16, store->seen_mark, MARK_BYTES, NULL, 0);
  crypto_shorthash_siphashx24(next->chain, head, HEAD_CHAIN_OFFSET, store->chain_key);
  memcpy(head + HEAD_CHAIN_OFFSET, next->chain, 16);
  next->end = HEAD_BYTES;
  next->chain_at = HEAD_CHAIN_OFFSET;
  next->number = 0;
  next->journal =
    openat(store->directory, "journal.next", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  require(next->journal >= 0, "journal.next");
  require(pwrite(next->journal, head, HEAD_BYTES, 0) == HEAD_BYTES, "journal.next");
}

void encode_mark(const store *store, uint8_t out[MARK_BYTES]) {
  memcpy(out, store->journal_id, 16);
  memcpy(out + 16, &store->end, 8);
  memcpy(out + 24, &store->version, 8);
  memcpy(out + 32, store->chain, 16);
  crypto_shorthash_siphashx24(out + 48, out, 48, store->chain_key);
}

void store_in_memory(store *store) {
  require(sodium_init() >= 0, "libsodium");
  memset(store, 0, sizeof *store);
  randombytes_buf(store->name_key, sizeof store->name_key);
  randombytes_buf(store->value_key, sizeof store->value_key);
  randombytes_buf(store->tag_key, sizeof store->tag_key);
  randombytes_buf(store->mask_key, sizeof store->mask_key);
  randombytes_buf(store->chain_key, sizeof store->chain_key);
  randombytes_buf(store->journal_id, sizeof store->journal_id);
}

// MARK: index

static const uint32_t free_slot = UINT32_MAX;

static index_slot *slot_of(const item_index *index, const uint64_t tag[2]) {
  size_t mask = index->slot_count - 1, at = tag[0] & mask;
  for (;; at = (at + 1) & mask) {
    index_slot *slot = index->slots + at;
    if (slot->position == free_slot) return slot;
    if (slot->hint != (uint32_t)tag[1]) continue;
    const entry *found = index->entries + slot->position;
    if (found->tag[0] == tag[0] && found->tag[1] == tag[1]) return slot;
  }
}

void index_reserve(item_index *index, size_t count) {
  size_t slot_count = 1024;
  while (slot_count * 3 < count * 4) slot_count *= 2;
  if (slot_count <= index->slot_count) return;
  index->entries = realloc(index->entries, slot_count * sizeof(entry));
  index->slots = realloc(index->slots, slot_count * sizeof(index_slot));
  require(index->entries != NULL && index->slots != NULL, "memory");
  index->slot_count = slot_count;
  memset(index->slots, 0xff, slot_count * sizeof(index_slot));
  for (size_t at = 0; at < index->count; at += 1) {
    const uint64_t *tag = index->entries[at].tag;
    *slot_of(index, tag) = (index_slot){(uint32_t)at, (uint32_t)tag[1]};
  }
}

void index_put(item_index *index, const entry *new_entry) {
  index_reserve(index, index->count + 1);
  index_slot *slot = slot_of(index, new_entry->tag);
  if (slot->position == free_slot) {
    *slot = (index_slot){(uint32_t)index->count, (uint32_t)new_entry->tag[1]};
    index->count += 1;
  }
  index->entries[slot->position] = *new_entry;
}

void index_fetch(const item_index *index, const uint64_t tag[2]) {
  __builtin_prefetch(index->slots + (tag[0] & (index->slot_count - 1)), 1);
}

const entry *index_find(const item_index *index, const uint64_t tag[2]) {
  uint32_t position = slot_of(index, tag)->position;
  return position == free_slot ? NULL : index->entries + position;
}

void index_free(item_index *index) {
  free(index->slots);
  free(index->entries);
  *index = (item_index){0};
}
