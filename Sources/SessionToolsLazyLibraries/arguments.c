#include "SessionToolsLazyLibraries.h"

static int count;
static char **arguments;

/* glibc passes the arguments of main to constructors, too. Swift's own list is empty where /proc
   is not mounted. */
__attribute__((constructor)) static void keep(int argc, char **argv) {
  count = argc;
  arguments = argv;
}

int session_tools_argument_count(void) {
  return count;
}

const char *session_tools_argument(int position) {
  return position >= 0 && position < count ? arguments[position] : 0;
}
