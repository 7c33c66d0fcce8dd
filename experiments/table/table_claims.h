#pragma once

// Do the claims of a paper hold in our numbers?

#include <vector>

#include "experiments/table/result_table.h"
#include "experiments/table/row_values.h"

namespace emplace {

/// Checks one claim row by row: Add() for each row that it is about, then Result().
class ClaimCheck {
 public:
  /// @param claim  must outlive this
  explicit ClaimCheck(const LayoutClaim& claim);
  /// @param row  index into ResultTable::rows   @param values  its numbers
  void Add(int row, const RowValues& values);
  ClaimResult Result() const;

 private:
  bool HoldsIn(int num_rows) const;
  void AddPossible(const RowValues& values, ClaimRow& row) const;
  Possibility Possible() const;

  const LayoutClaim& claim_;
  ClaimResult result_;
  std::vector<int> rows_held_;  // [kTableResamples]
};

}  // namespace emplace
