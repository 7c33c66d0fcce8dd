#pragma once

#include <string>

namespace emplace {

/// Which code ran where and when: stored beside every result.
struct Provenance {
  std::string version, commit;
  std::string host;  ///< host name
  std::string cpu;   ///< "Intel(R) Xeon(R) ..., 2 cores"
  /// "NVIDIA H200; driver 580.65.06"; "NVIDIA H200 (sm 9.0, 132 SMs, 139.80 GiB), driver 13.0" if
  /// the program has opened one; "none".
  std::string gpus;
  std::string date;  ///< UTC, "2026-11-21T10:20:30Z"
};

/// Loads nothing of CUDA.
Provenance CollectProvenance();

/// For --version: "emplace 0.1.0 (commit ...)" and the GPUs this program can use, or why it can use
/// none. Loads CUDA.
std::string VersionText();

}  // namespace emplace
