// A file per item, in one directory, sealed by libsodium: nonce 24 ‖ ciphertext ‖ tag 16. The
// identifier is the file's name and the associated data.

#define _GNU_SOURCE
#include "peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
  TAG_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
  SEALED_BYTES = NONCE_BYTES + VALUE_BYTES + TAG_BYTES,
};

static uint8_t key[KEY_BYTES];
static int directory = -1;
static int is_bulk;

description store_description(void) {
  return (description){
    .name = "file-per-item",
    .version = SODIUM_VERSION_STRING,
    .what = "A C program that keeps each item in a file of its own, sealed by libsodium; "
            "identifiers are the names of the files.",
    .durable = "yes",
    .durable_because = "Under strace, a put syncs the new file, renames it and syncs the "
                       "directory before it returns; a removal syncs the directory.",
    .sealed = "XChaCha20-Poly1305, bound to the identifier",
    .start = "in process",
  };
}

void store_open(const char *path) {
  require(sodium_init() >= 0, "libsodium");
  require(mkdir(path, 0700) == 0 || errno == EEXIST, path);
  read_key(path, key);
  int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  require(parent >= 0, path);
  require(mkdirat(parent, "items", 0700) == 0 || errno == EEXIST, path);
  directory = openat(parent, "items", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  require(directory >= 0, "items");
  close(parent);
}

void store_close(void) { close(directory); }

void store_begin(void) { is_bulk = 1; }

void store_end(void) {
  is_bulk = 0;
  require(syncfs(directory) == 0, "syncfs");
}

void store_put(const char *identifier, const uint8_t value[VALUE_BYTES]) {
  uint8_t sealed[SEALED_BYTES];
  char temporary[64];
  randombytes_buf(sealed, NONCE_BYTES);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    sealed + NONCE_BYTES, NULL, value, VALUE_BYTES, (const uint8_t *)identifier,
    strlen(identifier), NULL, sealed, key);

  snprintf(temporary, sizeof temporary, ".%s.new", identifier);
  int file = openat(directory, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(file >= 0, temporary);
  require(write(file, sealed, SEALED_BYTES) == SEALED_BYTES, "write");
  require(is_bulk || fsync(file) == 0, "fsync");
  require(close(file) == 0, "close");
  require(renameat(directory, temporary, directory, identifier) == 0, "rename");
  require(is_bulk || fsync(directory) == 0, "fsync of the directory");
}

int store_get(const char *identifier, uint8_t value[VALUE_BYTES]) {
  uint8_t sealed[SEALED_BYTES + 1];
  int file = openat(directory, identifier, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t count = read(file, sealed, sizeof sealed);
  close(file);
  if (count != SEALED_BYTES) return 0;
  return crypto_aead_xchacha20poly1305_ietf_decrypt(
    value, NULL, NULL, sealed + NONCE_BYTES, VALUE_BYTES + TAG_BYTES,
    (const uint8_t *)identifier, strlen(identifier), sealed, key) == 0;
}

void store_list(void (*found)(const char *identifier)) {
  int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
  require(entries != NULL, "items");
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
    if (entry->d_name[0] != '.') found(entry->d_name);
  closedir(entries);
}

int store_remove(const char *identifier) {
  if (unlinkat(directory, identifier, 0) != 0) return 0;
  require(fsync(directory) == 0, "fsync of the directory");
  return 1;
}
