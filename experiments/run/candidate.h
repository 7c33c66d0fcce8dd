#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/time.h"
#include "framework/placement/placement.h"

namespace emplace {

/// A placement to be simulated or executed again.
struct Candidate {
  std::string label;    ///< labels of the searches that found it: "hill_climb.seed2", "etf, m_etf"
  Placement placement;  ///< [num_groups] of the problem that it is used with
  std::optional<Nanos> searched;  ///< step time in the search, perhaps with other semantics or
                                  ///< other costs; none without a search [ns]
  /// [num_ops] op ids in the order in which the search issued them; empty: the order of the run, or
  /// none.
  std::vector<int> issue_order;
};

/// Returns the labels of all searches that found a candidate: "etf, m_etf" -> etf and m_etf.
inline std::vector<std::string> SplitLabels(const std::string& label) {
  std::vector<std::string> labels;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 2) {
    end = label.find(", ", begin);
    labels.push_back(label.substr(begin, end - begin));
  }
  return labels;
}

/// Adds a candidate. If the list has one with the same placement and order, it gets the label, too.
inline void AddCandidate(Candidate next, std::vector<Candidate>& candidates) {
  const auto same = std::ranges::find_if(candidates, [&](const Candidate& other) {
    return other.placement == next.placement && other.issue_order == next.issue_order;
  });
  if (same != candidates.end()) {
    same->label += ", " + next.label;
  } else {
    candidates.push_back(std::move(next));
  }
}

}  // namespace emplace
