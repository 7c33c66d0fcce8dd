#pragma once

// Tests whether two problems are the same. Each part of a problem on which results depend has its
// own fingerprint. A comparison takes the parts to compare and returns those that differ. Results
// files hold the id of their problem (framework/results/FORMAT.md, `/problem`): after a change of
// the data in a fingerprint, existing files no longer match their problem.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "framework/search/problem.h"

namespace emplace {

enum class ProblemPart : std::uint8_t {
  kGraph,      ///< its name, ops and tensors, without measured costs
  kGroups,     ///< which ops are placed together
  kCluster,    ///< its name, devices, channels and routes
  kCosts,      ///< of every op on every device, with its interference
  kObjective,  ///< Objective
  kSemantics,  ///< how a placement is simulated, except for the order
  kOrder,      ///< the order in which ops are issued, and whether a search may choose another
};
/// Returns "graph", "groups", ...
std::string_view ToString(ProblemPart part);

using ProblemParts = std::span<const ProblemPart>;
inline constexpr std::array kAllParts = {ProblemPart::kGraph,
                                         ProblemPart::kGroups,
                                         ProblemPart::kCluster,
                                         ProblemPart::kCosts,
                                         ProblemPart::kObjective,
                                         ProblemPart::kSemantics,
                                         ProblemPart::kOrder};
/// The parts of a Problem.
inline constexpr ProblemParts kPartsOfProblem = ProblemParts(kAllParts).first(5);
/// The parts that the files of graph, cluster and costs hold.
inline constexpr std::array kPartsOfFiles = {ProblemPart::kGraph,
                                             ProblemPart::kCluster,
                                             ProblemPart::kCosts};

/// A fingerprint of every part.
struct ProblemId {
  std::array<std::int64_t, kAllParts.size()> parts{};

  std::int64_t& operator[](ProblemPart part) { return parts[static_cast<std::size_t>(part)]; }
  std::int64_t operator[](ProblemPart part) const { return parts[static_cast<std::size_t>(part)]; }
  auto operator<=>(const ProblemId&) const = default;
};

/// Returns the id of a problem. Semantics and order, which are not part of a Problem, are 0.
ProblemId IdOf(const Problem& problem);

/// Returns the parts that differ among `parts`.
std::vector<ProblemPart> Differing(const ProblemId& a,
                                   const ProblemId& b,
                                   ProblemParts parts = kAllParts);

/// Returns one fingerprint of all parts.
std::uint64_t Combined(const ProblemId& id);

/// Returns the fingerprint of bytes.
/// @param raw  as written by WriteRaw() (framework/base/raw_stream.h)
std::int64_t FingerprintOf(std::string_view raw);

}  // namespace emplace
