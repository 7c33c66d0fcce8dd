#include "framework/base/file_lock.h"

#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/base/file.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

using LockClock = std::chrono::steady_clock;
constexpr auto kLockPatience = std::chrono::seconds(1);
constexpr auto kLockPause = std::chrono::milliseconds(20);
constexpr std::int64_t kMaxHolder = 1000;  // [B] of the text that names the holder

// Returns "results/.run.h5.lock" for "results/run.h5", also if a link names that file.
fs::path LockPath(const fs::path& file) {
  std::error_code ignored;
  const fs::path target = fs::exists(file, ignored) ? fs::canonical(file, ignored) : file;
  return target.parent_path() / fmt::format(".{}.lock", target.filename().string());
}

std::string ReadHolder(const fs::path& path) {
  try {
    const std::string text = ReadFile(path, kMaxHolder);
    return text.empty() ? "another process" : text;
  } catch (const InputError&) {  // removed meanwhile, or not readable
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
  while (!Take(file, warn)) {
    if (LockClock::now() > end) {
      throw InputError(
          fmt::format("{}: is being written by {}; wait for its end, or name another file",
                      file.string(),
                      ReadHolder(path_)));
    }
    std::this_thread::sleep_for(kLockPause);
  }
  // The text is used in messages only: on a full disk, a lock without a name is sufficient.
  lock_->Write(LockHolder::ThisProcess().Text());
}

// Returns false if another process holds the lock, or has removed its file meanwhile.
bool FileLock::Take(const fs::path& file, const std::function<void(const std::string&)>& warn) {
  try {
    lock_.emplace(path_);
  } catch (const std::system_error& error) {
    throw RunError(fmt::format("{}: cannot be written: its lock {}: {}",
                               file.string(),
                               path_.string(),
                               error.code().message()));
  }
  try {
    return lock_->TryLock() && lock_->is_named();
  } catch (const std::system_error& error) {
    warn(fmt::format("{}: cannot be locked: {}; make sure that no other emplace writes it",
                     file.string(),
                     error.code().message()));
    return true;
  }
}

FileLock::~FileLock() {
  if (lock_) unlink(path_.c_str());  // before others can lock it
}

}  // namespace emplace
