/* Preloaded, it lets PAM's modules take their translations from the directory TEXTS: newer versions
   of libpam name the system's directory again whenever they start. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

char *bindtextdomain(const char *domain, const char *directory) {
  char *(*next)(const char *, const char *) =
      (char *(*)(const char *, const char *))dlsym(RTLD_NEXT, "bindtextdomain");
  const char *texts = getenv("TEXTS");
  return next(domain, texts && directory ? texts : directory);
}
