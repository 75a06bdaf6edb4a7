#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* prctl takes a variable number of arguments, which Swift cannot pass. */
static inline int session_tools_forbid_dumping(void) {
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* The width of a terminal in characters; 0 if it is not known. ioctl takes a variable number of
   arguments, too. */
static inline int session_tools_column_count(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* glibc declares these only with _GNU_SOURCE, which Swift's module of glibc does not define. */
extern int statx(int, const char *, int, unsigned, struct statx *);
extern int accept4(int, struct sockaddr *, socklen_t *, int);
extern int memfd_create(const char *, unsigned);
extern int pipe2(int[2], int);
extern int dup3(int, int, int);
extern int execvpe(const char *, char *const *, char *const *);

#if defined(__x86_64__)
#include <cpuid.h>

/* Which vector registers there are: 2 with AVX-512, 1 with AVX, 0 with SSE2 alone. */
static inline int session_tools_vector_level(void) {
  unsigned a, b, c, d, low, high;
  /* Only once, because a hypervisor takes some 20 us to answer. */
  __cpuid(1, a, b, c, d);
  if (!(c & bit_OSXSAVE)) return 0;
  /* What the kernel keeps for a process, which it can only where the processor has it. */
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6) return 0;
  return (low & 0xe6) == 0xe6 ? 2 : 1;
}

/* Clears the vector registers, all of which a called function may change. glibc's memcpy leaves in
   them what it copied, and a new thread, or the dynamic linker, stores them on a stack. */
static inline void session_tools_clear_vector_registers(int level) {
  if (level == 0) {
    __asm__ volatile(
      "pxor %%xmm0,%%xmm0; pxor %%xmm1,%%xmm1; pxor %%xmm2,%%xmm2; pxor %%xmm3,%%xmm3;"
      "pxor %%xmm4,%%xmm4; pxor %%xmm5,%%xmm5; pxor %%xmm6,%%xmm6; pxor %%xmm7,%%xmm7;"
      "pxor %%xmm8,%%xmm8; pxor %%xmm9,%%xmm9; pxor %%xmm10,%%xmm10; pxor %%xmm11,%%xmm11;"
      "pxor %%xmm12,%%xmm12; pxor %%xmm13,%%xmm13; pxor %%xmm14,%%xmm14; pxor %%xmm15,%%xmm15"
      ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    return;
  }
  __asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
    "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  if (level < 2) return;
  /* These exist with AVX-512 alone, for which this is not compiled, so no value is in them. */
  __asm__ volatile(
    "vpxorq %zmm16,%zmm16,%zmm16; vpxorq %zmm17,%zmm17,%zmm17; vpxorq %zmm18,%zmm18,%zmm18;"
    "vpxorq %zmm19,%zmm19,%zmm19; vpxorq %zmm20,%zmm20,%zmm20; vpxorq %zmm21,%zmm21,%zmm21;"
    "vpxorq %zmm22,%zmm22,%zmm22; vpxorq %zmm23,%zmm23,%zmm23; vpxorq %zmm24,%zmm24,%zmm24;"
    "vpxorq %zmm25,%zmm25,%zmm25; vpxorq %zmm26,%zmm26,%zmm26; vpxorq %zmm27,%zmm27,%zmm27;"
    "vpxorq %zmm28,%zmm28,%zmm28; vpxorq %zmm29,%zmm29,%zmm29; vpxorq %zmm30,%zmm30,%zmm30;"
    "vpxorq %zmm31,%zmm31,%zmm31");
}
#elif defined(__aarch64__)
static inline int session_tools_vector_level(void) { return 0; }

/* As above, but for the halves of v8 to v15 that a called function must keep. */
static inline void session_tools_clear_vector_registers(int level) {
  (void)level;
  __asm__ volatile(
    "movi v0.2d,#0\n movi v1.2d,#0\n movi v2.2d,#0\n movi v3.2d,#0\n movi v4.2d,#0\n"
    "movi v5.2d,#0\n movi v6.2d,#0\n movi v7.2d,#0\n movi v16.2d,#0\n movi v17.2d,#0\n"
    "movi v18.2d,#0\n movi v19.2d,#0\n movi v20.2d,#0\n movi v21.2d,#0\n movi v22.2d,#0\n"
    "movi v23.2d,#0\n movi v24.2d,#0\n movi v25.2d,#0\n movi v26.2d,#0\n movi v27.2d,#0\n"
    "movi v28.2d,#0\n movi v29.2d,#0\n movi v30.2d,#0\n movi v31.2d,#0"
    ::: "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21",
      "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}
#else
static inline int session_tools_vector_level(void) { return 0; }
static inline void session_tools_clear_vector_registers(int level) { (void)level; }
#endif

/* Swift cannot read a global variable that any thread may change. */
static inline char **session_tools_environment(void) { return __environ; }

/* glibc hides O_DIRECT behind _GNU_SOURCE, and its value differs by architecture. */
static inline int session_tools_direct(void) { return __O_DIRECT; }

/* Likewise O_TMPFILE. */
static inline int session_tools_unnamed(void) { return __O_TMPFILE | O_DIRECTORY; }

/* Locks or frees one byte for an open file (F_OFD_SETLK), without waiting. glibc hides the command
   behind _GNU_SOURCE, and fcntl takes a variable number of arguments. */
static inline int session_tools_set_lock(int descriptor, int kind, off_t byte) {
  struct flock request = {
    .l_type = (short)kind, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  return fcntl(descriptor, 37, &request);
}

/* Writes the kind of the lock that excludes one on this byte, or F_UNLCK (F_OFD_GETLK). */
static inline int session_tools_get_lock(int descriptor, int *kind, off_t byte) {
  struct flock request = {
    .l_type = (short)*kind, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  int result = fcntl(descriptor, 36, &request);
  *kind = request.l_type;
  return result;
}

/* The kind of file system a file is on, as in <linux/magic.h>. */
static inline int session_tools_file_system(int descriptor, unsigned *kind) {
  struct statfs status;
  int result = fstatfs(descriptor, &status);
  *kind = (unsigned)status.f_type;
  return result;
}

/* Names the current thread in ps, top and debuggers: up to 15 bytes. */
static inline void session_tools_name_thread(const char *name) {
  prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* Makes a file in memory that has no name, and that no program inherits by default. */
static inline int session_tools_memory_file(void) {
  return memfd_create("session-tools", 1 /* MFD_CLOEXEC */);
}

/* Accepts a connection. A program that is started at the same moment never inherits the socket. */
static inline int session_tools_accept(int listener) {
  return accept4(listener, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Finds the user of the process at the other end of a connected local socket. Returns -1 if the
   kernel does not know it. glibc declares the structure, ucred, only with _GNU_SOURCE. */
static inline int session_tools_local_peer_user(int descriptor, unsigned *user) {
  struct {
    pid_t process;
    uid_t user;
    gid_t group;
  } peer;
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  if (size != sizeof peer) return -1;
  *user = peer.user;
  return 0;
}

/* Reads the status of a file, without its times. If the times were read, the next write would give
   the file a new one, however soon it follows (multigrain timestamps, Linux 6.13), and the next
   sync would store it: a third more time for every change of a journal. An empty name means the
   descriptor itself. Symbolic links are not followed. */
static inline int session_tools_status(
  int descriptor, const char *name, struct statx *status
) {
  return statx(
    descriptor, name, 0x100 /* AT_SYMLINK_NOFOLLOW */ | 0x1000 /* AT_EMPTY_PATH */,
    STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID | STATX_INO | STATX_SIZE,
    status);
}

/* Nanoseconds of a monotonic clock, exact to a few milliseconds. Reading it is no system call. */
static inline long long session_tools_coarse_time(void) {
  struct timespec time = {0};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Nanoseconds since the machine was started, including the time it slept. Every kernel that runs
   Swift has this clock. Swift code that imports this module cannot use the members of glibc's
   timespec. */
static inline long long session_tools_uptime(void) {
  struct timespec time = {0};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* The number of bytes that have arrived at a socket and were not read. */
static inline int session_tools_arrived_byte_count(int descriptor) {
  int count = 0;
  return ioctl(descriptor, FIONREAD, &count) == 0 ? count : 0;
}

/* Where the other end of a socket is. */
enum session_tools_peer_location {
  session_tools_peer_none, /* It is not connected. */
  session_tools_peer_local_socket,
  session_tools_peer_loopback,
  session_tools_peer_elsewhere,
};

/* An IPv6 address that stands for one of IPv4 begins with these bytes. */
static const unsigned char session_tools_mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static inline enum session_tools_peer_location session_tools_peer_location(int descriptor) {
  struct sockaddr_storage peer;
  socklen_t size = sizeof peer;
  memset(&peer, 0, sizeof peer);
  if (getpeername(descriptor, (struct sockaddr *)&peer, &size) != 0)
    return session_tools_peer_none;
  if (peer.ss_family == AF_UNIX) return session_tools_peer_local_socket;
  if (peer.ss_family == AF_INET) {
    const unsigned char *four =
      (const unsigned char *)&((const struct sockaddr_in *)&peer)->sin_addr;
    return four[0] == 127 ? session_tools_peer_loopback : session_tools_peer_elsewhere;
  }
  if (peer.ss_family == AF_INET6) {
    const struct in6_addr *six = &((const struct sockaddr_in6 *)&peer)->sin6_addr;
    if (memcmp(six, &in6addr_loopback, sizeof *six) == 0) return session_tools_peer_loopback;
    if (memcmp(six, session_tools_mapped, sizeof session_tools_mapped) == 0)
      return six->s6_addr[12] == 127 ? session_tools_peer_loopback : session_tools_peer_elsewhere;
  }
  return session_tools_peer_elsewhere;
}

/* Converts an address to the form that the kernel's socket diagnosis uses. One of IPv4 is always
   in the form of IPv6, because each end of a connection may have either. */
static inline int session_tools_diagnosed_address(
  const struct sockaddr_storage *address, __be16 *port, __be32 bytes[4]
) {
  if (address->ss_family == AF_INET) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    *port = four->sin_port;
    memcpy(bytes, session_tools_mapped, sizeof session_tools_mapped);
    memcpy(&bytes[3], &four->sin_addr, sizeof four->sin_addr);
    return 0;
  }
  if (address->ss_family == AF_INET6) {
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    *port = six->sin6_port;
    memcpy(bytes, &six->sin6_addr, sizeof six->sin6_addr);
    return 0;
  }
  return -1;
}

/* Whether an address stands for one of IPv4. */
static inline int session_tools_is_mapped(const __be32 bytes[4]) {
  return memcmp(bytes, session_tools_mapped, sizeof session_tools_mapped) == 0;
}

/* Whether the kernel answered with this address. */
static inline int session_tools_is_diagnosed_address(
  const __be32 wanted[4], const __be32 found[4], unsigned char family
) {
  if (family == AF_INET6) return memcmp(found, wanted, 4 * sizeof wanted[0]) == 0;
  return session_tools_is_mapped(wanted) && found[0] == wanted[3];
}

/* Finds the user whose socket is at the other end of a TCP connection within this machine. Returns
   -1 if it cannot be found.

   Asks the kernel for the one socket whose own address is the peer's and whose peer is this one. */
static inline int session_tools_peer_user(int descriptor, unsigned *user) {
  struct sockaddr_storage own, peer;
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
  } request;
  memset(&own, 0, sizeof own);
  memset(&peer, 0, sizeof peer);
  memset(&request, 0, sizeof request);
  if (getsockname(descriptor, (struct sockaddr *)&own, &own_size) != 0) return -1;
  if (getpeername(descriptor, (struct sockaddr *)&peer, &peer_size) != 0) return -1;
  struct inet_diag_sockid *wanted = &request.body.id;
  __be32 source[4], target[4];
  if (session_tools_diagnosed_address(&peer, &wanted->idiag_sport, source) != 0) return -1;
  if (session_tools_diagnosed_address(&own, &wanted->idiag_dport, target) != 0) return -1;
  memcpy(wanted->idiag_src, source, sizeof source);
  memcpy(wanted->idiag_dst, target, sizeof target);
  request.body.sdiag_family = AF_INET6;
  /* A kernel without IPv6 knows the sockets of IPv4 alone. */
  if (session_tools_is_mapped(source) && session_tools_is_mapped(target)) {
    wanted->idiag_src[0] = source[3];
    wanted->idiag_dst[0] = target[3];
    request.body.sdiag_family = AF_INET;
  }
  wanted->idiag_cookie[0] = wanted->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0u;

  union {
    struct nlmsghdr head;
    char bytes[1024];
  } answer;
  int query = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (query < 0) return -1;
  /* The kernel has already answered when send returns. */
  ssize_t count = -1;
  if (send(query, &request, sizeof request, 0) == (ssize_t)sizeof request) {
    do {
      count = recv(query, &answer, sizeof answer, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
  }
  close(query);
  if (count < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg))) return -1;
  if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return -1;
  const struct inet_diag_msg *found = (const struct inet_diag_msg *)NLMSG_DATA(&answer.head);
  /* Without such a connection, the kernel answers with the socket that listens on the port. */
  if (found->id.idiag_sport != wanted->idiag_sport) return -1;
  if (found->id.idiag_dport != wanted->idiag_dport) return -1;
  const unsigned char family = found->idiag_family;
  if (!session_tools_is_diagnosed_address(source, found->id.idiag_src, family)) return -1;
  if (!session_tools_is_diagnosed_address(target, found->id.idiag_dst, family)) return -1;
  /* A socket that its process has closed no longer has a file, and is reported as root's. */
  if (found->idiag_inode == 0) return -1;
  *user = found->idiag_uid;
  return 0;
}
