#pragma once

// Reads the columns of a table layout, with helpers for its other parts. Internal to
// experiments/table.

#include <string>
#include <vector>

#include "experiments/table/table_layout.h"

namespace emplace::internal {

inline const std::vector<std::string> kTimeUnits = {"s", "ms", "us", "ns"};

/// Returns `value` if it is one of the choices.
/// @param what  noun for the message: "unit"
/// @throws InputError at `place` naming the choices, with "did you mean"
const std::string& RequireOneOf(const std::string& value,
                                const std::vector<std::string>& choices,
                                const std::string& what,
                                const ConfigNode& place);

/// Reads conditions on runs, one for each key of the map `node`.
/// @param own  keys with another meaning, which are skipped
/// @throws InputError for a key that is neither one of `own` nor one of RunKeys()
std::vector<RunCondition> ReadConditions(const ConfigNode& node,
                                         const std::vector<std::string>& own = {});

/// The columns of a layout and the order of their computation.
class LayoutColumns {
 public:
  /// @param list  value of the key `columns`
  /// @param unit  unit of step times
  /// @throws InputError as ReadTableLayout()
  LayoutColumns(const ConfigNode& list, const std::string& unit);

  const std::vector<LayoutColumn>& columns() const { return columns_; }
  /// Returns the indices of the columns, each after those in its formula.
  const std::vector<int>& order() const { return order_; }
  /// Returns the place of a column in the file, for messages.
  const ConfigNode& node(size_t index) const { return nodes_[index]; }
  std::vector<std::string> Names() const;
  /// @throws InputError at the formula for a name that is not a column
  void RequireNames(const Formula& formula) const;

 private:
  void Read(const ConfigNode& node);
  int IndexOf(const std::string& name) const;
  void AppendToOrder(int index);

  std::string unit_;
  std::vector<LayoutColumn> columns_;
  std::vector<ConfigNode> nodes_;
  std::vector<int> order_;
  std::vector<std::string> path_;  // columns whose inputs are being ordered
};

}  // namespace emplace::internal
