/* Preloaded into a process, never finishes the lookup of one name, as with a silent name server. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(
  const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found
) {
  while (name && strcmp(name, "hangs.test") == 0) pause();
  int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
    dlsym(RTLD_NEXT, "getaddrinfo");
  return next(name, service, hints, found);
}
