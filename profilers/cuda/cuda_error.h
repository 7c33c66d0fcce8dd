#pragma once

#include <stdexcept>
#include <string>

namespace emplace::cuda {

/// A CUDA call failed. Needs no CUDA header, so that any source can catch it.
class CudaError : public std::runtime_error {
 public:
  /// The message is "file:line: call: name (text)".
  /// @param call  source text of the call    @param code, name, text  as CUDA numbers, names and
  /// explains the error
  CudaError(const char* call,
            const char* file,
            int line,
            int code,
            const char* name,
            const char* text)
      : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           name + " (" + text + ")"),
        code_(code) {}

  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace emplace::cuda
