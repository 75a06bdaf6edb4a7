// The sealed file store, format 1, with libsodium and system calls alone: as much of it as the
// yardstick needs. No error handling beyond leaving: this measures, it does not keep secrets.

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  HEAD_BYTES = 64,
  MARK_BYTES = 64,
  PREFIX_BYTES = 48,
  BOUND_BYTES = 32,
  NONCE_BYTES = 24,
  TAG_BYTES = 16,
  FLAGS_OFFSET = 4,
  VALUE_BYTES = 512,
  LARGEST_KEY_BYTES = 128,
};

enum { FLAG_REMOVED = 1, FLAG_FIRST = 2, FLAG_LAST = 4 };

// Where the newest record of an item is.
typedef struct {
  uint64_t tag[2];
  uint64_t offset;
  uint32_t sealed_bytes;
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

typedef struct store {
  uint8_t name_key[32];
  uint8_t record_key[32];
  uint8_t chain_key[16];
  uint8_t journal_id[16];
  int directory;
  int journal;
  int mark;
  int lock;
  ino_t inode;
  dev_t device;
  // Of the journal's file. What is behind the end is the reserve: zeros.
  uint64_t length;
  // The end of the last record: where it is, number and chain value.
  uint64_t end;
  uint64_t number;
  uint8_t chain[16];
} store;

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
// Walks the journal from the head, checks the chain and the reserve and fills an index, if one is
// given.
void store_walk(store *store, item_index *index);
void store_close(store *store);

window window_of(int file);
// A range of the file, which is read when it is not in the window.
uint8_t *window_at(window *window, uint64_t offset, uint64_t count);

// Writes service, identifier and no other part as a canonical key; its length.
size_t canonical_key(uint8_t *out, const char *identifier, size_t identifier_bytes);
// The length of a record.
size_t record_bytes(size_t key_bytes, size_t value_bytes);
// Seals a record into memory of zeros and makes it the end of the store; its length.
size_t seal_record(
  store *store, uint8_t *out, int flags, const uint8_t *key, size_t key_bytes,
  const uint8_t *value, size_t value_bytes);
// Opens a record in place; its plaintext.
uint8_t *decrypt_record(const store *store, uint8_t *record, const entry *entry);
// Opens a record in place and checks that it is the one of a key; its value.
const uint8_t *open_record(
  const store *store, uint8_t *record, const entry *entry, const uint8_t *key, size_t key_bytes,
  size_t value_bytes);

// Begins `journal.next`, an empty journal of the same store and another identifier.
void store_successor(store *next, const store *store);

void item_tag(const store *store, const uint8_t *key, size_t key_bytes, uint64_t tag[2]);
// What the mark says of the store's end.
void encode_mark(const store *store, uint8_t out[MARK_BYTES]);

void index_reserve(item_index *index, size_t count);
void index_put(item_index *index, const entry *new_entry);
const entry *index_find(const item_index *index, const uint64_t tag[2]);
void index_free(item_index *index);

// A store without files, with random keys, to seal and open records with.
void store_in_memory(store *store);

// How often this thread has asked for memory, where `allocations.c` is linked.
uint64_t allocation_count(void);
