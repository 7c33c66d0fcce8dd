#include "framework/base/file.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16;
constexpr std::int64_t kMaxUnpackedBytes = std::int64_t{1} << 31;

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
  /// Returns false, with errno set, on an error: some file systems report a full disk only here.
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
  std::string content(guess + 1, '\0');  // one more byte, so that the end is seen without growing
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

// Unpacks all members of a gzip file, one after another; zeros after the last are padding.
// @param take  called with the unpacked content, part by part
void Inflate(std::string_view packed,
             const std::string& name,
             const std::function<void(std::string_view)>& take) {
  z_stream stream{};
  constexpr int kGzip = 16;
  EMPLACE_CHECK(inflateInit2(&stream, MAX_WBITS + kGzip) == Z_OK);
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } const end{&stream};

  std::string part(kChunk, '\0');
  std::size_t read = 0;
  const auto fail = [&](std::string_view what) {
    throw InputError(fmt::format("{}: {} (at byte {} of {})", name, what, read, packed.size()));
  };
  while (true) {
    const uInt in = static_cast<uInt>(std::min<std::size_t>(packed.size() - read, 1u << 30));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = kChunk;
    const int result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    take(std::string_view(part).substr(0, kChunk - stream.avail_out));
    if (result == Z_STREAM_END) {
      const std::size_t next = packed.find_first_not_of('\0', read);
      if (next == std::string::npos) break;
      if (next != read || !IsGzip(std::string_view(packed).substr(read))) {
        fail("corrupt gzip stream: garbage after its end");
      }
      inflateReset(&stream);
    } else if (result == Z_BUF_ERROR || result == Z_OK) {
      // No end, no more input, and room for output: the rest of the file is missing.
      if (read == packed.size() && stream.avail_out > 0) fail("truncated gzip stream");
    } else {
      fail(fmt::format("corrupt gzip stream: {}",
                       stream.msg != nullptr ? stream.msg : zError(result)));
    }
  }
}

// Unpacks twice. The first pass computes the size, so that a file that unpacks to a thousand times
// its size is refused before memory is allocated. The second pass fills memory of that size.
std::string Decompress(const std::string& packed, const std::string& name, std::int64_t max_bytes) {
  std::int64_t size = 0;
  Inflate(packed, name, [&](std::string_view part) {
    size += static_cast<std::int64_t>(part.size());
    if (size > max_bytes) FailTooLarge(name, max_bytes, "decompresses to");
  });
  std::string content;
  content.reserve(static_cast<std::size_t>(size));
  Inflate(packed, name, [&](std::string_view part) { content += part; });
  return content;
}

// The default header of deflate contains neither name nor time: equal content gives equal bytes.
std::string Compress(std::string_view content) {
  z_stream stream{};
  constexpr int kGzip = 16, kMemoryLevel = 8;
  EMPLACE_CHECK(deflateInit2(&stream,
                             Z_BEST_COMPRESSION,
                             Z_DEFLATED,
                             MAX_WBITS + kGzip,
                             kMemoryLevel,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  EMPLACE_CHECK(packed.size() <= UINT_MAX, "more than ReadFile() accepts");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EMPLACE_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Returns false, with errno set, on an error.
bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// Writes to a device or pipe (/dev/stdout), which cannot be replaced.
void WriteThrough(const std::string& name, std::string_view content) {
  Descriptor file(open(name.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 || !WriteAll(file.get(), content) || !file.Close()) {
    throw RunError(fmt::format("{}: cannot be written: {}", name, Reason()));
  }
}

std::filesystem::path FolderOf(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

// Takes the lock of a temporary file, which ends with its process. Returns false, with errno
// EAGAIN, if another process has it. The lock is not flock(), because readers of HDF5 use flock():
// they would be refused until the writer has closed the file that it has just renamed.
bool LockTemporary(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// The temporaries of a target are numbered, so that the leftovers of killed processes are found
// without listing the folder. A folder with 10,000 files would be listed 10,000 times.
std::filesystem::path TemporaryOf(const std::filesystem::path& target, int number) {
  return FolderOf(target) / fmt::format(".{}.{}.tmp", target.filename().string(), number);
}

bool IsNameOf(int fd, const std::filesystem::path& path) {
  struct stat opened {
  }, named{};
  return fstat(fd, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Removes the temporary of a killed process; a living one holds its lock. On a file system without
// locks it stays. Returns false if there is no such file.
bool RemoveLeftover(const std::filesystem::path& path) {
  struct stat named {};
  if (lstat(path.c_str(), &named) != 0) return false;
  const Descriptor file(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  // Only the holder of its lock removes a temporary, so no other process uses the name afterwards.
  const bool mine = file.get() >= 0 && LockTemporary(file.get()) && IsNameOf(file.get(), path);
  if (mine) unlink(path.c_str());
  return true;
}

void RemoveLeftovers(const std::filesystem::path& target) {
  constexpr int kWriters = 4;  // concurrent writers, whose temporaries may end in any order
  for (int number = 0; RemoveLeftover(TemporaryOf(target, number)) || number < kWriters;) ++number;
}

// An empty file next to the target, locked during the life of this object.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& target) : file_(Make(target, path_)) {}
  ~Temporary() {
    if (!placed_) unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int fd() const { return file_.get(); }
  /// Renames the file to the target. Returns false, with errno set, on an error.
  bool Place(const std::filesystem::path& target) {
    return placed_ = rename(path_.c_str(), target.c_str()) == 0;
  }

 private:
  static int Make(const std::filesystem::path& target, std::filesystem::path& path) {
    RemoveLeftovers(target);
    for (int number = 0;; ++number) {  // not mkstemp, which ignores the umask
      path = TemporaryOf(target, number);
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd < 0 && errno == EEXIST) continue;
      if (fd < 0) {
        throw RunError(fmt::format("{}: cannot be written: folder {}: {}",
                                   target.string(),
                                   FolderOf(target).string(),
                                   Reason()));
      }
      // Before the file was locked, another process may have removed it as a leftover.
      const bool taken = !LockTemporary(fd) && errno == EAGAIN;
      if (!taken && IsNameOf(fd, path)) return fd;
      close(fd);
    }
  }

  std::filesystem::path path_;
  Descriptor file_;
  bool placed_ = false;
};

void Replace(const std::filesystem::path& target, std::string_view content) {
  Temporary temporary(target);
  struct stat old {};
  if (stat(target.c_str(), &old) == 0) fchmod(temporary.fd(), old.st_mode & 07777);
  if (!WriteAll(temporary.fd(), content) || fsync(temporary.fd()) != 0 ||
      !temporary.Place(target)) {
    throw RunError(fmt::format("{}: cannot be written: {}", target.string(), Reason()));
  }
  const Descriptor parent(open(FolderOf(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) fsync(parent.get());  // the new name also survives a power cut
}

// Returns the file that a write to the path creates or replaces. For a link that is its target; the
// link stays. Returns nullopt for a device or pipe, which cannot be replaced.
// @throws RunError for a folder
std::optional<std::filesystem::path> Replaceable(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return path;
  if (S_ISDIR(status.st_mode)) {
    throw RunError(path.string() + ": cannot be written: is a folder");
  }
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target;
}

}  // namespace

std::string ReadFile(const std::filesystem::path& path, std::int64_t max_bytes) {
  std::string content = ReadRaw(path, max_bytes);
  if (!IsGzip(content)) return content;
  return Decompress(content, path.string(), std::min(max_bytes, kMaxUnpackedBytes));
}

void WriteFileAtomically(const std::filesystem::path& path, std::string_view content) {
  std::string packed;
  if (path.extension() == ".gz") {
    packed = Compress(content);
    content = packed;
  }
  if (const auto target = Replaceable(path)) return Replace(*target, content);
  WriteThrough(path.string(), content);
}

void RequireWritable(const std::filesystem::path& path) {
  const auto target = Replaceable(path);
  if (target) const Temporary probe(*target);
}

}  // namespace emplace
