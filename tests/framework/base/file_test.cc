#include "framework/base/file.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

namespace emplace {
namespace {

using testing::MessageOf;
using testing::TempDir;

void WriteRaw(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string ReadRaw(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int NumEntries(const std::filesystem::path& folder) {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder),
                                        std::filesystem::directory_iterator()));
}

std::string Gzipped(const TempDir& dir, const std::string& content) {
  WriteFileAtomically(dir / "packed.gz", content);
  return ReadRaw(dir / "packed.gz");
}

std::string ReadMessage(const std::filesystem::path& path, std::int64_t max_bytes = 1 << 20) {
  return MessageOf<InputError>([&] { ReadFile(path, max_bytes); });
}

// Numbers compress by about a half, so that the deflate stream has many blocks.
std::string Digits(size_t size) {
  Rng rng(1);
  std::string text;
  while (text.size() < size) text += std::to_string(rng());
  return text;
}

TEST_CASE("what is written is read back, compressed or not") {
  const TempDir dir;
  const std::string binary("\0\x1f\x8bzero\n", 8);
  for (const std::string& content :
       {std::string(), std::string("text\n"), binary, Digits(3'000'000)}) {
    WriteFileAtomically(dir / "plain.txt", content);
    WriteFileAtomically(dir / "packed.gz", content);
    CHECK(ReadRaw(dir / "plain.txt") == content);
    CHECK(ReadFile(dir / "plain.txt") == content);
    CHECK(ReadRaw(dir / "packed.gz").starts_with("\x1f\x8b"));
    CHECK(ReadFile(dir / "packed.gz") == content);
  }
  CHECK(NumEntries(dir.path()) == 2);
}

TEST_CASE("gzip is recognised by content, not by name") {
  const TempDir dir;
  const std::string packed = Gzipped(dir, "hello");
  WriteRaw(dir / "graph.json", packed);
  CHECK(ReadFile(dir / "graph.json") == "hello");
  WriteRaw(dir / "plain.gz", "hello");
  CHECK(ReadFile(dir / "plain.gz") == "hello");
}

TEST_CASE("equal content gives equal compressed bytes without a time stamp") {
  const TempDir dir;
  const std::string first = Gzipped(dir, Digits(1000));
  WriteFileAtomically(dir / "other_name.gz", Digits(1000));
  CHECK(first == ReadRaw(dir / "other_name.gz"));
  CHECK(first.substr(3, 5) == std::string(5, '\0'));  // flags: no name; mtime: 0 (RFC 1952, 2.3)
}

TEST_CASE("several gzip members are one content, zeros behind them padding") {
  const TempDir dir;
  const std::string a = Gzipped(dir, "first "), b = Gzipped(dir, "second");
  WriteRaw(dir / "two.gz", a + b + std::string(512, '\0'));
  CHECK(ReadFile(dir / "two.gz") == "first second");
  WriteRaw(dir / "junk.gz", a + "junk");
  CHECK(ReadMessage(dir / "junk.gz").find("junk.gz: corrupt gzip stream: garbage after its end") !=
        std::string::npos);
}

TEST_CASE("a gzip stream cut off anywhere is refused") {
  const TempDir dir;
  const std::string packed = Gzipped(dir, Digits(2000));
  for (size_t length = 2; length < packed.size(); ++length) {
    WriteRaw(dir / "cut.gz", packed.substr(0, length));
    const std::string message = ReadMessage(dir / "cut.gz");
    CHECK(message.find("cut.gz: truncated gzip stream (at byte ") != std::string::npos);
  }
}

TEST_CASE("a gzip stream with a wrong byte is refused") {
  const TempDir dir;
  const std::string packed = Gzipped(dir, Digits(2000));
  // Bytes 4 to 9 are time, flags and system of the header, which no checksum covers.
  for (size_t at = 10; at < packed.size(); at += 7) {
    std::string wrong = packed;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x55);
    WriteRaw(dir / "wrong.gz", wrong);
    const std::string message = ReadMessage(dir / "wrong.gz");
    const bool refused = message.find("wrong.gz: corrupt gzip stream: ") != std::string::npos ||
                         message.find("wrong.gz: truncated gzip stream") != std::string::npos;
    CHECK_MESSAGE(refused, message);
  }
  std::string wrong = packed;
  wrong[packed.size() - 8] ^= 1;  // the CRC
  WriteRaw(dir / "crc.gz", wrong);
  CHECK(ReadMessage(dir / "crc.gz").find("corrupt gzip stream: incorrect data check") !=
        std::string::npos);
}

TEST_CASE("a file beyond the limit is refused before and after decompression") {
  const TempDir dir;
  WriteRaw(dir / "large.txt", std::string(1001, 'a'));
  CHECK(ReadMessage(dir / "large.txt", 1000) ==
        (dir / "large.txt").string() + ": holds more than 1000 bytes, the limit");
  CHECK(ReadFile(dir / "large.txt", 1001).size() == 1001);
  Gzipped(dir, std::string(10'000'000, 'a'));  // about 10 kB
  CHECK(ReadMessage(dir / "packed.gz", 1'000'000) ==
        (dir / "packed.gz").string() + ": decompresses to more than 1000000 bytes, the limit");
  CHECK(ReadMessage("/dev/zero", 1'000'000) ==
        "/dev/zero: holds more than 1000000 bytes, the limit");
}

TEST_CASE("what cannot be read is named with the reason") {
  const TempDir dir;
  CHECK(ReadMessage(dir / "none.json") ==
        (dir / "none.json").string() + ": cannot be read: No such file or directory");
  CHECK(ReadMessage(dir.path()) == dir.path().string() + ": is a folder; expected a file");
}

TEST_CASE("what cannot be written is named with the reason and leaves nothing behind") {
  const TempDir dir;
  const auto message = [](const std::filesystem::path& path, const std::string& content = "x") {
    return MessageOf<RunError>([&] { WriteFileAtomically(path, content); });
  };
  CHECK(message(dir / "none/out.json") ==
        (dir / "none/out.json").string() + ": cannot be written: folder " +
            (dir / "none").string() + ": No such file or directory");
  std::filesystem::create_directory(dir / "folder");
  CHECK(message(dir / "folder") == (dir / "folder").string() + ": cannot be written: is a folder");
  WriteRaw(dir / "file", "");
  CHECK(message(dir / "file/out.json").find(": Not a directory") != std::string::npos);
  CHECK(message("/dev/full") == "/dev/full: cannot be written: No space left on device");
  CHECK(message(dir / (std::string(300, 'n') + ".json")).find(": File name too long") !=
        std::string::npos);
  CHECK(NumEntries(dir.path()) == 2);
}

TEST_CASE("a write that fails half way keeps the old content and leaves nothing behind") {
  const TempDir dir;
  WriteFileAtomically(dir / "out.txt", "old");
  // Files may grow to 100 kB only, which stands for a full disk.
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{100'000, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message = MessageOf<RunError>(
      [&] { WriteFileAtomically(dir / "out.txt", std::string(1'000'000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  CHECK(message == (dir / "out.txt").string() + ": cannot be written: File too large");
  CHECK(ReadFile(dir / "out.txt") == "old");
  CHECK(NumEntries(dir.path()) == 1);
}

TEST_CASE("replacing keeps the old content until the new is complete, the mode, and links") {
  const TempDir dir;
  WriteFileAtomically(dir / "out.txt", "old");
  std::filesystem::permissions(dir / "out.txt", std::filesystem::perms(0640));
  std::filesystem::create_symlink("out.txt", dir / "link.txt");
  std::ifstream reader(dir / "out.txt");
  WriteFileAtomically(dir / "link.txt", "new content");
  CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == "old");
  CHECK(ReadFile(dir / "out.txt") == "new content");
  CHECK(std::filesystem::is_symlink(dir / "link.txt"));
  CHECK(std::filesystem::status(dir / "out.txt").permissions() == std::filesystem::perms(0640));
  CHECK(NumEntries(dir.path()) == 2);
}

TEST_CASE("a new file gets the mode that the umask leaves") {
  const TempDir dir;
  const mode_t old = umask(027);
  WriteFileAtomically(dir / "out.txt", "x");
  umask(old);
  CHECK(std::filesystem::status(dir / "out.txt").permissions() == std::filesystem::perms(0640));
}

TEST_CASE("what killed writers have left goes with the next write, what living ones hold stays") {
  const TempDir dir;
  WriteRaw(dir / ".out.txt.0.tmp", "killed");
  WriteRaw(dir / ".out.txt.1.tmp", "alive");
  std::filesystem::create_directory(dir / ".out.txt.2.tmp");  // nobody's
  WriteRaw(dir / ".out.txt.3.tmp", "killed");
  const int held = open((dir / ".out.txt.1.tmp").c_str(), O_RDWR);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  REQUIRE(fcntl(held, F_OFD_SETLK, &lock) == 0);
  // Not temporaries of out.txt: of another file, and files of the user's.
  for (const char* other : {".out.txt.json.0.tmp",
                            ".out.txt.a.tmp",
                            ".out.txt.0.tmp.old",
                            "out.txt.0.tmp",
                            ".out.txt..tmp"}) {
    WriteRaw(dir / other, "other");
  }
  WriteFileAtomically(dir / "out.txt", "x");
  CHECK(!std::filesystem::exists(dir / ".out.txt.0.tmp"));
  CHECK(!std::filesystem::exists(dir / ".out.txt.3.tmp"));
  CHECK(ReadRaw(dir / ".out.txt.1.tmp") == "alive");
  CHECK(NumEntries(dir.path()) == 8);  // out.txt, the held one, the folder, five others
  close(held);
  RequireWritable(dir / "out.txt");
  CHECK(!std::filesystem::exists(dir / ".out.txt.1.tmp"));
  CHECK(ReadRaw(dir / "out.txt") == "x");
}

TEST_CASE("writers of one file at the same time leave one of their contents, whole") {
  const TempDir dir;
  const auto content = [](int writer) {
    return std::string(200'000, static_cast<char>('a' + writer));
  };
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 25; ++i) WriteFileAtomically(dir / "out.txt", content(writer));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string found = ReadRaw(dir / "out.txt");
  CHECK(found == content(found.at(0) - 'a'));
  CHECK(NumEntries(dir.path()) == 1);
}

TEST_CASE("whether a file can be written is found out without touching it") {
  const TempDir dir;
  RequireWritable(dir / "new.txt");
  CHECK(NumEntries(dir.path()) == 0);
  const auto message = [](const std::filesystem::path& path) {
    return MessageOf<RunError>([&] { RequireWritable(path); });
  };
  CHECK(message(dir.path()) == dir.path().string() + ": cannot be written: is a folder");
  CHECK(message(dir / "none/x") == (dir / "none/x").string() + ": cannot be written: folder " +
                                       (dir / "none").string() + ": No such file or directory");
  RequireWritable("/dev/null");
}

TEST_CASE("a device is written to, not replaced") {
  WriteFileAtomically("/dev/null", "gone");
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace emplace
