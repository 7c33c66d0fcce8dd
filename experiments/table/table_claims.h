#pragma once

// Claims of a paper against our numbers, row by row.

#include <vector>

#include "experiments/table/result_table.h"
#include "experiments/table/row_values.h"

namespace emplace {

/// One claim, as the rows come.
class ClaimCheck {
 public:
  /// @param claim  outlives this
  explicit ClaimCheck(const LayoutClaim& claim);
  /// Takes the next row that the claim is about. @param row  index into ResultTable::rows
  void Add(int row, const RowValues& values);
  ClaimResult Result() const;

 private:
  bool HoldsIn(int num_rows) const;

  const LayoutClaim& claim_;
  ClaimResult result_;
  std::vector<int> rows_held_;  // [kTableResamples]
};

}  // namespace emplace
