// The lower bound: the bytes and the system calls of the store's operations and nothing else.
//
//   store-limit durable-put DIRECTORY KEYFILE FIRST COUNT   one item at a time, each durable
//   store-limit put-threads DIRECTORY KEYFILE FIRST COUNT   eight threads, each put durable
//   store-limit bulk DIRECTORY KEYFILE FIRST COUNT          all items in one change
//   store-limit get DIRECTORY KEYFILE ITEMS COUNT           random items of 0..<ITEMS
//   store-limit list DIRECTORY KEYFILE ITEMS                the name of every item
//   store-limit remove DIRECTORY KEYFILE FIRST COUNT        one item at a time, each durable
//   store-limit compact DIRECTORY KEYFILE ITEMS             reseal all items in another journal
//   store-limit open DIRECTORY KEYFILE                      open the store, fill the index
//   store-limit check DIRECTORY KEYFILE ITEMS               every item has its value
//
// Prints one line of JSON. The time is that of the operation, by CLOCK_MONOTONIC.

#define _GNU_SOURCE
#include "store.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  char text[24];
  size_t bytes;
} identifier;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static identifier identifier_of(size_t number) {
  identifier made;
  made.bytes = (size_t)snprintf(made.text, sizeof made.text, "item-%07zu", number);
  return made;
}

// The value of item `number`: its number in eight bytes, then a pattern.
static void fill_value(uint8_t *value, uint64_t number) {
  memcpy(value, &number, 8);
  for (size_t at = 8; at < VALUE_BYTES; at += 1) value[at] = (uint8_t)(number + at * 7);
}

static uint8_t *values_of(size_t first, size_t count) {
  uint8_t *values = malloc(count * VALUE_BYTES);
  require(values != NULL, "memory");
  for (size_t at = 0; at < count; at += 1) fill_value(values + at * VALUE_BYTES, first + at);
  return values;
}

static identifier *identifiers_of(size_t first, size_t count) {
  identifier *made = malloc(count * sizeof(identifier));
  require(made != NULL, "memory");
  for (size_t at = 0; at < count; at += 1) made[at] = identifier_of(first + at);
  return made;
}

static void print_time(const char *operation, size_t count, uint64_t nanoseconds) {
  printf(
    "{\"operation\": \"%s\", \"count\": %zu, \"nanoseconds\": %llu}\n", operation, count,
    (unsigned long long)nanoseconds);
}

enum {
  // Larger than any record here.
  MOST_RECORD_BYTES = 2048,
  // The length of a file with a reserve is a multiple of this.
  RESERVE_BYTES = 32 << 10,
  // A removal is as long as what it removes, but no longer than this.
  LARGEST_REMOVED_BYTES = 4096,
  NONCE_COUNT = 128,
};

// MARK: looking

// Requires that a name still leads to a file and returns the file's length.
static uint64_t check_name(const store *store, const char *name, const file_identity *file) {
  struct statx status;
  // Without the times, as the library does: a query for them makes the next sync store them.
  unsigned mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_INO | STATX_SIZE;
  require(statx(store->directory, name, AT_SYMLINK_NOFOLLOW, mask, &status) == 0, name);
  require(
    status.stx_ino == file->inode
      && makedev(status.stx_dev_major, status.stx_dev_minor) == file->device,
    name);
  return status.stx_size;
}

static void check_mark(const store *store) {
  uint8_t mark[MARK_BYTES];
  require(pread(store->mark, mark, MARK_BYTES, 0) == MARK_BYTES, "mark");
  require(memcmp(mark, store->seen_mark, MARK_BYTES) == 0, "the mark was changed");
}

// Makes the checks of a reader: always of the mark, and from time to time of the names.
static void look(store *store) {
  enum { LOOK_NANOSECONDS = 100000000 };
  check_mark(store);
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  uint64_t at = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
  if (at - store->looked_at < LOOK_NANOSECONDS) return;
  store->looked_at = at;
  check_name(store, "journal", &store->journal_file);
  check_name(store, "mark", &store->mark_file);
}

// MARK: writing

static void set_lock(const store *store, short kind) {
  struct flock request = {.l_type = kind, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
  require(fcntl(store->lock, F_OFD_SETLK, &request) == 0, "lock");
}

// Locks, and makes all checks of a writer.
static void begin_writing(const store *store) {
  static const uint8_t zeros[RESERVE_BYTES];
  static uint8_t behind[RESERVE_BYTES];
  uint8_t chain[16];
  // The byte of a writer that has waited for long.
  struct flock turn = {
    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = ((off_t)1 << 62) + 1, .l_len = 1};
  require(fcntl(store->lock, F_OFD_GETLK, &turn) == 0 && turn.l_type == F_UNLCK, "turn");
  set_lock(store, F_WRLCK);
  check_name(store, "lock", &store->lock_file);
  require(
    check_name(store, "journal", &store->journal_file) == store->length, "the journal's length");
  require(check_name(store, "mark", &store->mark_file) == MARK_BYTES, "the mark's length");
  check_mark(store);
  require(pread(store->journal, chain, sizeof chain, (off_t)store->chain_at) == 16, "pread");
  require(memcmp(chain, store->chain, sizeof chain) == 0, "the journal was changed");
  size_t left = store->length - store->end;
  require(left <= RESERVE_BYTES, "the reserve");
  require(pread(store->journal, behind, left, (off_t)store->end) == (ssize_t)left, "pread");
  require(memcmp(behind, zeros, left) == 0, "behind the end");
}

static void end_writing(const store *store) { set_lock(store, F_UNLCK); }

// Returns the next nonce. `missing` records are still to be sealed; their nonces are made together.
static const uint8_t *next_nonce(size_t missing) {
  static uint8_t nonces[NONCE_COUNT][NONCE_BYTES];
  static size_t used, filled;
  if (used == filled) {
    used = 0;
    filled = missing < NONCE_COUNT ? missing : NONCE_COUNT;
    randombytes_buf(nonces, filled * NONCE_BYTES);
  }
  used += 1;
  return nonces[used - 1];
}

static void write_all(int file, const uint8_t *bytes, size_t count, uint64_t start) {
  for (size_t done = 0; done < count;) {
    ssize_t written = pwrite(file, bytes + done, count - done, (off_t)(start + done));
    require(written > 0, "pwrite");
    done += (size_t)written;
  }
}

static void write_mark(store *store) {
  encode_mark(store, store->seen_mark);
  require(pwrite(store->mark, store->seen_mark, MARK_BYTES, 0) == MARK_BYTES, "mark");
}

// The bytes to write for a change: its own length, and a new reserve if it does not fit.
static size_t reserved(const store *store, size_t bytes) {
  uint64_t end = store->end + bytes, mask = RESERVE_BYTES - 1;
  return end <= store->length ? bytes : ((end + mask) & ~mask) - store->end;
}

// Writes a change that was sealed at `start`, maybe followed by zeros, and commits it.
static void commit(store *store, const uint8_t *records, size_t bytes, uint64_t start) {
  write_all(store->journal, records, bytes, start);
  if (start + bytes > store->length) store->length = start + bytes;
  require(fdatasync(store->journal) == 0, "fdatasync");
  store->version += 1;
  write_mark(store);
}

static uint64_t durable_put(store *store, size_t first, size_t count) {
  uint8_t *values = values_of(first, count);
  identifier *names = identifiers_of(first, count);
  uint8_t canonical[LARGEST_CANONICAL_BYTES], record[MOST_RECORD_BYTES + RESERVE_BYTES] = {0};
  uint64_t begin = now();
  for (size_t at = 0; at < count; at += 1) {
    // As in the library's measurement, the first is not timed.
    if (at == 1) begin = now();
    memset(record, 0, MOST_RECORD_BYTES);
    size_t canonical_bytes = canonical_name(canonical, names[at].text, names[at].bytes);
    begin_writing(store);
    uint64_t start = store->end;
    size_t bytes = reserved(store, record_bytes(canonical_bytes, VALUE_BYTES));
    seal_record(
      store, record, KIND_FIRST | KIND_LAST, canonical, canonical_bytes, values + at * VALUE_BYTES,
      VALUE_BYTES);
    commit(store, record, bytes, start);
    end_writing(store);
  }
  return now() - begin;
}

// Puts all items in one change.
static void put_change(
  store *store, const uint8_t *values, const identifier *names, size_t count) {
  uint8_t canonical[LARGEST_CANONICAL_BYTES];
  begin_writing(store);
  uint64_t start = store->end;
  // All identifiers have the same length, so the records do too.
  size_t canonical_bytes = canonical_name(canonical, names[0].text, names[0].bytes);
  size_t bytes = 0, total = count * record_bytes(canonical_bytes, VALUE_BYTES);
  size_t written_bytes = reserved(store, total);
  uint8_t *records = calloc(written_bytes, 1);
  require(records != NULL, "memory");
  for (size_t at = 0; at < count; at += 1) {
    int kind = (at == 0 ? KIND_FIRST : 0) | (at == count - 1 ? KIND_LAST : 0);
    canonical_name(canonical, names[at].text, names[at].bytes);
    bytes += seal_record_with(
      store, records + bytes, next_nonce(count - at), kind, canonical, canonical_bytes,
      values + at * VALUE_BYTES, VALUE_BYTES);
  }
  require(bytes == total, "lengths");
  commit(store, records, written_bytes, start);
  end_writing(store);
  free(records);
}

static uint64_t bulk(store *store, size_t first, size_t count) {
  uint8_t *values = values_of(first, count);
  identifier *names = identifiers_of(first, count);
  uint64_t begin = now();
  put_change(store, values, names, count);
  return now() - begin;
}

// Eight threads share each write: the last to arrive writes for all and wakes the others.
enum { WRITERS = 8 };

static struct {
  store *store;
  const uint8_t *values;
  const identifier *names;
  size_t count;
  atomic_size_t coming;
  atomic_uint written;
} shared;

static void *write_shared(void *unused) {
  (void)unused;
  for (size_t at = 0; at < shared.count; at += WRITERS) {
    unsigned before = atomic_load(&shared.written);
    if (atomic_fetch_add(&shared.coming, 1) == WRITERS - 1) {
      atomic_store(&shared.coming, 0);
      put_change(shared.store, shared.values + at * VALUE_BYTES, shared.names + at, WRITERS);
      atomic_fetch_add(&shared.written, 1);
      syscall(SYS_futex, &shared.written, FUTEX_WAKE_PRIVATE, WRITERS, NULL, NULL, 0);
    } else {
      while (atomic_load(&shared.written) == before)
        syscall(SYS_futex, &shared.written, FUTEX_WAIT_PRIVATE, before, NULL, NULL, 0);
    }
  }
  return NULL;
}

static uint64_t put_threads(store *store, size_t first, size_t count) {
  shared.store = store;
  shared.values = values_of(first, count);
  shared.names = identifiers_of(first, count);
  shared.count = count;
  require(count % WRITERS == 0, "the same number of items for every thread");
  pthread_t threads[WRITERS];
  uint64_t begin = now();
  for (size_t at = 0; at < WRITERS; at += 1)
    require(pthread_create(threads + at, NULL, write_shared, NULL) == 0, "a thread");
  for (size_t at = 0; at < WRITERS; at += 1) pthread_join(threads[at], NULL);
  return now() - begin;
}

static uint64_t remove_each(store *store, const item_index *index, size_t first, size_t count) {
  enum { MOST_BYTES = MOST_RECORD_BYTES + LARGEST_REMOVED_BYTES };
  identifier *names = identifiers_of(first, count);
  uint8_t canonical[LARGEST_CANONICAL_BYTES], nonce[NONCE_BYTES];
  uint8_t record[MOST_BYTES + RESERVE_BYTES] = {0};
  uint64_t begin = now();
  for (size_t at = 0; at < count; at += 1) {
    if (at == 1) begin = now();
    memset(record, 0, MOST_BYTES);
    uint64_t tag[2];
    size_t canonical_bytes = canonical_name(canonical, names[at].text, names[at].bytes);
    begin_writing(store);
    item_tag(store, canonical, canonical_bytes, tag);
    const entry *found = index_find(index, tag);
    require(found != NULL, "the item is missing");
    size_t name_bytes = sealed_name_bytes(canonical_bytes);
    size_t value_bytes = found->record_bytes - PREFIX_BYTES - name_bytes - TAG_BYTES;
    if (value_bytes > LARGEST_REMOVED_BYTES) value_bytes = LARGEST_REMOVED_BYTES;
    uint8_t *name = record + PREFIX_BYTES;
    memcpy(name, canonical, canonical_bytes);
    plain_record plain = {name, name + name_bytes, name_bytes - TAG_BYTES, value_bytes};
    uint64_t start = store->end;
    size_t bytes = reserved(store, PREFIX_BYTES + name_bytes + value_bytes + TAG_BYTES);
    randombytes_buf(nonce, NONCE_BYTES);
    seal_plain(store, record, nonce, KIND_FIRST | KIND_LAST | KIND_REMOVED, tag, &plain);
    commit(store, record, bytes, start);
    end_writing(store);
  }
  return now() - begin;
}

// Writes all records in the journal's order, in one change. No item was put twice.
static uint64_t compact(store *store, const item_index *index) {
  enum { BATCH_BYTES = 1 << 20 };
  require(index->count > 0, "items");
  uint64_t begin = now();
  begin_writing(store);
  require(fdatasync(store->mark) == 0, "mark");
  struct store next;
  store_successor(&next, store);
  window window = window_of(store->journal);
  uint8_t *batch = malloc(BATCH_BYTES);
  require(batch != NULL, "memory");
  size_t filled = 0;
  uint64_t written = HEAD_BYTES;
  for (size_t at = 0; at < index->count; at += 1) {
    const entry *entry = index->entries + at;
    size_t bytes = entry->record_bytes;
    int kind = (at == 0 ? KIND_FIRST : 0) | (at == index->count - 1 ? KIND_LAST : 0);
    plain_record plain = open_plain(store, window_at(&window, entry->offset, bytes), entry);
    if (filled + bytes > BATCH_BYTES) {
      write_all(next.journal, batch, filled, written);
      written += filled;
      filled = 0;
    }
    filled += seal_plain(
      &next, batch + filled, next_nonce(index->count - at), kind, entry->tag, &plain);
  }
  write_all(next.journal, batch, filled, written);
  require(fsync(next.journal) == 0, "journal.next");
  require(renameat(store->directory, "journal.next", store->directory, "journal") == 0, "rename");
  require(fsync(store->directory) == 0, "directory");
  write_mark(&next);
  end_writing(store);
  return now() - begin;
}

// MARK: reading

static uint64_t list(store *store, const item_index *index) {
  uint64_t begin = now();
  look(store);
  window window = window_of(store->journal);
  uint8_t *found = malloc(index->count * LARGEST_CANONICAL_BYTES);
  require(found != NULL, "memory");
  for (size_t at = 0; at < index->count; at += 1) {
    const entry *entry = index->entries + at;
    uint8_t *record = window_at(&window, entry->offset, entry->record_bytes);
    size_t canonical_bytes = open_name(store, record, entry);
    require(canonical_bytes <= LARGEST_CANONICAL_BYTES, "the length of a name");
    memcpy(found + at * LARGEST_CANONICAL_BYTES, record + PREFIX_BYTES, canonical_bytes);
  }
  return now() - begin;
}

static void get(store *store, const item_index *index, const identifier *name, uint8_t *value) {
  uint8_t canonical[LARGEST_CANONICAL_BYTES], record[MOST_RECORD_BYTES];
  uint64_t tag[2];
  look(store);
  size_t canonical_bytes = canonical_name(canonical, name->text, name->bytes);
  item_tag(store, canonical, canonical_bytes, tag);
  const entry *found = index_find(index, tag);
  require(found != NULL, "the item is missing");
  size_t bytes = found->record_bytes;
  require(bytes <= sizeof record, "the length of a record");
  require(pread(store->journal, record, bytes, (off_t)found->offset) == (ssize_t)bytes, "pread");
  memcpy(value, open_record(store, record, found, VALUE_BYTES), VALUE_BYTES);
}

static uint64_t get_many(
  store *store, const item_index *index, size_t item_count, size_t count
) {
  // In the order of the reads: how a program stores its names is not measured.
  identifier *names = malloc(count * sizeof(identifier));
  require(names != NULL, "memory");
  uint64_t random = 88172645463325252;
  for (size_t at = 0; at < count; at += 1) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    names[at] = identifier_of(random % item_count);
  }
  uint8_t value[VALUE_BYTES];
  uint64_t begin = now();
  for (size_t at = 0; at < count; at += 1) get(store, index, names + at, value);
  return now() - begin;
}

static void check(store *store, const item_index *index, size_t item_count) {
  identifier *names = identifiers_of(0, item_count);
  uint8_t value[VALUE_BYTES], expected[VALUE_BYTES];
  for (size_t at = 0; at < item_count; at += 1) {
    get(store, index, names + at, value);
    fill_value(expected, at);
    require(memcmp(value, expected, VALUE_BYTES) == 0, "the value of an item");
  }
}

// Returns the anonymous memory of this process in bytes.
static size_t anonymous_bytes(void) {
  malloc_trim(0);
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  require(file != NULL, "smaps_rollup");
  char line[256];
  size_t kibibytes = 0;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "Anonymous: %zu kB", &kibibytes) == 1) break;
  fclose(file);
  return kibibytes * 1024;
}

static void open_once(const char *path, const char *key_path) {
  store store;
  item_index index = {0};
  size_t before = anonymous_bytes();
  uint64_t begin = now();
  store_open(&store, path, key_path);
  store_walk(&store, &index);
  uint64_t nanoseconds = now() - begin;
  size_t after = anonymous_bytes();
  printf(
    "{\"operation\": \"open\", \"count\": %zu, \"nanoseconds\": %llu, \"memoryBytes\": %zu}\n",
    index.count, (unsigned long long)nanoseconds, after > before ? after - before : 0);
}

// MARK: arguments

static size_t number_of(const char *text) {
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  if (*text == 0 || *end != 0 || *text == '-' || number > 10000000) {
    fprintf(stderr, "store-limit: \"%s\" is not a number from 0 to 10,000,000\n", text);
    exit(2);
  }
  return (size_t)number;
}

static void leave_with_usage(void) {
  fprintf(
    stderr,
    "usage: store-limit durable-put|put-threads|bulk|remove DIRECTORY KEYFILE FIRST COUNT\n"
    "       store-limit get DIRECTORY KEYFILE ITEMS COUNT\n"
    "       store-limit list|compact|check DIRECTORY KEYFILE ITEMS\n"
    "       store-limit open DIRECTORY KEYFILE\n");
  exit(2);
}

int main(int argument_count, char **arguments) {
  if (argument_count < 4) leave_with_usage();
  const char *operation = arguments[1], *path = arguments[2], *key_path = arguments[3];
  size_t numbers[2] = {0, 0};
  int number_count = argument_count - 4;
  if (number_count > 2) leave_with_usage();
  for (int at = 0; at < number_count; at += 1) numbers[at] = number_of(arguments[4 + at]);

  if (strcmp(operation, "open") == 0 && number_count == 0) {
    open_once(path, key_path);
    return 0;
  }
  int is_list = strcmp(operation, "list") == 0;
  int is_compact = strcmp(operation, "compact") == 0;
  int is_check = strcmp(operation, "check") == 0;
  int is_get = strcmp(operation, "get") == 0;
  int is_put = strcmp(operation, "durable-put") == 0;
  int is_threads = strcmp(operation, "put-threads") == 0;
  int is_remove = strcmp(operation, "remove") == 0;
  int is_bulk = strcmp(operation, "bulk") == 0;
  int is_whole = is_list || is_compact || is_check;
  int is_part = is_get || is_put || is_threads || is_remove || is_bulk;
  if (!(is_whole && number_count == 1) && !(is_part && number_count == 2)) leave_with_usage();
  // The first put or removal is not timed.
  size_t untimed = is_put || is_remove;
  if (is_part && (numbers[1] < 1 + untimed || (is_get && numbers[0] == 0))) leave_with_usage();

  store store;
  item_index index = {0};
  store_open(&store, path, key_path);
  store_walk(&store, is_put || is_threads || is_bulk ? NULL : &index);
  if (is_whole) require(index.count == numbers[0], "the number of items");
  uint64_t nanoseconds = 0;
  if (is_list) nanoseconds = list(&store, &index);
  if (is_compact) nanoseconds = compact(&store, &index);
  if (is_check) check(&store, &index, numbers[0]);
  if (is_get) nanoseconds = get_many(&store, &index, numbers[0], numbers[1]);
  if (is_put) nanoseconds = durable_put(&store, numbers[0], numbers[1]);
  if (is_threads) nanoseconds = put_threads(&store, numbers[0], numbers[1]);
  if (is_remove) nanoseconds = remove_each(&store, &index, numbers[0], numbers[1]);
  if (is_bulk) nanoseconds = bulk(&store, numbers[0], numbers[1]);
  print_time(operation, is_whole ? numbers[0] : numbers[1] - untimed, nanoseconds);
  index_free(&index);
  store_close(&store);
  return 0;
}
