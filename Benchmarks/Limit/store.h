// The sealed file store, format 1, with libsodium and system calls alone: as much of it as the
// yardstick needs. No error handling beyond leaving: this measures, it does not keep secrets.

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  HEAD_BYTES = 88,
  MARK_BYTES = 64,
  PREFIX_BYTES = 72,
  BOUND_BYTES = 32,
  NONCE_BYTES = 24,
  TAG_BYTES = 16,
  CHAIN_OFFSET = BOUND_BYTES + NONCE_BYTES,
  VALUE_BYTES = 512,
  LARGEST_KEY_BYTES = 128,
};

enum { KIND_REMOVED = 1, KIND_FIRST = 2, KIND_LAST = 4 };

// Where the newest record of an item is. The last byte of the tag is zero.
typedef struct {
  uint64_t tag[2];
  uint64_t offset;
  uint32_t record_bytes;
  uint32_t number_low;
} entry;

// Where an entry is, and a part of its tag.
typedef struct {
  uint32_t position;
  uint32_t hint;
} index_slot;

// The entries one behind another, and a table of slots with open addressing.
typedef struct {
  entry *entries;
  size_t count;
  index_slot *slots;
  size_t slot_count;
} item_index;

typedef struct {
  ino_t inode;
  dev_t device;
} file_identity;

typedef struct store {
  uint8_t name_key[32];
  uint8_t value_key[32];
  uint8_t tag_key[16];
  uint8_t mask_key[16];
  uint8_t chain_key[16];
  uint8_t journal_id[16];
  // The mark as it was seen or written last.
  uint8_t seen_mark[MARK_BYTES];
  int directory;
  int journal;
  int mark;
  int lock;
  file_identity journal_file, mark_file, lock_file;
  // When the names were last looked at, by the coarse clock.
  uint64_t looked_at;
  // Of the journal's file. What is behind the end is the reserve: zeros.
  uint64_t length;
  // The end of the last record, where its chain value is, its number, and the number of changes.
  uint64_t end;
  uint64_t chain_at;
  uint64_t number;
  uint64_t version;
  uint8_t chain[16];
} store;

// Name and value of a record with their padding, without their seals.
typedef struct {
  const uint8_t *name, *value;
  size_t name_bytes, value_bytes;
} plain_record;

// A part of a file in memory.
typedef struct {
  int file;
  uint8_t *bytes;
  uint64_t start, count;
} window;

// Leaves with a message when something is not as it has to be.
void require(int condition, const char *what);

// Unwraps the keys with a raw key slot and opens the files; the walk is a call of its own.
void store_open(store *store, const char *path, const char *key_path);
// Walks the journal from the head to the mark, checks the chain and the reserve and fills an index,
// if one is given.
void store_walk(store *store, item_index *index);
void store_close(store *store);

window window_of(int file);
// A range of the file, which is read when it is not in the window.
uint8_t *window_at(window *window, uint64_t offset, uint64_t count);

// Writes service, identifier and no other part as a canonical key; its length.
size_t canonical_key(uint8_t *out, const char *identifier, size_t identifier_bytes);
// The length of the sealed name of a record.
size_t sealed_name_bytes(size_t key_bytes);
// The length of a record.
size_t record_bytes(size_t key_bytes, size_t value_bytes);
// Seals a record into memory of zeros and makes it the end of the store; its length.
size_t seal_record(
  store *store, uint8_t *out, int kind, const uint8_t *key, size_t key_bytes,
  const uint8_t *value, size_t value_bytes);
// The same with a nonce that nothing else was or will be sealed with.
size_t seal_record_with(
  store *store, uint8_t *out, const uint8_t *nonce, int kind, const uint8_t *key,
  size_t key_bytes, const uint8_t *value, size_t value_bytes);
// The same with what is padded already, maybe at its place in the record.
size_t seal_plain(
  store *store, uint8_t *out, const uint8_t *nonce, int kind, const uint64_t tag[2],
  const plain_record *plain);
// Opens the name of a record in place and checks whose it is; the length of the canonical key, which
// is at the sealed name's place.
size_t open_name(const store *store, uint8_t *record, const entry *entry);
// Opens the value of a record in place and checks its item and length.
const uint8_t *open_record(
  const store *store, uint8_t *record, const entry *entry, size_t value_bytes);
// Opens name and value of a record in place.
plain_record open_plain(const store *store, uint8_t *record, const entry *entry);

// Begins `journal.next`, the empty journal that is to take the place of the store's.
void store_successor(store *next, const store *store);

void item_tag(const store *store, const uint8_t *key, size_t key_bytes, uint64_t tag[2]);
// What the mark says of the store's end.
void encode_mark(const store *store, uint8_t out[MARK_BYTES]);

void index_reserve(item_index *index, size_t count);
void index_put(item_index *index, const entry *new_entry);
// Lets the processor fetch an item's place in an index that has room, and does not wait for it.
void index_fetch(const item_index *index, const uint64_t tag[2]);
const entry *index_find(const item_index *index, const uint64_t tag[2]);
void index_free(item_index *index);

// A store without files, with random keys, to seal and open records with.
void store_in_memory(store *store);

// How often this thread has asked for memory, where `allocations.c` is linked.
uint64_t allocation_count(void);
