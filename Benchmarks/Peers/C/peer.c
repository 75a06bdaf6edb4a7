// The protocol of a peer in C; README.md describes it.

#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the items are for little-endian machines"
#endif

enum { LOST = 3 };

const char service[] = "com.example.benchmark";

typedef struct {
  char text[24];
} identifier;

noreturn void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
  exit(1);
}

void require(int condition, const char *what) {
  if (!condition) fail(what, strerror(errno));
}

char *path_in(const char *directory, const char *name) {
  char *path;
  require(asprintf(&path, "%s/%s", directory, name) >= 0, "memory");
  return path;
}

void read_key(const char *directory, uint8_t key[KEY_BYTES]) {
  char *path = path_in(directory, "key");
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    require(read(file, key, KEY_BYTES) == KEY_BYTES, path);
  } else {
    require(getrandom(key, KEY_BYTES, 0) == KEY_BYTES, "getrandom");
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    require(file >= 0 && write(file, key, KEY_BYTES) == KEY_BYTES && fsync(file) == 0, path);
  }
  close(file);
  free(path);
}

// MARK: items

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static identifier *identifiers_of(size_t first, size_t count) {
  identifier *made = malloc((count + 1) * sizeof *made);
  require(made != NULL, "memory");
  for (size_t at = 0; at < count; at += 1)
    snprintf(made[at].text, sizeof made->text, "item-%07zu", first + at);
  return made;
}

// The value of an item is its number in eight bytes, then a pattern.
static uint8_t (*values_of(size_t first, size_t count))[VALUE_BYTES] {
  uint8_t (*made)[VALUE_BYTES] = malloc((count + 1) * sizeof *made);
  require(made != NULL, "memory");
  for (size_t at = 0; at < count; at += 1) {
    uint64_t number = first + at;
    memcpy(made[at], &number, 8);
    for (size_t byte = 8; byte < VALUE_BYTES; byte += 1)
      made[at][byte] = (uint8_t)(number + byte * 7);
  }
  return made;
}

static void get(const char *identifier, const uint8_t *expected) {
  uint8_t value[VALUE_BYTES];
  if (store_get(identifier, value) && memcmp(value, expected, VALUE_BYTES) == 0) return;
  fprintf(stderr, "%s: %s is lost\n", program_invocation_short_name, identifier);
  exit(LOST);
}

// MARK: operations

static size_t listed_count;

static void count_listed(const char *identifier) {
  if (strncmp(identifier, "item-", 5) == 0) listed_count += 1;
}

static void prepare(size_t item_count) {
  identifier *names = identifiers_of(0, item_count);
  uint8_t (*values)[VALUE_BYTES] = values_of(0, item_count);
  store_begin();
  for (size_t at = 0; at < item_count; at += 1) store_put(names[at].text, values[at]);
  store_end();
}

static void check(size_t item_count) {
  identifier *names = identifiers_of(0, item_count);
  uint8_t (*values)[VALUE_BYTES] = values_of(0, item_count);
  for (size_t at = 0; at < item_count; at += 1) get(names[at].text, values[at]);
}

static uint64_t put_new(size_t first, size_t count) {
  identifier *names = identifiers_of(first, count);
  uint8_t (*values)[VALUE_BYTES] = values_of(first, count);
  uint64_t begin = now();
  for (size_t at = 0; at < count; at += 1) store_put(names[at].text, values[at]);
  return now() - begin;
}

static uint64_t get_random(size_t item_count, size_t count) {
  identifier *names = identifiers_of(0, item_count);
  uint8_t (*values)[VALUE_BYTES] = values_of(0, item_count);
  uint64_t random = 88172645463325252, begin = now();
  for (size_t at = 0; at < count; at += 1) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    get(names[random % item_count].text, values[random % item_count]);
  }
  return now() - begin;
}

static uint64_t list_all(size_t item_count, size_t count) {
  uint64_t begin = now();
  for (size_t at = 0; at < count; at += 1) {
    listed_count = 0;
    store_list(count_listed);
    if (listed_count < item_count) fail("list", "items are missing from the list");
  }
  return now() - begin;
}

static uint64_t remove_new(size_t first, size_t count) {
  identifier *names = identifiers_of(first, count);
  uint64_t begin = now();
  for (size_t at = 0; at < count; at += 1)
    if (!store_remove(names[at].text)) fail(names[at].text, "the item to remove is missing");
  return now() - begin;
}

static void measure(size_t item_count, const char *operation, size_t count) {
  // One-time work, such as opening a connection, is done here.
  identifier *first_name = identifiers_of(0, 1);
  uint8_t (*first_value)[VALUE_BYTES] = values_of(0, 1);
  get(first_name->text, *first_value);
  if (strcmp(operation, "put") == 0) store_put(first_name->text, *first_value);

  uint64_t nanoseconds;
  if (strcmp(operation, "put") == 0) nanoseconds = put_new(item_count, count);
  else if (strcmp(operation, "get") == 0) nanoseconds = get_random(item_count, count);
  else if (strcmp(operation, "list") == 0) nanoseconds = list_all(item_count, count);
  else if (strcmp(operation, "list-again") == 0) {
    list_all(item_count, 1);
    nanoseconds = list_all(item_count, count);
  } else if (strcmp(operation, "remove") == 0) nanoseconds = remove_new(item_count, count);
  else fail(operation, "there is no such operation");
  printf(
    "{\"operation\": \"%s\", \"count\": %zu, \"nanoseconds\": %llu}\n", operation, count,
    (unsigned long long)nanoseconds);
}

static void describe(void) {
  description it = store_description();
  printf(
    "{\"name\": \"%s\", \"version\": \"%s\", \"what\": \"%s\", \"durable\": \"%s\", "
    "\"durableBecause\": \"%s\", \"sealed\": \"%s\", \"start\": \"%s\", "
    "\"operations\": [\"put\", \"get\", \"list\", \"list-again\", \"remove\"]}\n",
    it.name, it.version, it.what, it.durable, it.durable_because, it.sealed, it.start);
}

// MARK: arguments

static noreturn void leave_with_usage(void) {
  fprintf(
    stderr,
    "usage: PEER describe\n"
    "       PEER prepare DIRECTORY ITEMS\n"
    "       PEER measure DIRECTORY ITEMS put|get|list|list-again|remove COUNT\n"
    "       PEER check DIRECTORY ITEMS\n");
  exit(2);
}

static size_t number_of(const char *text) {
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != 0 || number < 1 || number > 10000000)
    leave_with_usage();
  return (size_t)number;
}

int main(int argument_count, char **arguments) {
  const char *command = argument_count > 1 ? arguments[1] : "";
  if (strcmp(command, "describe") == 0 && argument_count == 2) {
    describe();
    return 0;
  }
  int is_measure = strcmp(command, "measure") == 0;
  int is_prepare = strcmp(command, "prepare") == 0;
  if (!is_measure && !is_prepare && strcmp(command, "check") != 0) leave_with_usage();
  if (argument_count != (is_measure ? 6 : 4)) leave_with_usage();
  size_t item_count = number_of(arguments[3]);

  store_open(arguments[2]);
  if (is_measure) measure(item_count, arguments[4], number_of(arguments[5]));
  else if (is_prepare) prepare(item_count);
  else check(item_count);
  store_close();
  return 0;
}
