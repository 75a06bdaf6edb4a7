// A library for LD_PRELOAD: the wall clock is wrong by SHIFTED_CLOCK seconds, or by as many as the
// file SHIFTED_CLOCK_FILE says, which a test writes meanwhile. No other clock is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
  const char *path = getenv("SHIFTED_CLOCK_FILE");
  if (path) {
    char text[32] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
      if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
      close(file);
    }
    return atol(text);
  }
  const char *text = getenv("SHIFTED_CLOCK");
  return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += shift();
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(time, zone);
  if (result == 0) time->tv_sec += shift();
  return result;
}
