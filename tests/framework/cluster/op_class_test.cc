#include "framework/cluster/op_class.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("a device kind tells its efficiency for every class but views, and for memory") {
  const std::vector<std::string> names = OpClassNames();
  CHECK(names.size() == static_cast<size_t>(OpClass::kUnknown));
  CHECK(names.front() == ToString(OpClass::kMatmul));
  CHECK(names.back() == ToString(OpClass::kUnknown));
  std::vector<std::string> keys = EfficiencyKeys();
  CHECK(keys.back() == "memory");
  keys.pop_back();
  CHECK(keys == names);
}

}  // namespace
