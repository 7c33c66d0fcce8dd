#pragma once

#include <stdexcept>
#include <string>

namespace emplace::cuda {

/// A CUDA call failed. C++17 and free of CUDA headers, so that both compilers can include it.
class CudaError : public std::runtime_error {
 public:
  /// @param call  source text of the call    @param code, name  as CUDA numbers and names the error
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
