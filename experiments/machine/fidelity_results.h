#pragma once

// Verifications in results files.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiments/machine/verification.h"
#include "experiments/provenance/provenance.h"
#include "framework/results/record.h"

namespace emplace {

/// A row of the table `steps`: one placement. Times in [ns].
struct VerifiedStep {
  Nanos simulated = 0, searched = -1;
  double measured = 0, low = 0, high = 0, noise = 0;
  TimeInterval interval;
  PairedRatio to_fastest;
  std::int64_t crossing_bytes = 0, crossings = 0;
  double overlap = 0, proxy_share = 0;
  CostSourceShares shares{};

  void Visit(RecordVisitor& v);
};

/// A verification in its group (framework/results/FORMAT.md), without ablations and residuals.
struct VerificationRecord {
  using Matrix = std::vector<std::vector<std::int64_t>>;

  std::string graph, cluster, mode;
  int rounds = 0;
  double seconds = 0;
  std::int64_t placements = 0;
  StepInterval interval;
  VerificationSummary summary;
  std::vector<std::string> labels, unfitting, device_names;
  std::vector<VerifiedStep> steps;
  Matrix step_times, placement, busy_simulated, busy_measured, peak_simulated, peak_executor, arena;

  VerificationRecord() = default;
  VerificationRecord(const Verification& verification, const VerificationSummary& summary);
  void Visit(RecordVisitor& v);
};

/// Writes a verification to `group` ("/verification", "/validation/<graph>") and replaces the
/// previous contents.
void WriteVerification(ResultsFile& file,
                       const std::string& group,
                       const Verification& verification,
                       const VerificationSummary& summary,
                       std::span<const Ablation> ablations,
                       const Provenance& provenance);

}  // namespace emplace
