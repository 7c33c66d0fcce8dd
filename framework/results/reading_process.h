#pragma once

// A child process that reads one untrusted file, so that damage that the reading library does not
// detect ends the child alone. The child has a limit of time and one of memory, opens no other file
// and ignores the signals that stop a program, which are its parent's business. Messages in both
// directions are a size and bytes; results_wire.h makes the bytes. Internal to framework/results.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include <sys/types.h>

namespace emplace::internal {

struct ReadingLimits {
  double factor = 1;    ///< $EMPLACE_RESULTS_LIMIT
  std::int64_t memory;  ///< beyond the memory that the process has when it begins [B]
  double processor;     ///< time of the processor [s]
};

/// Returns 4 GiB and 60 s, times $EMPLACE_RESULTS_LIMIT.
/// @throws InputError if the variable is not a number above 0
ReadingLimits LimitsOfResults();

class ReadingProcess {
 public:
  /// Starts the process. It is forked, so it has a copy of all of this process's data but only the
  /// calling thread. Its memory allocator must release its locks in a fork, as that of glibc does
  /// and those of sanitizers do not; with a sanitizer, no other thread may allocate meanwhile.
  /// @param name    the file, for messages
  /// @param answer  called in the child for each question. std::bad_alloc means that the limit of
  ///   memory is reached, the text of another exception that the file is damaged.
  /// @throws RunError if no process can be started
  ReadingProcess(std::string name,
                 const ReadingLimits& limits,
                 const std::function<std::string(const std::string& question)>& answer);
  /// Ends the process.
  ~ReadingProcess();
  ReadingProcess(const ReadingProcess&) = delete;
  ReadingProcess& operator=(const ReadingProcess&) = delete;

  /// Returns the answer to a question. Several threads may ask.
  /// @throws DamagedError with the child's reason, or if the child died
  /// @throws RunError if a limit was reached, naming it and how to raise it
  std::string Ask(const std::string& question);
  /// @throws DamagedError for an answer that does not have the expected form
  [[noreturn]] void FailIllFormed() const;

 private:
  [[noreturn]] void FailByDeath();
  [[noreturn]] void FailByLimit(const std::string& limit) const;
  int End();

  const std::string name_;
  const ReadingLimits limits_;
  std::mutex asking_;
  int socket_ = -1;
  pid_t child_ = -1;  // -1: it has ended
};

}  // namespace emplace::internal
