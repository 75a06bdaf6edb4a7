#include <fcntl.h>
#include <linux/stat.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <time.h>

/* prctl takes a variable number of arguments, which Swift cannot pass. */
static inline int session_tools_forbid_dumping(void) {
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* glibc declares these for GNU programs only, which Swift's module of it is not. */
extern int statx(int, const char *, int, unsigned, struct statx *);
extern int accept4(int, struct sockaddr *, socklen_t *, int);

/* glibc hides O_DIRECT behind _GNU_SOURCE, and its value differs by architecture. */
static inline int session_tools_direct(void) { return __O_DIRECT; }

/* The kind of file system a file is on, as in <linux/magic.h>. */
static inline int session_tools_file_system(int descriptor, unsigned *kind) {
  struct statfs status;
  int result = fstatfs(descriptor, &status);
  *kind = (unsigned)status.f_type;
  return result;
}

/* What is accepted is never inherited by a program that is started at the same moment. */
static inline int session_tools_accept(int listener) {
  return accept4(listener, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* What a file is, without its times. Whoever asks for them makes the next write to the file get
   another one, however short after (multigrain timestamps, Linux 6.13), and the next sync store it:
   a third more time for every change of a journal. An empty name stands for the descriptor, and a
   symbolic link for itself. */
static inline int session_tools_status(
  int descriptor, const char *name, struct statx *status
) {
  return statx(
    descriptor, name, 0x100 /* AT_SYMLINK_NOFOLLOW */ | 0x1000 /* AT_EMPTY_PATH */,
    STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_INO | STATX_SIZE, status);
}

/* Nanoseconds of a clock that only goes on, to a few milliseconds: reading it calls no kernel. */
static inline long long session_tools_coarse_time(void) {
  struct timespec time = {0};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Nanoseconds since the machine was started, also while it slept. Every kernel that runs Swift has
   the clock. Beside this module, Swift does not find the members of glibc's timespec. */
static inline long long session_tools_uptime(void) {
  struct timespec time = {0};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}
