#pragma once

// Whether two problems are the same. Each part of a problem on which results depend has a
// fingerprint of its own: a comparison names the parts that count, and gets those that differ.
// Results files hold the id of their problem (framework/results/FORMAT.md, `/problem`), so a change
// of what is mixed into a fingerprint makes them files of other problems.

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
  kSemantics,  ///< how a placement is simulated, but for the next
  kOrder,      ///< in which ops are issued, and whether a search may choose another
};
/// "graph", "groups", ...
std::string_view ToString(ProblemPart part);

using ProblemParts = std::span<const ProblemPart>;
inline constexpr std::array kAllParts = {ProblemPart::kGraph,
                                         ProblemPart::kGroups,
                                         ProblemPart::kCluster,
                                         ProblemPart::kCosts,
                                         ProblemPart::kObjective,
                                         ProblemPart::kSemantics,
                                         ProblemPart::kOrder};
/// What a Problem consists of.
inline constexpr ProblemParts kPartsOfProblem = ProblemParts(kAllParts).first(5);
/// What the files of graph, cluster and costs hold.
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

/// The id of a problem; semantics and order, of which it does not know, are 0.
ProblemId IdOf(const Problem& problem);

/// The parts that differ among those that count.
std::vector<ProblemPart> Differing(const ProblemId& a,
                                   const ProblemId& b,
                                   ProblemParts parts = kAllParts);

/// One fingerprint of all parts.
std::uint64_t Combined(const ProblemId& id);

/// Fingerprint of bytes. @param raw  as WriteRaw() writes them (framework/base/raw_stream.h)
std::int64_t FingerprintOf(std::string_view raw);

}  // namespace emplace
