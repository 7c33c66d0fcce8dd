// Makes calls of a program's C library fail, kill it, or lie about the time. To be preloaded;
// scripts/faults does it.
//
// What is counted: open (to write or create), write, pwrite, fsync, ftruncate, rename, unlink,
// remove and mkdir of what lies under FAULT_FOLDER, by this process and those it forks together,
// from 1.
//
// FAULT_FOLDER: absolute path; calls elsewhere are left alone.
//
// FAULT_AT: number of the first call that fails; 0 or unset: none does.
//
// FAULT_COUNT: how many fail from there on; 0: all of them.
//
// FAULT_ERROR: what they fail with: ENOSPC, EIO or EROFS; KILL: the process is killed before the
// call; SHORT: of what it is given, a write writes half and tells so, other calls do not fail. A
// full disk (ENOSPC) is as disks are: the first write that fails writes half; files can be cut off
// and names taken away, so that ftruncate to nothing, unlink and remove do not fail.
//
// FAULT_LOCKS: ENOLCK: every flock() and every lock by fcntl() under FAULT_FOLDER fails with it.
//
// FAULT_CLOCK: seconds by which the real-time clock jumps, back and forth at every call; files that
// are synchronised get times that have jumped, too.
//
// FAULT_LOG: file that gets one line for every call that failed: "write ENOSPC results.h5"; and,
// where the process ends by itself, "calls 35": how many were counted.
//
// A wrong value ends the program at once with exit code 99.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char* folder;
static long at, count, jump;
static int error, kills, halves, no_locks, log_file = -1;
static atomic_long* calls;  // shared with forked processes
static atomic_long* looks;  // at the clock
static atomic_long* full;   // writes that found the disk full

#define REAL(name) ((__typeof__(&name))real(#name))

static void* real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == NULL) _exit(99);
  return found;
}

static long number(const char* name) {
  const char* text = getenv(name);
  if (text == NULL) return 0;
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != 0 || value < 0) _exit(99);
  return value;
}

__attribute__((constructor)) static void begin(void) {
  folder = getenv("FAULT_FOLDER");
  at = number("FAULT_AT");
  count = number("FAULT_COUNT");
  jump = number("FAULT_CLOCK");
  no_locks = getenv("FAULT_LOCKS") != NULL;
  const char* name = getenv("FAULT_ERROR");
  if (at > 0) {
    if (folder == NULL || name == NULL) _exit(99);
    kills = strcmp(name, "KILL") == 0;
    halves = strcmp(name, "SHORT") == 0;
    if (strcmp(name, "ENOSPC") == 0) error = ENOSPC;
    if (strcmp(name, "EIO") == 0) error = EIO;
    if (strcmp(name, "EROFS") == 0) error = EROFS;
    if (!kills && !halves && error == 0) _exit(99);
  }
  const char* log = getenv("FAULT_LOG");
  if (log != NULL)
    log_file =
        (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  void* shared = mmap(
      NULL, 3 * sizeof(atomic_long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) _exit(99);
  calls = shared;
  looks = calls + 1;
  full = calls + 2;
}

__attribute__((destructor)) static void end(void) {
  if (log_file < 0) return;
  char line[32];
  const int length = snprintf(line, sizeof line, "calls %ld\n", atomic_load(calls));
  syscall(SYS_write, log_file, line, (size_t)length);
}

static int under_folder(const char* path) {
  if (folder == NULL || calls == NULL) return 0;
  char whole[2 * PATH_MAX];
  if (path[0] != '/') {
    if (getcwd(whole, PATH_MAX) == NULL) return 0;
    strcat(whole, "/");
    strncat(whole, path, PATH_MAX - 2);
    path = whole;
  }
  const size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static const char* path_of(int fd, char* buffer) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, buffer, PATH_MAX - 1);
  buffer[length > 0 ? length : 0] = 0;
  return buffer;
}

static void tell(const char* call, const char* path) {
  if (log_file < 0) return;
  char line[PATH_MAX + 64];
  const char* base = strrchr(path, '/');
  const int length = snprintf(
      line, sizeof line, "%s %s %s\n", call, getenv("FAULT_ERROR"), base ? base + 1 : path);
  syscall(SYS_write, log_file, line, (size_t)length);
}

static int gives_room(const char* call) {
  return strcmp(call, "unlink") == 0 || strcmp(call, "remove") == 0 || strcmp(call, "empty") == 0;
}

// Counts a call. True, with errno set, if it has to fail.
static int fails(const char* call, const char* path) {
  if (!under_folder(path)) return 0;
  const long now = atomic_fetch_add(calls, 1) + 1;
  if (error == ENOSPC && gives_room(call)) return 0;
  if (halves && strcmp(call, "write") != 0 && strcmp(call, "pwrite") != 0) return 0;
  if (at == 0 || now < at || (count > 0 && now >= at + count)) return 0;
  tell(call, path);
  if (kills) raise(SIGKILL);
  errno = error;
  return 1;
}

static int fd_fails(const char* call, int fd) {
  if (folder == NULL) return 0;
  char buffer[PATH_MAX];
  return fails(call, path_of(fd, buffer));
}

// How many of `size` bytes a call writes; -1, with errno set, if it has to fail.
static ssize_t part(const char* call, int fd, size_t size) {
  if (!fd_fails(call, fd)) return (ssize_t)size;
  const int half = halves || (error == ENOSPC && atomic_fetch_add(full, 1) == 0);
  if (half && size > 1) return (ssize_t)(size / 2);
  return halves ? (ssize_t)size : -1;
}

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) && fails("open", path)) return -1;
  return REAL(open)(path, flags, mode);
}

ssize_t write(int fd, const void* data, size_t size) {
  const ssize_t writes = part("write", fd, size);
  return writes < 0 ? -1 : REAL(write)(fd, data, (size_t)writes);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  const ssize_t writes = part("pwrite", fd, size);
  return writes < 0 ? -1 : REAL(pwrite)(fd, data, (size_t)writes, offset);
}

int ftruncate(int fd, off_t size) {
  return fd_fails(size == 0 ? "empty" : "ftruncate", fd) ? -1 : REAL(ftruncate)(fd, size);
}

int rename(const char* from, const char* to) {
  return fails("rename", to) ? -1 : REAL(rename)(from, to);
}

int unlink(const char* path) {
  return fails("unlink", path) ? -1 : REAL(unlink)(path);
}

int remove(const char* path) {
  return fails("remove", path) ? -1 : REAL(remove)(path);
}

int mkdir(const char* path, mode_t mode) {
  return fails("mkdir", path) ? -1 : REAL(mkdir)(path, mode);
}

static void shift(struct timespec* time) {
  if (atomic_fetch_add(looks, 1) % 2 == 0) {
    time->tv_sec -= jump;
  } else {
    time->tv_sec += jump;
  }
}

int fsync(int fd) {
  if (fd_fails("fsync", fd)) return -1;
  const int result = REAL(fsync)(fd);
  char buffer[PATH_MAX];
  if (jump != 0 && under_folder(path_of(fd, buffer))) {
    struct timespec times[2];
    for (int i = 0; i < 2; ++i) {
      syscall(SYS_clock_gettime, CLOCK_REALTIME, &times[i]);
      shift(&times[i]);
    }
    futimens(fd, times);
  }
  return result;
}

static int lock_fails(int fd) {
  char buffer[PATH_MAX];
  if (!no_locks || !under_folder(path_of(fd, buffer))) return 0;
  if (log_file >= 0) syscall(SYS_write, log_file, "flock ENOLCK\n", 13);
  errno = ENOLCK;
  return 1;
}

int flock(int fd, int operation) {
  return lock_fails(fd) ? -1 : REAL(flock)(fd, operation);
}

int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void* argument = va_arg(more, void*);
  va_end(more);
  const int locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
                    command == F_OFD_SETLKW;
  return locks && lock_fails(fd) ? -1 : REAL(fcntl)(fd, command, argument);
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && jump != 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    shift(time);
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}
