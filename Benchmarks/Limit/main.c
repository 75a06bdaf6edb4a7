// The yardstick: the bytes and the system calls of the store's operations and nothing else.
//
//   store-limit durable-put DIRECTORY KEYFILE FIRST COUNT   one item at a time, each durable
//   store-limit put-threads DIRECTORY KEYFILE FIRST COUNT   eight threads, each put durable
//   store-limit bulk DIRECTORY KEYFILE FIRST COUNT          all items in one change
//   store-limit get DIRECTORY KEYFILE ITEMS COUNT           random ones of the items 0..<ITEMS
//   store-limit list DIRECTORY KEYFILE ITEMS                the key of every item
//   store-limit remove DIRECTORY KEYFILE FIRST COUNT        one item at a time, each durable
//   store-limit compact DIRECTORY KEYFILE ITEMS             seal all items anew in another journal
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

// More than a record takes here, and what the length of a file with a reserve is a multiple of.
enum { MOST_RECORD_BYTES = 2048, RESERVE_BYTES = 32 << 10 };

// MARK: writing

static void set_lock(const store *store, short kind) {
  struct flock request = {.l_type = kind, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
  require(fcntl(store->lock, F_OFD_SETLK, &request) == 0, "lock");
}

static void check_status(const store *store) {
  struct statx status;
  // Without the times, as the library does: whoever asks for them makes the next sync store them.
  unsigned mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_INO | STATX_SIZE;
  require(
    statx(store->directory, "journal", AT_SYMLINK_NOFOLLOW, mask, &status) == 0, "journal");
  require(
    status.stx_ino == store->inode
      && makedev(status.stx_dev_major, status.stx_dev_minor) == store->device
      && status.stx_size == store->length,
    "the journal was changed");
  if (store->length == store->end) return;
  uint8_t next[64] = {0};
  require(pread(store->journal, next, sizeof next, (off_t)store->end) > 0, "pread");
  require(next[FLAGS_OFFSET] == 0, "the journal was changed");
}

static void write_all(int file, const uint8_t *bytes, size_t count, uint64_t start) {
  for (size_t done = 0; done < count;) {
    ssize_t written = pwrite(file, bytes + done, count - done, (off_t)(start + done));
    require(written > 0, "pwrite");
    done += (size_t)written;
  }
}

static void write_mark(const store *store) {
  uint8_t mark[MARK_BYTES];
  encode_mark(store, mark);
  require(pwrite(store->mark, mark, MARK_BYTES, 0) == MARK_BYTES, "mark");
}

// What a change takes of the file: its own length, or with a new reserve if it does not fit.
static size_t reserved(const store *store, size_t bytes) {
  uint64_t end = store->end + bytes, mask = RESERVE_BYTES - 1;
  return end <= store->length ? bytes : ((end + mask) & ~mask) - store->end;
}

// Writes a change that was sealed behind `start`, maybe with zeros behind it, and makes it count.
static void commit(store *store, uint8_t *records, size_t bytes, uint64_t start) {
  uint8_t flags = records[FLAGS_OFFSET];
  records[FLAGS_OFFSET] = 0;
  write_all(store->journal, records, bytes, start);
  if (start + bytes > store->length) store->length = start + bytes;
  write_all(store->journal, &flags, 1, start + FLAGS_OFFSET);
  require(fdatasync(store->journal) == 0, "fdatasync");
  write_mark(store);
}

static uint64_t durable_put(store *store, size_t first, size_t count) {
  uint8_t *values = values_of(first, count);
  identifier *names = identifiers_of(first, count);
  uint8_t key[LARGEST_KEY_BYTES], record[MOST_RECORD_BYTES + RESERVE_BYTES] = {0};
  uint64_t begin = now();
  for (size_t at = 0; at < count; at += 1) {
    // As in the library's measurement, the first is not timed.
    if (at == 1) begin = now();
    memset(record, 0, MOST_RECORD_BYTES);
    size_t key_bytes = canonical_key(key, names[at].text, names[at].bytes);
    set_lock(store, F_WRLCK);
    check_status(store);
    uint64_t start = store->end;
    size_t bytes = reserved(store, record_bytes(key_bytes, VALUE_BYTES));
    seal_record(
      store, record, FLAG_FIRST | FLAG_LAST, key, key_bytes, values + at * VALUE_BYTES,
      VALUE_BYTES);
    commit(store, record, bytes, start);
    set_lock(store, F_UNLCK);
  }
  return now() - begin;
}

// Puts items in one change.
static void put_change(
  store *store, const uint8_t *values, const identifier *names, size_t count) {
  uint8_t key[LARGEST_KEY_BYTES];
  set_lock(store, F_WRLCK);
  check_status(store);
  uint64_t start = store->end;
  // All identifiers have the same length, and so have the records.
  size_t key_bytes = canonical_key(key, names[0].text, names[0].bytes);
  size_t bytes = 0, total = count * record_bytes(key_bytes, VALUE_BYTES);
  size_t written_bytes = reserved(store, total);
  uint8_t *records = calloc(written_bytes, 1);
  require(records != NULL, "memory");
  for (size_t at = 0; at < count; at += 1) {
    int flags = (at == 0 ? FLAG_FIRST : 0) | (at == count - 1 ? FLAG_LAST : 0);
    canonical_key(key, names[at].text, names[at].bytes);
    bytes += seal_record(
      store, records + bytes, flags, key, key_bytes, values + at * VALUE_BYTES, VALUE_BYTES);
  }
  require(bytes == total, "lengths");
  commit(store, records, written_bytes, start);
  set_lock(store, F_UNLCK);
  free(records);
}

static uint64_t bulk(store *store, size_t first, size_t count) {
  uint8_t *values = values_of(first, count);
  identifier *names = identifiers_of(first, count);
  uint64_t begin = now();
  put_change(store, values, names, count);
  return now() - begin;
}

// Eight threads that share each write: the last that comes writes for all and wakes them.
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
  require(count % WRITERS == 0, "as many items for every thread");
  pthread_t threads[WRITERS];
  uint64_t begin = now();
  for (size_t at = 0; at < WRITERS; at += 1)
    require(pthread_create(threads + at, NULL, write_shared, NULL) == 0, "a thread");
  for (size_t at = 0; at < WRITERS; at += 1) pthread_join(threads[at], NULL);
  return now() - begin;
}

static uint64_t remove_each(store *store, const item_index *index, size_t first, size_t count) {
  identifier *names = identifiers_of(first, count);
  uint8_t key[LARGEST_KEY_BYTES], record[MOST_RECORD_BYTES + RESERVE_BYTES] = {0};
  uint64_t begin = now();
  for (size_t at = 0; at < count; at += 1) {
    if (at == 1) begin = now();
    memset(record, 0, MOST_RECORD_BYTES);
    uint64_t tag[2];
    size_t key_bytes = canonical_key(key, names[at].text, names[at].bytes);
    set_lock(store, F_WRLCK);
    check_status(store);
    item_tag(store, key, key_bytes, tag);
    require(index_find(index, tag) != NULL, "the item is missing");
    uint64_t start = store->end;
    size_t bytes = reserved(store, record_bytes(key_bytes, 0));
    seal_record(
      store, record, FLAG_FIRST | FLAG_LAST | FLAG_REMOVED, key, key_bytes, record, 0);
    commit(store, record, bytes, start);
    set_lock(store, F_UNLCK);
  }
  return now() - begin;
}

// All records in the order of the journal, as nothing was put twice.
static uint64_t compact(store *store, const item_index *index) {
  enum { BATCH_BYTES = 1 << 20 };
  uint64_t begin = now();
  set_lock(store, F_WRLCK);
  check_status(store);
  write_mark(store);
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
    size_t bytes = PREFIX_BYTES + entry->sealed_bytes;
    const uint8_t *plaintext =
      decrypt_record(store, window_at(&window, entry->offset, bytes), entry);
    uint32_t lengths[2];
    memcpy(lengths, plaintext, 8);
    if (filled + bytes > BATCH_BYTES) {
      write_all(next.journal, batch, filled, written);
      written += filled;
      filled = 0;
    }
    memset(batch + filled, 0, bytes);
    filled += seal_record(
      &next, batch + filled, FLAG_FIRST | FLAG_LAST, plaintext + 8, lengths[0],
      plaintext + 8 + lengths[0], lengths[1]);
  }
  write_all(next.journal, batch, filled, written);
  require(fsync(next.journal) == 0, "journal.next");
  require(renameat(store->directory, "journal.next", store->directory, "journal") == 0, "rename");
  require(fsync(store->directory) == 0, "directory");
  write_mark(&next);
  set_lock(store, F_UNLCK);
  return now() - begin;
}

// MARK: reading

static uint64_t list(const store *store, const item_index *index) {
  uint64_t begin = now();
  check_status(store);
  window window = window_of(store->journal);
  uint8_t *keys = malloc(index->count * LARGEST_KEY_BYTES);
  require(keys != NULL, "memory");
  for (size_t at = 0; at < index->count; at += 1) {
    const entry *entry = index->entries + at;
    const uint8_t *plaintext = decrypt_record(
      store, window_at(&window, entry->offset, PREFIX_BYTES + entry->sealed_bytes), entry);
    uint32_t key_bytes;
    memcpy(&key_bytes, plaintext, 4);
    require(key_bytes <= LARGEST_KEY_BYTES, "the length of a key");
    memcpy(keys + at * LARGEST_KEY_BYTES, plaintext + 8, key_bytes);
  }
  return now() - begin;
}

static void get(
  const store *store, const item_index *index, const identifier *name, uint8_t *value
) {
  uint8_t key[LARGEST_KEY_BYTES], record[MOST_RECORD_BYTES];
  uint64_t tag[2];
  size_t key_bytes = canonical_key(key, name->text, name->bytes);
  item_tag(store, key, key_bytes, tag);
  check_status(store);
  const entry *found = index_find(index, tag);
  require(found != NULL, "the item is missing");
  size_t bytes = PREFIX_BYTES + found->sealed_bytes;
  require(bytes <= sizeof record, "the length of a record");
  require(pread(store->journal, record, bytes, (off_t)found->offset) == (ssize_t)bytes, "pread");
  memcpy(value, open_record(store, record, found, key, key_bytes, VALUE_BYTES), VALUE_BYTES);
}

static uint64_t get_many(
  const store *store, const item_index *index, size_t item_count, size_t count
) {
  // In the order in which they are asked for: where a program has its names is its own affair.
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

static void check(const store *store, const item_index *index, size_t item_count) {
  identifier *names = identifiers_of(0, item_count);
  uint8_t value[VALUE_BYTES], expected[VALUE_BYTES];
  for (size_t at = 0; at < item_count; at += 1) {
    get(store, index, names + at, value);
    fill_value(expected, at);
    require(memcmp(value, expected, VALUE_BYTES) == 0, "the value of an item");
  }
}

// Anonymous memory of this process in bytes.
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
    fprintf(stderr, "store-limit: \"%s\" is no number from 0 to 10,000,000\n", text);
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
  // The first of these is not timed.
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
