#pragma once

// The origin of results.

#include <string>

#include "framework/results/record.h"

namespace emplace {

/// The code, machine and time of a result; stored beside every result.
struct Provenance {
  std::string version, commit;
  std::string host;  ///< host name
  std::string cpu;   ///< "Intel(R) Xeon(R) ..., 2 cores"
  /// "NVIDIA H200; driver 580.65.06", or, if the program has opened it, "NVIDIA H200 (sm 9.0, 132
  /// SMs, 139.80 GiB), driver 13.0"; "none" without a GPU.
  std::string gpus;
  std::string date;  ///< UTC, "2026-11-21T10:20:30Z"

  void Visit(RecordVisitor& v);
};

/// Collects this process's provenance now. GPUs are read from the driver's files, without CUDA.
Provenance CollectProvenance();

/// Returns the current time in the format of Provenance::date.
std::string UtcNow();

/// Returns the text of --version: version, commit, and the GPUs that this program can use, or the
/// reason why it can use none. Loads CUDA to find them.
std::string VersionText();

}  // namespace emplace
