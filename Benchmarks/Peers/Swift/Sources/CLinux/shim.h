/* From unistd.h, where Glibc's module hides it behind _GNU_SOURCE. */
int syncfs(int descriptor);
