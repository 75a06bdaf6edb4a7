#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/vfs.h>

/* prctl takes a variable number of arguments, which Swift cannot pass. */
static inline int session_tools_forbid_dumping(void) {
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
