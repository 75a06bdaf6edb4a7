#include <spawn.h>

/* glibc declares these only with _GNU_SOURCE, which Swift's module of glibc does not define. */
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *, const char *);
