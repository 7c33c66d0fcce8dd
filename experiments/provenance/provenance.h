#pragma once

// Where results come from.

#include <string>

#include "framework/results/record.h"

namespace emplace {

/// Which code ran where and when: stored beside every result.
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

/// Of this process, now. GPUs are those that the driver's files name: CUDA is not loaded for it.
Provenance CollectProvenance();

/// The current time as Provenance::date has it.
std::string UtcNow();

/// The text of --version: version, commit, and the GPUs that this program can use, or why it can
/// use none. To find that out it loads CUDA.
std::string VersionText();

}  // namespace emplace
