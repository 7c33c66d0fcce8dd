#include "framework/base/file_lock.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

using LockClock = std::chrono::steady_clock;
constexpr auto kLockPatience = std::chrono::seconds(1);
constexpr auto kLockPause = std::chrono::milliseconds(20);
constexpr std::int64_t kMaxHolder = 1000;  // bytes of the text that names it

// "results/.run.h5.lock" for "results/run.h5", whichever link names it.
fs::path LockPath(const fs::path& file) {
  std::error_code ignored;
  const fs::path target = fs::exists(file, ignored) ? fs::canonical(file, ignored) : file;
  return target.parent_path() / fmt::format(".{}.lock", target.filename().string());
}

// Has the name still this file? Its holder may have removed it since it was opened.
bool IsNamed(int file, const fs::path& path) {
  struct stat opened {
  }, named{};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void WriteHolder(int file) {
  char host[256] = {};
  const std::string text = fmt::format(
      "process {} on {}", getpid(), gethostname(host, sizeof host - 1) == 0 ? host : "unknown");
  // For messages only: on a full disk a lock without a name is as good.
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) < 0) return;
}

std::string ReadHolder(const fs::path& path) {
  try {
    const std::string text = ReadFile(path, kMaxHolder);
    return text.empty() ? "another process" : text;
  } catch (const InputError&) {  // gone meanwhile, or not ours to read
    return "another process";
  }
}

}  // namespace

FileLock::FileLock(const fs::path& file, const std::function<void(const std::string&)>& warn) {
  std::error_code ignored;
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) return;
  RequireWritable(file);
  path_ = LockPath(file);
  const auto end = LockClock::now() + kLockPatience;
  while (true) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0) {
      throw RunError(fmt::format("{}: cannot be written: its lock {}: {}",
                                 file.string(),
                                 path_.string(),
                                 std::strerror(errno)));
    }
    const bool locked = flock(file_, LOCK_EX | LOCK_NB) == 0;
    const int problem = locked ? 0 : errno;
    if (locked && IsNamed(file_, path_)) break;
    if (!locked && problem != EWOULDBLOCK && problem != EINTR) {
      warn(fmt::format("{}: cannot be locked: {}; make sure that no other emplace writes it",
                       file.string(),
                       std::strerror(problem)));
      break;
    }
    close(file_);
    if (!locked && LockClock::now() > end) {
      throw InputError(
          fmt::format("{}: is being written by {}; wait for its end, or name another file",
                      file.string(),
                      ReadHolder(path_)));
    }
    if (!locked) std::this_thread::sleep_for(kLockPause);
  }
  WriteHolder(file_);
}

FileLock::~FileLock() {
  if (path_.empty()) return;
  unlink(path_.c_str());  // before others can lock it
  close(file_);
}

}  // namespace emplace
