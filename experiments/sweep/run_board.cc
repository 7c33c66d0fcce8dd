#include "experiments/sweep/run_board.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "framework/base/error.h"
#include "framework/base/write_at.h"

namespace emplace {
namespace {

constexpr int kMaxOwner = 400;  // [B]
constexpr char kStop = 'x', kNoStop = '.';

[[noreturn]] void ThrowBoard(const std::filesystem::path& path, const char* what) {
  throw RunError(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

int OpenBoard(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) ThrowBoard(path, "cannot be opened");
  return file;
}

struct flock BytesFrom(int begin, int count) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = begin;
  lock.l_len = count;
  return lock;
}

// Reads `count` bytes; fewer at the end of the file.
std::string ReadAt(const std::filesystem::path& path, int file, int begin, int count) {
  std::string text(static_cast<size_t>(count), '\0');
  ssize_t got = 0;
  do {
    got = pread(file, text.data(), text.size(), begin);
  } while (got < 0 && errno == EINTR);
  if (got < 0) ThrowBoard(path, "cannot be read");
  text.resize(static_cast<size_t>(got));
  return text;
}

// A board without Begin() is empty, or contains zeros.
RunProgress MarkOfByte(char byte) {
  return byte == '\0' ? RunProgress::kNew : static_cast<RunProgress>(byte);
}

}  // namespace

RunClaim::RunClaim(std::filesystem::path path, int file, int run)
    : path_(std::move(path)), file_(file), run_(run) {
}

RunClaim::RunClaim(RunClaim&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), run_(other.run_) {
}

RunClaim& RunClaim::operator=(RunClaim&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(run_, other.run_);
  return *this;
}

RunClaim::~RunClaim() {
  if (file_ >= 0) close(file_);
}

RunProgress RunClaim::mark() const {
  const std::string text = ReadAt(path_, file_, run_, 1);
  return text.empty() ? RunProgress::kNew : MarkOfByte(text[0]);
}

void RunClaim::Mark(RunProgress mark) const {
  const char byte = static_cast<char>(mark);
  if (!WriteAt(file_, {&byte, 1}, run_)) ThrowBoard(path_, "cannot be written");
}

RunBoard::RunBoard(std::filesystem::path path, int num_runs)
    : path_(std::move(path)), num_runs_(num_runs), file_(OpenBoard(path_)) {
}

RunBoard::~RunBoard() {
  close(file_);
}

std::string RunBoard::Read(int begin, int count) const {
  return ReadAt(path_, file_, begin, count);
}

void RunBoard::Write(const std::string& text, int begin) {
  if (!WriteAt(file_, text, begin)) ThrowBoard(path_, "cannot be written");
}

void RunBoard::Begin(const std::vector<RunProgress>& marks, const std::string& owner) {
  EMPLACE_CHECK(std::ssize(marks) == num_runs_);
  std::string text;
  for (const RunProgress mark : marks) text += static_cast<char>(mark);
  // Never shorter than before: a worker of an earlier sweep may be writing.
  text += kNoStop;
  text += '\n' + owner.substr(0, kMaxOwner) + '\n';
  Write(text, 0);
}

std::string RunBoard::owner() const {
  const std::string text = Read(num_runs_ + 2, kMaxOwner);
  return text.substr(0, text.find('\n'));
}

std::vector<RunProgress> RunBoard::Marks() const {
  const std::string text = Read(0, num_runs_);
  std::vector<RunProgress> marks(static_cast<size_t>(num_runs_), RunProgress::kNew);
  std::transform(text.begin(), text.end(), marks.begin(), MarkOfByte);
  return marks;
}

void RunBoard::RequestStop() {
  Write(std::string(1, kStop), num_runs_);
}

bool RunBoard::stop_requested() const {
  return Read(num_runs_, 1) == std::string(1, kStop);
}

std::optional<RunClaim> RunBoard::Claim(int run) const {
  RunClaim claim(path_, OpenBoard(path_), run);
  struct flock lock = BytesFrom(run, 1);
  while (fcntl(claim.file_, F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return std::nullopt;
    if (errno != EINTR) ThrowBoard(path_, "cannot be locked");
  }
  return claim;
}

bool RunBoard::IsClaimed(int run) const {
  return CountClaimed(run, run + 1) > 0;
}

int RunBoard::NumClaimed() const {
  return CountClaimed(0, num_runs_);
}

int RunBoard::CountClaimed(int begin, int end) const {
  if (begin >= end) return 0;
  struct flock lock = BytesFrom(begin, end - begin);  // F_OFD_GETLK returns one conflicting lock
  if (fcntl(file_, F_OFD_GETLK, &lock) != 0) ThrowBoard(path_, "its locks cannot be queried");
  if (lock.l_type == F_UNLCK) return 0;
  const int first = std::max(begin, static_cast<int>(lock.l_start));
  const int last =
      lock.l_len == 0 ? end : std::min(end, static_cast<int>(lock.l_start + lock.l_len));
  return last - first + CountClaimed(begin, first) + CountClaimed(last, end);
}

}  // namespace emplace
