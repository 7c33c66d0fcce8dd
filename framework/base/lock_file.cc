#include "framework/base/lock_file.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "framework/base/write_at.h"

namespace emplace {
namespace {

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

LockHolder LockHolder::ThisProcess() {
  return {getpid(), HostName()};
}

std::optional<LockHolder> LockHolder::Parse(const std::string& text) {
  LockHolder holder;
  char host[256] = {};
  if (std::sscanf(text.c_str(), "process %d on %255s", &holder.pid, host) != 2) return std::nullopt;
  holder.host = host;
  return holder;
}

std::string LockHolder::Text() const {
  return fmt::format("process {} on {}", pid, host);
}

bool LockHolder::is_elsewhere() const {
  return host != HostName();
}

bool LockHolder::may_live() const {
  return is_elsewhere() || kill(pid, 0) == 0 || errno != ESRCH;
}

LockFile::LockFile(const std::filesystem::path& path)
    : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category());
}

LockFile::~LockFile() {
  close(file_);
}

bool LockFile::TryLock() const {
  while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw std::system_error(errno, std::generic_category());
  }
  return true;
}

bool LockFile::is_named() const {
  struct stat opened {
  }, named{};
  return fstat(file_, &opened) == 0 && stat(path_.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

bool LockFile::Write(const std::string& text) const {
  if (ftruncate(file_, 0) == 0 && WriteAt(file_, text, 0)) return true;
  const int reason = errno;
  std::ignore = ftruncate(file_, 0);  // a part of a name would be taken for another process
  errno = reason;
  return false;
}

}  // namespace emplace
