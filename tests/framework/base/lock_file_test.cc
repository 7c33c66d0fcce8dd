#include "framework/base/lock_file.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/file.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

TEST_CASE("holders are named, and known again") {
  const LockHolder self = LockHolder::ThisProcess();
  CHECK(self.Text() == fmt::format("process {} on {}", getpid(), self.host));
  CHECK(self.may_live());
  CHECK_FALSE(self.is_elsewhere());
  const std::optional<LockHolder> other = LockHolder::Parse("process 7 on elsewhere\n");
  REQUIRE(other);
  CHECK(other->Text() == "process 7 on elsewhere");
  CHECK(other->is_elsewhere());
  CHECK(other->may_live());  // nobody here knows
  for (const char* text : {"", "process", "process x on y", "process 7"}) {
    CHECK_FALSE(LockHolder::Parse(text));
  }
}

TEST_CASE("a process of this machine that has ended does not live") {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK_FALSE(LockHolder{child, LockHolder::ThisProcess().host}.may_live());
}

TEST_CASE("one holds it, until its object is gone") {
  const testing::TempDir dir;
  std::optional<LockFile> first(dir / "lock");
  const LockFile second(dir / "lock");
  CHECK(first->TryLock());
  CHECK_FALSE(second.TryLock());
  CHECK(first->Write("a long name"));
  CHECK(first->Write("name"));
  CHECK(ReadFile(dir / "lock") == "name");
  first.reset();
  CHECK(second.TryLock());
  CHECK(ReadFile(dir / "lock") == "name");  // outlives its writer
}

TEST_CASE("a file that was removed or replaced is not the path's any more") {
  const testing::TempDir dir;
  const LockFile lock(dir / "lock");
  CHECK(lock.is_named());
  std::filesystem::remove(dir / "lock");
  CHECK_FALSE(lock.is_named());
  const LockFile next(dir / "lock");
  CHECK(next.is_named());
  CHECK_FALSE(lock.is_named());
}

TEST_CASE("links and missing folders are refused") {
  const testing::TempDir dir;
  std::ofstream(dir / "file") << "x";
  std::filesystem::create_symlink("file", dir / "link");
  CHECK_THROWS_AS(LockFile{dir / "link"}, std::system_error);
  CHECK_THROWS_AS(LockFile{dir / "none" / "lock"}, std::system_error);
}

}  // namespace
}  // namespace emplace
