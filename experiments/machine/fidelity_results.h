#pragma once

// Verifications in results files.

#include <span>
#include <string>

#include "experiments/machine/verification.h"
#include "experiments/provenance/provenance.h"
#include "framework/results/results_file.h"

namespace emplace {

/// Writes a verification into `group` ("/verification", "/validation/<graph>"), in the place of
/// what it held before; laid out as framework/results/FORMAT.md tells.
void WriteVerification(ResultsFile& file,
                       const std::string& group,
                       const Verification& verification,
                       const VerificationSummary& summary,
                       std::span<const Ablation> ablations,
                       const Provenance& provenance);

/// Writes what errors go with into `group` ("/residuals" for all graphs of a validation together);
/// WriteVerification() does it for the graph itself.
void WriteResiduals(ResultsFile& file, const std::string& group, const ResidualReport& report);

}  // namespace emplace
