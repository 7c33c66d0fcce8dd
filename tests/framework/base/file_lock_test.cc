#include "framework/base/file_lock.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::TempDir;

// Locks that cannot be had are refused by what the constructor throws; a warning would be wrong.
void NoLockWarning(const std::string& warning) {
  FAIL(warning);
}

TEST_CASE("a file is locked once, by whatever name, and free again afterwards") {
  const TempDir dir;
  std::ofstream(dir / "run.h5") << "x";
  std::filesystem::create_symlink("run.h5", dir / "link.h5");
  auto first = std::make_unique<FileLock>(dir / "run.h5", NoLockWarning);
  const std::string message =
      MessageOf<InputError>([&] { FileLock(dir / "link.h5", NoLockWarning); });
  CHECK(message.starts_with(
      fmt::format("{}: is being written by process {} on ", (dir / "link.h5").string(), getpid())));
  CHECK(message.ends_with("; wait for its end, or name another file"));
  const FileLock other(dir / "other.h5", NoLockWarning);
  first.reset();
  CHECK(!std::filesystem::exists(dir / ".run.h5.lock"));
  { const FileLock again(dir / "run.h5", NoLockWarning); }
  CHECK(!std::filesystem::exists(dir / ".run.h5.lock"));
  CHECK(std::filesystem::exists(dir / ".other.h5.lock"));
}

TEST_CASE("the lock of a killed process is taken over") {
  const TempDir dir;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const FileLock lock(dir / "run.h5", NoLockWarning);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  CHECK(MessageOf<InputError>([&] {
          FileLock(dir / "run.h5", NoLockWarning);
        }).find(fmt::format("process {} on ", child)) != std::string::npos);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(std::filesystem::exists(dir / ".run.h5.lock"));
  { const FileLock lock(dir / "run.h5", NoLockWarning); }
  CHECK(!std::filesystem::exists(dir / ".run.h5.lock"));
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("what cannot be written cannot be locked, a device needs no lock") {
  const TempDir dir;
  CHECK(MessageOf<RunError>([&] { FileLock(dir / "none" / "run.h5", NoLockWarning); }) ==
        (dir / "none/run.h5").string() + ": cannot be written: folder " + (dir / "none").string() +
            ": No such file or directory");
  const FileLock first("/dev/null", NoLockWarning), second("/dev/null", NoLockWarning);
}

}  // namespace
}  // namespace emplace
