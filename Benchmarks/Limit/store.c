#define _GNU_SOURCE
#include "store.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the yardstick is for little-endian machines"
#endif

enum { WRAPPED_BYTES = NONCE_BYTES + 32 + TAG_BYTES, CHUNK_BYTES = 256 << 10, PAGE_BYTES = 4096 };

static const char service[] = "com.example.benchmark";

void require(int condition, const char *what) {
  if (condition) return;
  perror(what);
  exit(1);
}

// MARK: keys

static void derive(uint8_t out[32], uint64_t id, const uint8_t key[32]) {
  crypto_kdf_derive_from_key(out, 32, id, "SSNTOOLS", key);
}

static int unwrap(
  uint8_t out[32], const uint8_t *wrapped, const uint8_t key[32], const uint8_t *header,
  const void *binding, size_t binding_bytes
) {
  uint8_t data[26 + 512];
  require(binding_bytes <= 512, "a slot's parameters");
  memcpy(data, header, 10);
  memcpy(data + 10, header + 16, 16);
  memcpy(data + 26, binding, binding_bytes);
  return crypto_aead_xchacha20poly1305_ietf_decrypt(
    out, NULL, NULL, wrapped + NONCE_BYTES, 32 + TAG_BYTES, data, 26 + binding_bytes, wrapped,
    key) == 0;
}

static size_t read_file(const store *store, const char *name, uint8_t *out, size_t most) {
  int file = openat(store->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  require(file >= 0, name);
  ssize_t count = pread(file, out, most, 0);
  require(count >= 0, name);
  close(file);
  return (size_t)count;
}

static void unwrap_keys(store *store, const char *key_path) {
  uint8_t raw_key[32], store_key[32], data_key[32], header_key[32], chain_key[32];
  int key_file = open(key_path, O_RDONLY | O_CLOEXEC);
  require(key_file >= 0 && read(key_file, raw_key, 32) == 32, "key file");
  close(key_file);

  uint8_t header[4096], mac[32];
  size_t length = read_file(store, "header", header, sizeof header);
  require(length > 32 && length < sizeof header, "header");
  crypto_generichash(mac, 16, header, length - 48, NULL, 0);
  require(memcmp(mac, header + length - 48, 16) == 0, "header checksum");

  int slot_count = header[10] | header[11] << 8, is_found = 0;
  size_t offset = 32;
  for (int slot = 0; slot < slot_count; slot += 1) {
    size_t leading = 4 + (size_t)(header[offset + 2] | header[offset + 3] << 8);
    is_found = is_found || (header[offset] == 1
      && unwrap(store_key, header + offset + leading, raw_key, header, header + offset, leading));
    offset += leading + WRAPPED_BYTES;
  }
  require(is_found, "no raw key slot opens");
  require(unwrap(data_key, header + offset, store_key, header, "data", 4), "data key");
  derive(header_key, 1, store_key);
  crypto_generichash(mac, 32, header, length - 32, header_key, 32);
  require(sodium_memcmp(mac, header + length - 32, 32) == 0, "header MAC");
  derive(store->name_key, 2, data_key);
  derive(store->record_key, 3, data_key);
  derive(chain_key, 4, data_key);
  memcpy(store->chain_key, chain_key, 16);
}

// MARK: opening

void store_open(store *store, const char *path, const char *key_path) {
  require(sodium_init() >= 0, "libsodium");
  store->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  require(store->directory >= 0, path);
  unwrap_keys(store, key_path);
  store->journal = openat(store->directory, "journal", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  store->mark = openat(store->directory, "mark", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  store->lock = openat(store->directory, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  require(store->journal >= 0 && store->mark >= 0 && store->lock >= 0, path);

  uint8_t head[HEAD_BYTES], chain[16];
  require(pread(store->journal, head, HEAD_BYTES, 0) == HEAD_BYTES, "journal");
  crypto_shorthash_siphashx24(chain, head, 48, store->chain_key);
  require(memcmp(chain, head + 48, 16) == 0, "journal head");
  memcpy(store->journal_id, head + 32, 16);
  memcpy(store->chain, chain, 16);
  store->end = HEAD_BYTES;
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
    // Whole pages to whole pages, which is what the kernel copies fastest.
    window->start = offset & ~(uint64_t)(PAGE_BYTES - 1);
    ssize_t got = pread(window->file, window->bytes, CHUNK_BYTES, (off_t)window->start);
    require(got >= 0 && window->start + (uint64_t)got >= offset + count, "journal");
    window->count = (uint64_t)got;
  }
  return window->bytes + (offset - window->start);
}

// Nothing but zeros from the end to the end of the file.
static void check_reserve(const store *store, window *window) {
  for (uint64_t at = store->end; at < store->length; at += PAGE_BYTES) {
    uint64_t left = store->length - at, count = left < PAGE_BYTES ? left : PAGE_BYTES;
    const uint8_t *bytes = window_at(window, at, count);
    require(bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0, "behind the end");
  }
}

void store_walk(store *store, item_index *index) {
  uint8_t mark[MARK_BYTES], check[16];
  require(pread(store->mark, mark, MARK_BYTES, 0) == MARK_BYTES, "mark");
  crypto_shorthash_siphashx24(check, mark, 48, store->chain_key);
  require(memcmp(check, mark + 48, 16) == 0, "mark");
  struct stat status;
  require(fstat(store->journal, &status) == 0, "journal");
  store->inode = status.st_ino;
  store->device = status.st_dev;
  store->length = (uint64_t)status.st_size;

  window window = window_of(store->journal);
  if (index) {
    uint64_t record_count;
    memcpy(&record_count, mark + 24, 8);
    index_reserve(index, record_count + 1);
  }
  uint8_t input[64];
  int is_in_change = 0;
  while (is_in_change || store->end + PREFIX_BYTES <= store->length) {
    const uint8_t *prefix = window_at(&window, store->end, PREFIX_BYTES);
    // Here the reserve begins; within a change a record may have no flags.
    if (!is_in_change && prefix[FLAGS_OFFSET] == 0) break;
    uint32_t sealed_bytes;
    uint64_t number;
    uint8_t stored_chain[16];
    memcpy(&sealed_bytes, prefix, 4);
    memcpy(&number, prefix + 8, 8);
    require(number == store->number + 1, "record number");
    entry entry = {.offset = store->end, .sealed_bytes = sealed_bytes, .number_low = number};
    memcpy(entry.tag, prefix + 16, 16);
    int is_removed = prefix[FLAGS_OFFSET] & FLAG_REMOVED;
    is_in_change = !(prefix[FLAGS_OFFSET] & FLAG_LAST);
    memcpy(input, store->chain, 16);
    memcpy(input + 16, prefix, BOUND_BYTES);
    memcpy(stored_chain, prefix + BOUND_BYTES, 16);

    uint64_t end = store->end + PREFIX_BYTES + sealed_bytes;
    memcpy(input + 48, window_at(&window, end - TAG_BYTES, TAG_BYTES), TAG_BYTES);
    crypto_shorthash_siphashx24(store->chain, input, 64, store->chain_key);
    require(memcmp(store->chain, stored_chain, 16) == 0, "chain");
    store->end = end;
    store->number = number;
    require(!is_removed, "the yardstick's journals have no removals");
    if (index) index_put(index, &entry);
    if (memcmp(mark + 16, &store->end, 8) == 0)
      require(memcmp(mark + 32, store->chain, 16) == 0, "mark");
  }
  check_reserve(store, &window);
  free(window.bytes);
}

// MARK: records

size_t canonical_key(uint8_t *out, const char *identifier, size_t identifier_bytes) {
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

static size_t padded(size_t length) {
  if (length < 128) length = 128;
  int exponent = 63 - __builtin_clzl(length);
  int kept = 63 - __builtin_clzl((unsigned long)exponent) + 1;
  size_t mask = ((size_t)1 << (exponent - kept)) - 1;
  return (length + mask) & ~mask;
}

size_t record_bytes(size_t key_bytes, size_t value_bytes) {
  return PREFIX_BYTES + NONCE_BYTES + padded(8 + key_bytes + value_bytes) + TAG_BYTES;
}

void item_tag(const store *store, const uint8_t *key, size_t key_bytes, uint64_t tag[2]) {
  crypto_generichash((uint8_t *)tag, 16, key, key_bytes, store->name_key, 32);
}

size_t seal_record(
  store *store, uint8_t *out, int flags, const uint8_t *key, size_t key_bytes,
  const uint8_t *value, size_t value_bytes
) {
  size_t length = record_bytes(key_bytes, value_bytes);
  uint32_t sealed_bytes = (uint32_t)(length - PREFIX_BYTES);
  uint32_t lengths[2] = {(uint32_t)key_bytes, (uint32_t)value_bytes};
  uint64_t number = store->number + 1, tag[2];
  uint8_t *nonce = out + PREFIX_BYTES, *plaintext = nonce + NONCE_BYTES;
  item_tag(store, key, key_bytes, tag);
  memcpy(out, &sealed_bytes, 4);
  out[FLAGS_OFFSET] = (uint8_t)flags;
  memcpy(out + 8, &number, 8);
  memcpy(out + 16, tag, 16);
  memcpy(plaintext, lengths, 8);
  memcpy(plaintext + 8, key, key_bytes);
  memcpy(plaintext + 8 + key_bytes, value, value_bytes);

  uint8_t data[16 + BOUND_BYTES], input[64];
  memcpy(data, store->journal_id, 16);
  memcpy(data + 16, out, BOUND_BYTES);
  randombytes_buf(nonce, NONCE_BYTES);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    plaintext, NULL, plaintext, sealed_bytes - NONCE_BYTES - TAG_BYTES, data, sizeof data, NULL,
    nonce, store->record_key);

  memcpy(input, store->chain, 16);
  memcpy(input + 16, out, BOUND_BYTES);
  memcpy(input + 48, out + length - TAG_BYTES, TAG_BYTES);
  crypto_shorthash_siphashx24(store->chain, input, 64, store->chain_key);
  memcpy(out + BOUND_BYTES, store->chain, 16);
  store->end += length;
  store->number = number;
  return length;
}

uint8_t *decrypt_record(const store *store, uint8_t *record, const entry *entry) {
  uint8_t data[16 + BOUND_BYTES];
  memcpy(data, store->journal_id, 16);
  memcpy(data + 16, record, BOUND_BYTES);
  uint8_t *nonce = record + PREFIX_BYTES, *plaintext = nonce + NONCE_BYTES;
  int opened = crypto_aead_xchacha20poly1305_ietf_decrypt(
    plaintext, NULL, NULL, plaintext, entry->sealed_bytes - NONCE_BYTES, data, sizeof data, nonce,
    store->record_key);
  require(opened == 0, "the record does not open");
  require(
    memcmp(record + 8, &entry->number_low, 4) == 0 && memcmp(record + 16, entry->tag, 16) == 0,
    "the record of another item");
  return plaintext;
}

const uint8_t *open_record(
  const store *store, uint8_t *record, const entry *entry, const uint8_t *key, size_t key_bytes,
  size_t value_bytes
) {
  const uint8_t *plaintext = decrypt_record(store, record, entry);
  uint32_t lengths[2];
  memcpy(lengths, plaintext, 8);
  require(
    lengths[0] == key_bytes && lengths[1] == value_bytes
      && memcmp(plaintext + 8, key, key_bytes) == 0,
    "the record of another item");
  return plaintext + 8 + key_bytes;
}

void store_successor(store *next, const store *store) {
  *next = *store;
  uint8_t head[HEAD_BYTES];
  require(pread(store->journal, head, HEAD_BYTES, 0) == HEAD_BYTES, "journal");
  randombytes_buf(next->journal_id, 16);
  memcpy(head + 32, next->journal_id, 16);
  crypto_shorthash_siphashx24(head + 48, head, 48, store->chain_key);
  memcpy(next->chain, head + 48, 16);
  next->end = HEAD_BYTES;
  next->number = 0;
  next->journal =
    openat(store->directory, "journal.next", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  require(next->journal >= 0, "journal.next");
  require(pwrite(next->journal, head, HEAD_BYTES, 0) == HEAD_BYTES, "journal.next");
}

void encode_mark(const store *store, uint8_t out[MARK_BYTES]) {
  memcpy(out, store->journal_id, 16);
  memcpy(out + 16, &store->end, 8);
  memcpy(out + 24, &store->number, 8);
  memcpy(out + 32, store->chain, 16);
  crypto_shorthash_siphashx24(out + 48, out, 48, store->chain_key);
}

void store_in_memory(store *store) {
  require(sodium_init() >= 0, "libsodium");
  memset(store, 0, sizeof *store);
  randombytes_buf(store->name_key, sizeof store->name_key);
  randombytes_buf(store->record_key, sizeof store->record_key);
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

const entry *index_find(const item_index *index, const uint64_t tag[2]) {
  uint32_t position = slot_of(index, tag)->position;
  return position == free_slot ? NULL : index->entries + position;
}

void index_free(item_index *index) {
  free(index->slots);
  free(index->entries);
  *index = (item_index){0};
}
