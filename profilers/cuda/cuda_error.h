#pragma once

#include <stdexcept>
#include <string>

namespace emplace::cuda {

/// A CUDA call failed. The class needs no CUDA header, so any source file can catch it.
class CudaError : public std::runtime_error {
 public:
  /// The message is "file:line: call: name (text)".
  /// @param call              source text of the call
  /// @param code, name, text  CUDA's number, name and explanation of the error
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
