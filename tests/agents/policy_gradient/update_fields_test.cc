#include "agents/policy_gradient/update_fields.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/death.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("fields make columns, then rows, and no others than these") {
  UpdateTable table = MakeUpdateTable({{"loss", 5}, {"entropy", 6}});
  CHECK(table.columns == std::vector<std::string>{"loss", "entropy"});
  CHECK(table.num_rows() == 0);
  AddRow(table, {{"loss", 1}, {"entropy", 2}});
  AddRow(table, {{"loss", 3}, {"entropy", 4}});
  CHECK(table.values == std::vector<double>{1, 2, 3, 4});
  const auto dies_of = [&](const UpdateFields& fields) {
    return MessageOfAbort([&] { AddRow(table, fields); });
  };
  CHECK(dies_of({{"entropy", 2}, {"loss", 1}}).find("entropy") != std::string::npos);
  CHECK(dies_of({{"loss", 1}}) != "");
  CHECK(dies_of({{"loss", 1}, {"entropy", 2}}) == "");
}

}  // namespace
