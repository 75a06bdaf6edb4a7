#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "SessionToolsLazyLibraries.h"

struct library {
  const char *file;
  /* Debian's package. */
  const char *package;
  void *_Atomic handle;
};

static struct library libraries[] = {
  [session_tools_library_gio] = {"libgio-2.0.so.0", "libglib2.0-0"},
  [session_tools_library_secret] = {"libsecret-1.so.0", "libsecret-1-0"},
  [session_tools_library_pam] = {"libpam.so.0", "libpam0g"},
  [session_tools_library_curl] = {"libcurl.so.4", "libcurl4"},
  [session_tools_library_fido2] = {"libfido2.so.1", "libfido2-1"},
  [session_tools_library_pq] = {"libpq.so.5", "libpq5"},
  [session_tools_library_gcrypt] = {"libgcrypt.so.20", "libgcrypt20"},
};

/* As functions.S numbers them. */
_Static_assert(
  session_tools_library_gio == 0 && session_tools_library_secret == 1 &&
    session_tools_library_pam == 2 && session_tools_library_curl == 3 &&
    session_tools_library_fido2 == 4 && session_tools_library_pq == 5 &&
    session_tools_library_gcrypt == 6,
  "the numbers of the libraries");

/* As functions.S lays it out. */
struct function {
  void *_Atomic address;
  const char *name;
  long library;
};

const char *session_tools_load_library(enum session_tools_library number) {
  struct library *library = &libraries[number];
  if (atomic_load(&library->handle)) return 0;
  /* Loading a library twice is allowed, and yields the same handle. */
  void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return dlerror();
  atomic_store(&library->handle, handle);
  return 0;
}

const char *session_tools_path_of_library(enum session_tools_library number) {
  struct link_map *map;
  void *handle = atomic_load(&libraries[number].handle);
  return handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : 0;
}

const char *session_tools_package_of_library(enum session_tools_library number) {
  return libraries[number].package;
}

/* Returns the address of a function. Ends the process if the library is not installed, because
   there is nothing that any function could return. */
__attribute__((visibility("hidden"))) void *session_tools_load_function(struct function *function) {
  struct library *library = &libraries[function->library];
  const char *problem = session_tools_load_library(function->library);
  void *address = 0;
  if (!problem) {
    address = dlsym(library->handle, function->name);
    if (!address) problem = dlerror();
  }
  if (!address) {
    dprintf(
      STDERR_FILENO,
      "session-tools: a library that is needed for this cannot be loaded: %s. "
      "Install it, on Debian with: sudo apt-get install %s\n",
      problem ? problem : library->file, library->package);
    /* As for a store that is not available. */
    _exit(4);
  }
  atomic_store(&function->address, address);
  return address;
}
