// The lower bound of the database store: its statements and its bytes, and nothing else.
//
//   database-limit get ADDRESS SCHEMA KEYFILE ITEMS COUNT SEED          random items of 0..<ITEMS
//   database-limit durable-put ADDRESS SCHEMA KEYFILE ITEMS COUNT SEED  random items, one by one
//   database-limit put-threads ADDRESS SCHEMA KEYFILE ITEMS COUNT SEED THREADS
//   database-limit put-list ADDRESS SCHEMA KEYFILE ITEMS COUNT SEED     100 items in each change
//   database-limit list ADDRESS SCHEMA KEYFILE ITEMS COUNT              the name of every item
//   database-limit check ADDRESS SCHEMA KEYFILE ITEMS                   every item has its value
//   database-limit select-one ADDRESS COUNT                             a statement without a table
//   database-limit fdatasync FILE COUNT                                 8 KiB over bytes on disk
//
// Prints one line of JSON. The time is that of the operation, by CLOCK_MONOTONIC. A connection, its
// prepared statements, the versions of the items that are put, and the first of the operations are
// there before the time begins.

#define _GNU_SOURCE
#include "postgres.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// MARK: items

typedef struct {
  uint8_t canonical[LARGEST_CANONICAL_BYTES];
  size_t canonical_bytes;
  uint64_t number;
  row_address address;
  int64_t version;
} item;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// The name of an item, as the library has it before an operation. Its address is not known yet.
static item item_of(uint64_t number) {
  item made = {.number = number};
  char identifier[24];
  size_t bytes =
    (size_t)snprintf(identifier, sizeof identifier, "item-%07llu", (unsigned long long)number);
  made.canonical_bytes = canonical_name(made.canonical, identifier, bytes);
  return made;
}

// The value of item `number`: its number in eight bytes, then a pattern.
static void fill_value(uint8_t *value, uint64_t number) {
  memcpy(value, &number, 8);
  for (size_t at = 8; at < VALUE_BYTES; at += 1) value[at] = (uint8_t)(number + at * 7);
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// Different items, if `are_different`; in the order in which they are used.
static item *random_items(size_t item_count, size_t count, uint64_t seed, int are_different) {
  item *made = malloc(count * sizeof(item));
  uint8_t *taken = calloc(item_count, 1);
  require(made != NULL && taken != NULL && item_count > 0, "memory");
  require(!are_different || count <= item_count, "different items");
  uint64_t state = 88172645463325252 ^ seed << 32;
  for (size_t at = 0; at < count;) {
    uint64_t number = next_random(&state) % item_count;
    if (are_different && taken[number]) continue;
    taken[number] = 1;
    made[at] = item_of(number);
    at += 1;
  }
  free(taken);
  return made;
}

static int64_t int8_of(const PGresult *result, int row, int column) {
  uint64_t value;
  require(PQgetlength(result, row, column) == 8, "an integer");
  memcpy(&value, PQgetvalue(result, row, column), 8);
  return (int64_t)be64toh(value);
}

// Reads version, epoch, gone and write from four columns.
static void read_fields(const PGresult *result, int row, int first, row_fields *fields) {
  uint32_t epoch;
  fields->version = int8_of(result, row, first);
  require(
    PQgetlength(result, row, first + 1) == 4 && PQgetlength(result, row, first + 2) == 1
      && PQgetlength(result, row, first + 3) == WRITE_BYTES, "a row");
  memcpy(&epoch, PQgetvalue(result, row, first + 1), 4);
  fields->epoch = be32toh(epoch);
  fields->is_gone = (uint8_t)*PQgetvalue(result, row, first + 2);
  memcpy(fields->write, PQgetvalue(result, row, first + 3), WRITE_BYTES);
}

static void get(database *database, item *item, uint8_t value[VALUE_BYTES]) {
  item->address = row_address_of(&database->keys, item->canonical, item->canonical_bytes);
  put_address(database_parameters(database), &item->address);
  PGresult *result = database_run(database, VALUE);
  require(PQntuples(result) == 1 && PQgetlength(result, 0, 4) == NONCE_BYTES, "the item");
  row_fields fields = {.address = item->address};
  read_fields(result, 0, 0, &fields);
  row_open_value(
    &database->keys, &fields, (const uint8_t *)PQgetvalue(result, 0, 4),
    (const uint8_t *)PQgetvalue(result, 0, 5), (size_t)PQgetlength(result, 0, 5), value);
  item->version = fields.version;
  PQclear(result);
}

// MARK: operations

static uint64_t get_many(database *database, size_t item_count, size_t count, uint64_t seed) {
  item *items = random_items(item_count, count, seed, 0);
  uint8_t value[VALUE_BYTES];
  get(database, items, value);
  uint64_t start = now();
  for (size_t at = 1; at < count; at += 1) get(database, items + at, value);
  uint64_t time = now() - start;
  free(items);
  return time;
}

static void put(database *database, item *item) {
  uint8_t value[VALUE_BYTES];
  sealed_row row;
  row_fields fields = {
    .address = row_address_of(&database->keys, item->canonical, item->canonical_bytes),
    .version = item->version + 1, .epoch = database->keys.epoch};
  randombytes_buf(fields.write, WRITE_BYTES);
  fill_value(value, item->number);
  row_seal(&database->keys, &fields, item->canonical, item->canonical_bytes, value, &row);
  parameters *sent = database_parameters(database);
  put_no_leases(sent);
  put_address(sent, &fields.address);
  put_int8(sent, item->version);
  put_int8(sent, fields.version);
  put_int4(sent, fields.epoch);
  put_bool(sent, 0);
  put_bytes(sent, fields.write, WRITE_BYTES);
  put_bytes(sent, row.nonce, sizeof row.nonce);
  put_bytes(sent, row.name, sizeof row.name);
  put_bytes(sent, row.value, sizeof row.value);
  put_bytes(sent, database->keys.header_mac, MAC_BYTES);
  PGresult *result = database_run(database, REPLACE);
  require(PQntuples(result) == 1, "the version of an item");
  PQclear(result);
  item->version = fields.version;
}

static void learn_version(database *database, item *item) {
  uint8_t value[VALUE_BYTES];
  get(database, item, value);
}

static uint64_t durable_put(database *database, size_t item_count, size_t count, uint64_t seed) {
  item *items = random_items(item_count, count, seed, 1);
  for (size_t at = 0; at < count; at += 1) learn_version(database, items + at);
  put(database, items);
  uint64_t start = now();
  for (size_t at = 1; at < count; at += 1) put(database, items + at);
  uint64_t time = now() - start;
  free(items);
  return time;
}

// One of several threads, each with a connection of its own.
typedef struct {
  database database;
  item *items;
  size_t count, first, step;
  pthread_barrier_t *start;
} writer;

static void *write_all(void *context) {
  writer *writer = context;
  for (size_t at = writer->first; at < writer->count; at += writer->step)
    learn_version(&writer->database, writer->items + at);
  put(&writer->database, writer->items + writer->first);
  pthread_barrier_wait(writer->start);
  for (size_t at = writer->first + writer->step; at < writer->count; at += writer->step)
    put(&writer->database, writer->items + at);
  return NULL;
}

static uint64_t put_threads(
  const char *address, const char *schema, const char *key_path, size_t item_count, size_t count,
  uint64_t seed, size_t thread_count
) {
  pthread_barrier_t barrier;
  pthread_t threads[64];
  writer writers[64];
  item *items = random_items(item_count, count, seed, 1);
  require(thread_count <= 64 && count >= thread_count, "the number of threads");
  require(pthread_barrier_init(&barrier, NULL, (unsigned)thread_count + 1) == 0, "a barrier");
  for (size_t at = 0; at < thread_count; at += 1) {
    writers[at] = (writer){
      database_open(address, schema, key_path), items, count, at, thread_count, &barrier};
    require(pthread_create(threads + at, NULL, write_all, writers + at) == 0, "a thread");
  }
  pthread_barrier_wait(&barrier);
  uint64_t start = now();
  for (size_t at = 0; at < thread_count; at += 1) pthread_join(threads[at], NULL);
  uint64_t time = now() - start;
  for (size_t at = 0; at < thread_count; at += 1) database_close(&writers[at].database);
  free(items);
  return time;
}

enum { LIST_COUNT = 100 };

static void put_change(database *database, item *items) {
  static row_fields fields[LIST_COUNT];
  static sealed_row rows[LIST_COUNT];
  static int64_t old[LIST_COUNT];
  static uint8_t yes[LIST_COUNT], no[LIST_COUNT];
  uint8_t write[WRITE_BYTES], value[VALUE_BYTES];
  const size_t step = sizeof(row_fields), row = sizeof(sealed_row);
  randombytes_buf(write, WRITE_BYTES);
  for (size_t at = 0; at < LIST_COUNT; at += 1) {
    item *item = items + at;
    fields[at] = (row_fields){
      .address = row_address_of(&database->keys, item->canonical, item->canonical_bytes),
      .version = item->version + 1, .epoch = database->keys.epoch};
    memcpy(fields[at].write, write, WRITE_BYTES);
    old[at] = item->version;
    yes[at] = 1;
    fill_value(value, item->number);
    row_seal(
      &database->keys, fields + at, item->canonical, item->canonical_bytes, value, rows + at);
  }
  parameters *sent = database_parameters(database);
  put_array(sent, BYTEAS, BYTEA, fields[0].address.namespace, LIST_COUNT, step, 16);
  put_array(sent, INT2S, INT2, &fields[0].address.shard, LIST_COUNT, step, 2);
  put_array(sent, BYTEAS, BYTEA, fields[0].address.tag, LIST_COUNT, step, 16);
  put_array(sent, INT8S, INT8, old, LIST_COUNT, sizeof *old, 8);
  put_array(sent, INT8S, INT8, &fields[0].version, LIST_COUNT, step, 8);
  put_array(sent, BOOLS, BOOL, yes, LIST_COUNT, 1, 1);
  put_array(sent, BOOLS, BOOL, no, LIST_COUNT, 1, 1);
  put_array(sent, BYTEAS, BYTEA, rows[0].nonce, LIST_COUNT, row, sizeof rows[0].nonce);
  put_array(sent, BYTEAS, BYTEA, rows[0].name, LIST_COUNT, row, sizeof rows[0].name);
  put_array(sent, BYTEAS, BYTEA, rows[0].value, LIST_COUNT, row, sizeof rows[0].value);
  put_int4(sent, database->keys.epoch);
  put_bytes(sent, write, WRITE_BYTES);
  put_no_leases(sent);
  put_int8(sent, LIST_COUNT);
  put_bytes(sent, database->keys.header_mac, MAC_BYTES);
  PGresult *result = database_run(database, WRITE);
  require(PQntuples(result) == 1, "the versions of the items");
  PQclear(result);
  for (size_t at = 0; at < LIST_COUNT; at += 1) items[at].version += 1;
}

static uint64_t put_list(database *database, size_t item_count, size_t count, uint64_t seed) {
  item *items = random_items(item_count, LIST_COUNT, seed, 1);
  for (size_t at = 0; at < LIST_COUNT; at += 1) learn_version(database, items + at);
  put_change(database, items);
  uint64_t start = now();
  for (size_t at = 0; at < count; at += 1) put_change(database, items);
  uint64_t time = now() - start;
  free(items);
  return time;
}

// Reads the names of one namespace in one page.
static void list_once(database *database, size_t item_count) {
  item item = item_of(0);
  row_address namespace = row_address_of(&database->keys, item.canonical, item.canonical_bytes);
  uint8_t (*found)[SEALED_NAME_BYTES] = malloc(item_count * SEALED_NAME_BYTES);
  require(found != NULL, "memory");
  parameters *sent = database_parameters(database);
  put_bytes(sent, namespace.namespace, 16);
  put_bytes(sent, namespace.namespace, 16);
  put_bytes(sent, namespace.namespace, 16);
  put_int2(sent, INT16_MIN);
  put_bytes(sent, "", 0);
  put_int8(sent, 1000);
  PGresult *result = database_run(database, PAGE);
  require((size_t)PQntuples(result) == item_count, "the number of items");
  for (int at = 0; at < PQntuples(result); at += 1) {
    row_fields fields;
    uint16_t shard;
    memcpy(fields.address.namespace, PQgetvalue(result, at, 0), 16);
    memcpy(&shard, PQgetvalue(result, at, 1), 2);
    fields.address.shard = (int16_t)be16toh(shard);
    memcpy(fields.address.tag, PQgetvalue(result, at, 2), 16);
    read_fields(result, at, 3, &fields);
    row_open_name(
      &database->keys, &fields, (const uint8_t *)PQgetvalue(result, at, 7),
      (const uint8_t *)PQgetvalue(result, at, 8), (size_t)PQgetlength(result, at, 8), found[at]);
  }
  PQclear(result);
  free(found);
}

static uint64_t list(database *database, size_t item_count, size_t count) {
  list_once(database, item_count);
  uint64_t start = now();
  for (size_t at = 0; at < count; at += 1) list_once(database, item_count);
  return now() - start;
}

static void check(database *database, size_t item_count) {
  uint8_t value[VALUE_BYTES], expected[VALUE_BYTES];
  for (size_t at = 0; at < item_count; at += 1) {
    item item = item_of(at);
    get(database, &item, value);
    fill_value(expected, at);
    require(memcmp(value, expected, VALUE_BYTES) == 0, "the value of an item");
  }
}

// MARK: yardsticks

static uint64_t select_one(const char *address, size_t count) {
  PGconn *link = database_connect(address);
  PQclear(PQprepare(link, "one", "SELECT 1", 0, NULL));
  uint64_t start = 0;
  for (size_t at = 0; at <= count; at += 1) {
    // The first is not timed.
    if (at == 1) start = now();
    PGresult *result = PQexecPrepared(link, "one", 0, NULL, NULL, NULL, 1);
    require(PQntuples(result) == 1, "SELECT 1");
    PQclear(result);
  }
  uint64_t time = now() - start;
  PQfinish(link);
  return time;
}

static uint64_t sync_file(const char *path, size_t count) {
  enum { BYTES = 8192 };
  uint8_t page[BYTES] = {1};
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(file >= 0, path);
  for (size_t at = 0; at < count; at += 1)
    require(pwrite(file, page, BYTES, (off_t)(at * BYTES)) == BYTES, "pwrite");
  require(fsync(file) == 0, "fsync");
  uint64_t start = now();
  for (size_t at = 0; at < count; at += 1) {
    require(pwrite(file, page, BYTES, (off_t)(at * BYTES)) == BYTES, "pwrite");
    require(fdatasync(file) == 0, "fdatasync");
  }
  uint64_t time = now() - start;
  close(file);
  unlink(path);
  return time;
}

// MARK: arguments

static size_t number_of(const char *text) {
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  if (*text == 0 || *end != 0 || *text == '-' || number > 10000000) {
    fprintf(stderr, "database-limit: \"%s\" is not a number from 0 to 10,000,000\n", text);
    exit(2);
  }
  return (size_t)number;
}

static void leave_with_usage(void) {
  fprintf(
    stderr,
    "usage: database-limit get|durable-put|put-list ADDRESS SCHEMA KEYFILE ITEMS COUNT SEED\n"
    "       database-limit put-threads ADDRESS SCHEMA KEYFILE ITEMS COUNT SEED THREADS\n"
    "       database-limit list ADDRESS SCHEMA KEYFILE ITEMS COUNT\n"
    "       database-limit check ADDRESS SCHEMA KEYFILE ITEMS\n"
    "       database-limit select-one ADDRESS COUNT\n"
    "       database-limit fdatasync FILE COUNT\n");
  exit(2);
}

static void print_time(const char *operation, size_t count, uint64_t nanoseconds) {
  printf(
    "{\"operation\": \"%s\", \"count\": %zu, \"nanoseconds\": %llu}\n", operation, count,
    (unsigned long long)nanoseconds);
}

int main(int argument_count, char **arguments) {
  if (argument_count < 4) leave_with_usage();
  const char *operation = arguments[1], *place = arguments[2];
  int is_one = strcmp(operation, "select-one") == 0;
  if (is_one || strcmp(operation, "fdatasync") == 0) {
    if (argument_count != 4) leave_with_usage();
    size_t count = number_of(arguments[3]);
    print_time(operation, count, is_one ? select_one(place, count) : sync_file(place, count));
    return 0;
  }
  int number_count = argument_count - 5;
  if (number_count < 1 || number_count > 4) leave_with_usage();
  const char *schema = arguments[3], *key_path = arguments[4];
  size_t numbers[4] = {0};
  for (int at = 0; at < number_count; at += 1) numbers[at] = number_of(arguments[5 + at]);
  size_t items = numbers[0], count = numbers[1], timed = count;
  uint64_t seed = numbers[2], time = 0;

  require(sodium_init() >= 0, "libsodium");
  if (strcmp(operation, "put-threads") == 0 && number_count == 4) {
    time = put_threads(place, schema, key_path, items, count, seed, numbers[3]);
    print_time(operation, count - numbers[3], time);
    return 0;
  }
  database database = database_open(place, schema, key_path);
  if (strcmp(operation, "get") == 0 && number_count == 3 && count > 1) {
    time = get_many(&database, items, count, seed);
    timed -= 1;
  } else if (strcmp(operation, "durable-put") == 0 && number_count == 3 && count > 1) {
    time = durable_put(&database, items, count, seed);
    timed -= 1;
  } else if (strcmp(operation, "put-list") == 0 && number_count == 3 && count > 0) {
    time = put_list(&database, items, count, seed);
  } else if (strcmp(operation, "list") == 0 && number_count == 2 && count > 0) {
    time = list(&database, items, count);
  } else if (strcmp(operation, "check") == 0 && number_count == 1) {
    check(&database, items);
    timed = items;
  } else {
    leave_with_usage();
  }
  print_time(operation, timed, time);
  database_close(&database);
  return 0;
}
