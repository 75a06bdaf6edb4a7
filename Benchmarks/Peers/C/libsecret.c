// libsecret: its file backend, or, with SECRET_BACKEND=service, the provider of the Secret Service
// on the session bus.

#include "peer.h"

#include <errno.h>
#include <libsecret/secret.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_OF(number) #number
#define VERSION_OF(major, minor, micro) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(micro)

description store_description(void) {
  return (description){
    .name = "libsecret-file",
    .version = VERSION_OF(SECRET_MAJOR_VERSION, SECRET_MINOR_VERSION, SECRET_MICRO_VERSION),
    .what = "A C program with libsecret's file backend, which keeps the items in memory and in "
            "one file; its test variables give the key, as there is no portal for that.",
    .durable = "no",
    .durable_because = "Under strace, a change syncs the new file and renames it, but not the "
                       "directory: a power cut may undo the last changes, and no more than these.",
    .sealed = "AES-128-CBC with HMAC-SHA256, PBKDF2 at opening",
    .start = "in process",
  };
}

static void require_no(GError *error, const char *what) {
  if (error != NULL) fail(what, error->message);
}

void store_open(const char *directory) {
  require(mkdir(directory, 0700) == 0 || errno == EEXIST, directory);
  if (getenv("SECRET_BACKEND") != NULL) return;
  char *path = path_in(directory, "items.keyring");
  setenv("SECRET_BACKEND", "file", 1);
  setenv("SECRET_FILE_TEST_PATH", path, 1);
  setenv("SECRET_FILE_TEST_PASSWORD", "pw", 1);
  free(path);
}

void store_close(void) {}

// libsecret cannot store several items at once.
void store_begin(void) {}

void store_end(void) {}

static GHashTable *attributes_of(const char *identifier) {
  GHashTable *attributes = g_hash_table_new(g_str_hash, g_str_equal);
  g_hash_table_insert(attributes, "service", (char *)service);
  if (identifier != NULL) g_hash_table_insert(attributes, "identifier", (char *)identifier);
  return attributes;
}

void store_put(const char *identifier, const uint8_t value[VALUE_BYTES]) {
  GError *error = NULL;
  GHashTable *attributes = attributes_of(identifier);
  SecretValue *secret =
    secret_value_new((const char *)value, VALUE_BYTES, "application/octet-stream");
  int is_stored = secret_password_storev_binary_sync(
    NULL, attributes, SECRET_COLLECTION_DEFAULT, identifier, secret, NULL, &error);
  require_no(error, "put");
  if (!is_stored) fail("put", "the item was not stored");
  secret_value_unref(secret);
  g_hash_table_unref(attributes);
}

int store_get(const char *identifier, uint8_t value[VALUE_BYTES]) {
  GError *error = NULL;
  GHashTable *attributes = attributes_of(identifier);
  SecretValue *secret = secret_password_lookupv_binary_sync(NULL, attributes, NULL, &error);
  require_no(error, "get");
  g_hash_table_unref(attributes);
  if (secret == NULL) return 0;
  gsize length;
  const char *bytes = secret_value_get(secret, &length);
  int is_whole = length == VALUE_BYTES;
  if (is_whole) memcpy(value, bytes, VALUE_BYTES);
  secret_value_unref(secret);
  return is_whole;
}

void store_list(void (*found)(const char *identifier)) {
  GError *error = NULL;
  GHashTable *attributes = attributes_of(NULL);
  GList *items =
    secret_password_searchv_sync(NULL, attributes, SECRET_SEARCH_ALL, NULL, &error);
  require_no(error, "list");
  g_hash_table_unref(attributes);
  for (GList *item = items; item != NULL; item = item->next) {
    GHashTable *its = secret_retrievable_get_attributes(item->data);
    found(g_hash_table_lookup(its, "identifier"));
    g_hash_table_unref(its);
  }
  g_list_free_full(items, g_object_unref);
}

int store_remove(const char *identifier) {
  GError *error = NULL;
  GHashTable *attributes = attributes_of(identifier);
  int is_removed = secret_password_clearv_sync(NULL, attributes, NULL, &error);
  require_no(error, "remove");
  g_hash_table_unref(attributes);
  return is_removed;
}
