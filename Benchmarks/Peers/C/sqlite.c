// A table in SQLite with values sealed by libsodium (nonce 24 ‖ ciphertext ‖ tag 16), or, with
// SQLCIPHER defined, in SQLCipher, which seals the pages. Both have a write-ahead log that is
// synced at every commit.

#include "peer.h"

#include <errno.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
  TAG_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
#ifdef SQLCIPHER
  COLUMN_BYTES = VALUE_BYTES,
#else
  COLUMN_BYTES = NONCE_BYTES + VALUE_BYTES + TAG_BYTES,
#endif
};

static uint8_t key[KEY_BYTES];
static sqlite3 *database;
static sqlite3_stmt *put, *get, *list, *removal;

#ifdef SQLCIPHER
static const char *cipher_version(void) {
  static char version[32];
  sqlite3_stmt *statement;
  if (sqlite3_open(":memory:", &database) == SQLITE_OK
      && sqlite3_prepare_v2(database, "PRAGMA cipher_version", -1, &statement, NULL) == SQLITE_OK
      && sqlite3_step(statement) == SQLITE_ROW)
    snprintf(version, sizeof version, "%s", (const char *)sqlite3_column_text(statement, 0));
  return version;
}
#endif

description store_description(void) {
  return (description){
#ifdef SQLCIPHER
    .name = "sqlcipher",
    .what = "A C program with a table in SQLCipher; the key is raw, so there is no derivation.",
    .version = cipher_version(),
    .sealed = "AES-256-CBC with HMAC for each page, identifiers too",
#else
    .name = "sqlite-sodium",
    .what = "A C program with a table in SQLite, whose values are sealed by libsodium; "
            "identifiers are in plain text.",
    .version = sqlite3_libversion(),
    .sealed = "XChaCha20-Poly1305, bound to the identifier",
#endif
    .durable = "yes",
    .durable_because = "WAL with synchronous FULL: under strace, every put and every removal "
                       "calls fdatasync for the log before it returns.",
    .start = "in process",
  };
}

static void require_sqlite(int condition, const char *what) {
  if (!condition) fail(what, sqlite3_errmsg(database));
}

static void run(const char *statement) {
  require_sqlite(sqlite3_exec(database, statement, NULL, NULL, NULL) == SQLITE_OK, statement);
}

static sqlite3_stmt *prepared(const char *text) {
  sqlite3_stmt *statement;
  require_sqlite(sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK, text);
  return statement;
}

static void give_key(void) {
#ifdef SQLCIPHER
  char hexadecimal[2 * KEY_BYTES + 1], pragma[128];
  sodium_bin2hex(hexadecimal, sizeof hexadecimal, key, KEY_BYTES);
  snprintf(pragma, sizeof pragma, "PRAGMA key = \"x'%s'\"", hexadecimal);
  require_sqlite(sqlite3_exec(database, pragma, NULL, NULL, NULL) == SQLITE_OK, "PRAGMA key");
#endif
}

void store_open(const char *directory) {
  require(sodium_init() >= 0, "libsodium");
  require(mkdir(directory, 0700) == 0 || errno == EEXIST, directory);
  read_key(directory, key);
  char *path = path_in(directory, "items.sqlite");
  require_sqlite(sqlite3_open(path, &database) == SQLITE_OK, path);
  free(path);
  give_key();
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = FULL");
  run("CREATE TABLE IF NOT EXISTS items (identifier TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID");
  put = prepared("INSERT OR REPLACE INTO items VALUES (?, ?)");
  get = prepared("SELECT value FROM items WHERE identifier = ?");
  list = prepared("SELECT identifier FROM items");
  removal = prepared("DELETE FROM items WHERE identifier = ?");
}

void store_close(void) {
  sqlite3_finalize(put);
  sqlite3_finalize(get);
  sqlite3_finalize(list);
  sqlite3_finalize(removal);
  require_sqlite(sqlite3_close(database) == SQLITE_OK, "close");
}

void store_begin(void) { run("BEGIN"); }

void store_end(void) { run("COMMIT"); }

static void bind_identifier(sqlite3_stmt *statement, const char *identifier) {
  int status = sqlite3_bind_text(statement, 1, identifier, -1, SQLITE_STATIC);
  require_sqlite(status == SQLITE_OK, identifier);
}

static void finish(sqlite3_stmt *statement, const char *what) {
  require_sqlite(sqlite3_step(statement) == SQLITE_DONE, what);
  sqlite3_reset(statement);
}

void store_put(const char *identifier, const uint8_t value[VALUE_BYTES]) {
  uint8_t column[COLUMN_BYTES];
#ifdef SQLCIPHER
  memcpy(column, value, VALUE_BYTES);
#else
  randombytes_buf(column, NONCE_BYTES);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    column + NONCE_BYTES, NULL, value, VALUE_BYTES, (const uint8_t *)identifier,
    strlen(identifier), NULL, column, key);
#endif
  bind_identifier(put, identifier);
  int status = sqlite3_bind_blob(put, 2, column, COLUMN_BYTES, SQLITE_STATIC);
  require_sqlite(status == SQLITE_OK, identifier);
  finish(put, "put");
}

static int open_column(const char *identifier, const uint8_t *column, uint8_t *value) {
#ifdef SQLCIPHER
  (void)identifier;
  memcpy(value, column, VALUE_BYTES);
  return 1;
#else
  return crypto_aead_xchacha20poly1305_ietf_decrypt(
    value, NULL, NULL, column + NONCE_BYTES, VALUE_BYTES + TAG_BYTES,
    (const uint8_t *)identifier, strlen(identifier), column, key) == 0;
#endif
}

int store_get(const char *identifier, uint8_t value[VALUE_BYTES]) {
  bind_identifier(get, identifier);
  int status = sqlite3_step(get);
  require_sqlite(status == SQLITE_ROW || status == SQLITE_DONE, "get");
  int is_there = status == SQLITE_ROW && sqlite3_column_bytes(get, 0) == COLUMN_BYTES
    && open_column(identifier, sqlite3_column_blob(get, 0), value);
  sqlite3_reset(get);
  return is_there;
}

void store_list(void (*found)(const char *identifier)) {
  int status;
  while ((status = sqlite3_step(list)) == SQLITE_ROW)
    found((const char *)sqlite3_column_text(list, 0));
  require_sqlite(status == SQLITE_DONE, "list");
  sqlite3_reset(list);
}

int store_remove(const char *identifier) {
  bind_identifier(removal, identifier);
  finish(removal, "remove");
  return sqlite3_changes(database) == 1;
}
