/* In front of libfido2: the only security keys are the sockets that SOFTWARE_KEYS names, separated
   by colons. A program gets it by LD_PRELOAD; compile it as `compile` does. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fido.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void *open_key(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int *key = malloc(sizeof *key);
  if (!key || strlen(path) >= sizeof address.sun_path) abort();
  strcpy(address.sun_path, path);
  *key = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(*key, (struct sockaddr *)&address, sizeof address) == 0) return key;
  close(*key);
  free(key);
  return NULL;
}

static void close_key(void *key) {
  close(*(int *)key);
  free(key);
}

static int read_key(void *key, unsigned char *buffer, size_t count, int milliseconds) {
  struct pollfd waiting = {.fd = *(int *)key, .events = POLLIN};
  if (poll(&waiting, 1, milliseconds) < 1) return -1;
  return recv(*(int *)key, buffer, count, MSG_WAITALL) == (ssize_t)count ? (int)count : -1;
}

/* The first byte is the number of the report, which a real key does not get either. */
static int write_key(void *key, const unsigned char *buffer, size_t count) {
  ssize_t sent = send(*(int *)key, buffer + 1, count - 1, MSG_NOSIGNAL);
  return sent == (ssize_t)count - 1 ? (int)count : -1;
}

static const fido_dev_io_t input_and_output = {open_key, close_key, read_key, write_key};

int fido_dev_open(fido_dev_t *device, const char *path) {
  int (*next)(fido_dev_t *, const char *) = dlsym(RTLD_NEXT, "fido_dev_open");
  if (fido_dev_set_io_functions(device, &input_and_output)) return FIDO_ERR_INTERNAL;
  return next(device, path);
}

int fido_dev_info_manifest(fido_dev_info_t *list, size_t capacity, size_t *count) {
  char *keys = getenv("SOFTWARE_KEYS");
  *count = 0;
  if (!keys || !(keys = strdup(keys))) return FIDO_OK;
  char *rest = keys;
  for (char *path; (path = strsep(&rest, ":")) && *count < capacity;) {
    if (*path && fido_dev_info_set(
        list, *count, path, "SessionTools", "Software Key", &input_and_output, NULL) == FIDO_OK) {
      ++*count;
    }
  }
  free(keys);
  return FIDO_OK;
}
