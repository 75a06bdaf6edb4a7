// The parts of the sealed file store, format 1, that the lower bound needs, with only libsodium and
// system calls. Any error ends the program: this code measures, it does not protect secrets.

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
  LARGEST_CANONICAL_BYTES = 128,
};

enum { KIND_REMOVED = 1, KIND_FIRST = 2, KIND_LAST = 4 };

// The place of an item's newest record. The last byte of the tag is zero.
typedef struct {
  uint64_t tag[2];
  uint64_t offset;
  uint32_t record_bytes;
  uint32_t number_low;
} entry;

// The position of an entry, and a part of its tag.
typedef struct {
  uint32_t position;
  uint32_t hint;
} index_slot;

// The entries in an array, and a table of slots with open addressing.
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
  // The mark as it was last seen or written.
  uint8_t seen_mark[MARK_BYTES];
  int directory;
  int journal;
  int mark;
  int lock;
  file_identity journal_file, mark_file, lock_file;
  // When the names were last looked at, by the coarse clock.
  uint64_t looked_at;
  // The length of the journal's file. The bytes behind the end are the reserve: zeros.
  uint64_t length;
  // The last record: its end, the offset of its chain value, and its number; the number of changes.
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

// Prints a message and ends the program if a condition is not met.
void require(int condition, const char *what);

// Unwraps the keys with a raw key slot and opens the files. It does not walk the journal.
void store_open(store *store, const char *path, const char *key_path);
// Walks the journal from the head to the mark and checks the chain and the reserve. Fills the index
// unless it is NULL.
void store_walk(store *store, item_index *index);
void store_close(store *store);

window window_of(int file);
// Returns a range of the file, and reads it if it is not in the window.
uint8_t *window_at(window *window, uint64_t offset, uint64_t count);

// Writes service, identifier and no other part as a canonical name, and returns its length.
size_t canonical_name(uint8_t *out, const char *identifier, size_t identifier_bytes);
// Returns the length of the sealed name of a record.
size_t sealed_name_bytes(size_t canonical_bytes);
// Returns the length of a record.
size_t record_bytes(size_t canonical_bytes, size_t value_bytes);
// Seals a record into memory of zeros, makes it the end of the store, and returns its length.
size_t seal_record(
  store *store, uint8_t *out, int kind, const uint8_t *canonical, size_t canonical_bytes,
  const uint8_t *value, size_t value_bytes);
// Does the same with a nonce that must not be used for any other record.
size_t seal_record_with(
  store *store, uint8_t *out, const uint8_t *nonce, int kind, const uint8_t *canonical,
  size_t canonical_bytes, const uint8_t *value, size_t value_bytes);
// Does the same with a name and value that are already padded, maybe in place in the record.
size_t seal_plain(
  store *store, uint8_t *out, const uint8_t *nonce, int kind, const uint64_t tag[2],
  const plain_record *plain);
// Opens the name of a record in place and checks that it is the entry's. Returns the length of its
// canonical name, which is now at the sealed name's place.
size_t open_name(const store *store, uint8_t *record, const entry *entry);
// Opens the value of a record in place and checks its item and length.
const uint8_t *open_record(
  const store *store, uint8_t *record, const entry *entry, size_t value_bytes);
// Opens name and value of a record in place.
plain_record open_plain(const store *store, uint8_t *record, const entry *entry);

// Begins `journal.next`, an empty journal that is to replace the store's.
void store_successor(store *next, const store *store);

void item_tag(
  const store *store, const uint8_t *canonical, size_t canonical_bytes, uint64_t tag[2]);
// Encodes the mark for the store's end.
void encode_mark(const store *store, uint8_t out[MARK_BYTES]);

void index_reserve(item_index *index, size_t count);
void index_put(item_index *index, const entry *new_entry);
// Prefetches an item's place in an index that has room, without waiting for it.
void index_fetch(const item_index *index, const uint64_t tag[2]);
const entry *index_find(const item_index *index, const uint64_t tag[2]);
void index_free(item_index *index);

// Makes a store without files, with random keys, for sealing and opening records.
void store_in_memory(store *store);

// Returns how often this thread has allocated memory, where `allocations.c` is linked.
uint64_t allocation_count(void);
