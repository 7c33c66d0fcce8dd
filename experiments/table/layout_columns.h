#pragma once

// The columns of a layout, and what its other parts are read with as well. Internal to
// experiments/table.

#include <string>
#include <vector>

#include "experiments/table/table_layout.h"

namespace emplace::internal {

inline const std::vector<std::string> kTimeUnits = {"s", "ms", "us", "ns"};

/// The node of a key for messages, the whole map if it is left at its default.
ConfigNode Place(const ConfigNode& node, const std::string& key);

/// @throws InputError at `place` naming the choices, with "did you mean"
const std::string& RequireOneOf(const std::string& value,
                                const std::vector<std::string>& choices,
                                const std::string& what,
                                const ConfigNode& place);

/// The keys of map `node` but for those of `own`. @throws InputError for one of neither
std::vector<RunCondition> ReadConditions(const ConfigNode& node,
                                         const std::vector<std::string>& own = {});

/// Reads one column after another, then puts them in order.
class LayoutColumns {
 public:
  /// @param unit  of step times   @throws InputError as ReadTableLayout()
  LayoutColumns(const ConfigNode& list, const std::string& unit);

  const std::vector<LayoutColumn>& columns() const { return columns_; }
  const std::vector<int>& order() const { return order_; }
  /// Where a column stands.
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
