#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/base/time.h"
#include "framework/placement/placement.h"

namespace emplace {

/// A placement to be drawn, exported or executed.
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

}  // namespace emplace
