#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/vfs.h>

/* prctl takes a variable number of arguments, which Swift cannot pass. */
static inline int session_tools_forbid_dumping(void) {
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* glibc declares it for GNU programs only, which Swift's module of it is not. */
extern int accept4(int, struct sockaddr *, socklen_t *, int);

/* What is accepted is never inherited by a program that is started at the same moment. */
static inline int session_tools_accept(int listener) {
  return accept4(listener, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
