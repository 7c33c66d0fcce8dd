#pragma once

#include <string>
#include <string_view>

#include "framework/graph/graph.h"

namespace emplace {

/// The attributes of an op with the name in its attribute forward_op left open.
class ForwardOpAttribute {
 public:
  explicit ForwardOpAttribute(const Op& op);
  /// Returns the attributes with `prefix` before the name; the op's own without forward_op.
  std::string WithPrefix(std::string_view prefix) const;

 private:
  bool has_name_ = false;
  std::string before_, name_, after_;
};

}  // namespace emplace
