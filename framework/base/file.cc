#include "framework/base/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;

std::string Reason() {
  return std::strerror(errno);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  /// False with errno set: some file systems report a full disk only here.
  bool Close() { return close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

[[noreturn]] void FailTooLarge(const std::string& name, std::int64_t max_bytes, const char* what) {
  throw InputError(fmt::format("{}: {} more than {} bytes, the limit", name, what, max_bytes));
}

std::string ReadRaw(const std::filesystem::path& path, std::int64_t max_bytes) {
  const std::string name = path.string();
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw InputError(fmt::format("{}: cannot be read: {}", name, Reason()));
  struct stat status {};
  if (fstat(file.get(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw InputError(name + ": is a folder; expected a file");
    if (S_ISREG(status.st_mode) && status.st_size > max_bytes) {
      FailTooLarge(name, max_bytes, "holds");
    }
  }
  const std::size_t guess = S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
  std::string content(guess + 1, '\0');  // one more, so that the end is seen without growing
  std::size_t size = 0;
  while (true) {
    if (size == content.size()) content.resize(content.size() + std::max(kChunk, content.size()));
    const ssize_t got = read(file.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError(fmt::format("{}: cannot be read: {}", name, Reason()));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (static_cast<std::int64_t>(size) > max_bytes) FailTooLarge(name, max_bytes, "holds");
  }
  content.resize(size);
  return content;
}

bool IsGzip(std::string_view content) {
  return content.starts_with("\x1f\x8b");
}

// All members of a gzip file, one after another; zeros behind the last are padding.
std::string Decompress(const std::string& packed, const std::string& name, std::int64_t max_bytes) {
  z_stream stream{};
  constexpr int kGzip = 16;
  EMPLACE_CHECK(inflateInit2(&stream, MAX_WBITS + kGzip) == Z_OK);
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } const end{&stream};

  std::string content;
  std::size_t read = 0, written = 0;
  const auto fail = [&](std::string_view what) {
    throw InputError(fmt::format("{}: {} (at byte {} of {})", name, what, read, packed.size()));
  };
  while (true) {
    if (written == content.size()) {
      content.resize(std::max(content.size() * 2, std::max(kChunk, packed.size() * 4)));
    }
    const uInt in = static_cast<uInt>(std::min<std::size_t>(packed.size() - read, 1u << 30));
    const uInt out = static_cast<uInt>(std::min<std::size_t>(content.size() - written, 1u << 30));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + written);
    stream.avail_out = out;
    const int result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
    if (static_cast<std::int64_t>(written) > max_bytes) {
      FailTooLarge(name, max_bytes, "decompresses to");
    }
    if (result == Z_STREAM_END) {
      const std::size_t next = packed.find_first_not_of('\0', read);
      if (next == std::string::npos) break;
      if (next != read || !IsGzip(std::string_view(packed).substr(read))) {
        fail("corrupt gzip stream: garbage behind its end");
      }
      inflateReset(&stream);
    } else if (result == Z_BUF_ERROR || result == Z_OK) {
      // Neither an end nor more input, although there is room for output: the rest is missing.
      if (read == packed.size() && written < content.size()) fail("truncated gzip stream");
    } else {
      fail(fmt::format("corrupt gzip stream: {}",
                       stream.msg != nullptr ? stream.msg : zError(result)));
    }
  }
  content.resize(written);
  return content;
}

// The default header of deflate holds neither name nor time: equal content, equal bytes.
std::string Compress(std::string_view content) {
  z_stream stream{};
  constexpr int kGzip = 16, kMemoryLevel = 8;
  EMPLACE_CHECK(deflateInit2(&stream,
                             Z_BEST_COMPRESSION,
                             Z_DEFLATED,
                             MAX_WBITS + kGzip,
                             kMemoryLevel,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed;
  std::size_t read = 0, written = 0;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    if (written == packed.size()) packed.resize(packed.size() + kChunk);
    const uInt in = static_cast<uInt>(std::min<std::size_t>(content.size() - read, 1u << 30));
    const uInt out = static_cast<uInt>(packed.size() - written);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data() + read));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(packed.data() + written);
    stream.avail_out = out;
    result = deflate(&stream, read + in == content.size() ? Z_FINISH : Z_NO_FLUSH);
    EMPLACE_CHECK(result != Z_STREAM_ERROR);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  deflateEnd(&stream);
  packed.resize(written);
  return packed;
}

// False with errno set.
bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// A device or pipe (/dev/stdout) cannot be replaced, only written to.
void WriteThrough(const std::string& name, std::string_view content) {
  Descriptor file(open(name.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 || !WriteAll(file.get(), content) || !file.Close()) {
    throw RunError(fmt::format("{}: cannot be written: {}", name, Reason()));
  }
}

void Replace(const std::filesystem::path& target, std::string_view content) {
  static std::atomic<unsigned> counter = 0;
  const std::filesystem::path folder =
      target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  std::filesystem::path temporary;
  int fd = -1;
  do {  // not mkstemp, which ignores the umask
    temporary =
        folder / fmt::format(".{}.{}.{}.tmp", target.filename().string(), getpid(), counter++);
    fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  Descriptor file(fd);
  if (fd < 0) {
    throw RunError(fmt::format(
        "{}: cannot be written: folder {}: {}", target.string(), folder.string(), Reason()));
  }
  struct stat old {};
  if (stat(target.c_str(), &old) == 0) fchmod(fd, old.st_mode & 07777);
  if (!WriteAll(fd, content) || fsync(fd) != 0 || !file.Close() ||
      rename(temporary.c_str(), target.c_str()) != 0) {
    const std::string reason = Reason();
    unlink(temporary.c_str());
    throw RunError(fmt::format("{}: cannot be written: {}", target.string(), reason));
  }
  const Descriptor parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) fsync(parent.get());  // the new name survives a power cut, too
}

}  // namespace

std::string ReadFile(const std::filesystem::path& path, std::int64_t max_bytes) {
  std::string content = ReadRaw(path, max_bytes);
  return IsGzip(content) ? Decompress(content, path.string(), max_bytes) : content;
}

void WriteFileAtomically(const std::filesystem::path& path, std::string_view content) {
  std::string packed;
  if (path.extension() == ".gz") {
    packed = Compress(content);
    content = packed;
  }
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    throw RunError(path.string() + ": cannot be written: is a folder");
  }
  if (exists && !S_ISREG(status.st_mode)) return WriteThrough(path.string(), content);
  // A link stays a link: what it points at is replaced.
  std::error_code error;
  const auto target = exists ? std::filesystem::canonical(path, error) : path;
  Replace(error ? path : target, content);
}

}  // namespace emplace
