#pragma once

// Checks the claims of a paper against our numbers.

#include <vector>

#include "experiments/table/result_table.h"
#include "experiments/table/row_values.h"

namespace emplace {

/// Checks one claim row by row: call Add() for each row that it applies to, then Result().
class ClaimCheck {
 public:
  /// @param claim  must outlive this
  explicit ClaimCheck(const LayoutClaim& claim);
  /// @param row     index into ResultTable::rows
  /// @param values  numbers of the row
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
