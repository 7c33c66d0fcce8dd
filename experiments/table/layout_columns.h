#pragma once

// Reading the columns of a table layout, and what its other parts are read with, too. Internal to
// experiments/table.

#include <string>
#include <vector>

#include "experiments/table/table_layout.h"

namespace emplace::internal {

inline const std::vector<std::string> kTimeUnits = {"s", "ms", "us", "ns"};

/// Refuses a value that is none of the choices.
/// @param what  is chosen, for the message: "unit"
/// @return `value`
/// @throws InputError at `place` naming the choices, with "did you mean"
const std::string& RequireOneOf(const std::string& value,
                                const std::vector<std::string>& choices,
                                const std::string& what,
                                const ConfigNode& place);

/// Conditions on runs, one for each key of map `node`.
/// @param own  keys that mean something else, left out
/// @throws InputError for a key that is neither one of `own` nor one of RunKeys()
std::vector<RunCondition> ReadConditions(const ConfigNode& node,
                                         const std::vector<std::string>& own = {});

/// The columns of a layout, and the order in which they are to be computed.
class LayoutColumns {
 public:
  /// @param list  value of the key `columns`   @param unit  of step times
  /// @throws InputError as ReadTableLayout()
  LayoutColumns(const ConfigNode& list, const std::string& unit);

  const std::vector<LayoutColumn>& columns() const { return columns_; }
  /// Indices of the columns, each after those that its formula uses.
  const std::vector<int>& order() const { return order_; }
  /// Where a column was written, for messages.
  const ConfigNode& node(size_t index) const { return nodes_[index]; }
  std::vector<std::string> Names() const;
  /// @throws InputError at the formula for a name that is no column
  void RequireNames(const Formula& formula) const;

 private:
  void Read(const ConfigNode& node);
  int IndexOf(const std::string& name) const;
  void AppendToOrder(int index);

  std::string unit_;
  std::vector<LayoutColumn> columns_;
  std::vector<ConfigNode> nodes_;
  std::vector<int> order_;
  std::vector<std::string> path_;  // columns that wait for the next one in order
};

}  // namespace emplace::internal
