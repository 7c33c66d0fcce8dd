#include "framework/base/write_at.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.h"

namespace emplace {
namespace {

std::string WholeText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_CASE("text is written where it belongs, and nothing else is changed") {
  const testing::TempDir folder;
  std::ofstream(folder / "f") << "abcdefgh";
  const int file = open((folder / "f").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(WriteAt(file, "XY", 3));
  REQUIRE(WriteAt(file, "", 100));
  CHECK(WholeText(folder / "f") == "abcXYfgh");
  REQUIRE(WriteAt(file, "end", 8));
  CHECK(WholeText(folder / "f") == "abcXYfghend");
  close(file);
  CHECK(!WriteAt(file, "x", 0));
  CHECK(errno == EBADF);
}

// With a largest size of files of 10 bytes the first call writes 7 of 12, as on a disk that becomes
// full, and the second none.
TEST_CASE("a file that takes a part only") {
  const testing::TempDir folder;
  const int file = open((folder / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10, 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    const bool written = WriteAt(file, "abcdefghijkl", 3);
    _exit(!written && errno == EFBIG ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(WholeText(folder / "f") == std::string(3, '\0') + "abcdefg");
  close(file);
}

}  // namespace
}  // namespace emplace
