// framework/results/FORMAT.md names what the records name, with the same types.

#include <doctest/doctest.h>

#include "experiments/generalize/generalize_results.h"
#include "experiments/machine/fidelity_results.h"
#include "experiments/run/run_bound.h"
#include "experiments/run/search_record.h"
#include "experiments/stress/stress_results.h"
#include "tests/support/pages.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using Types = std::map<std::string, std::string>;

template <class... Records>
Types AllOf(const std::string& group) {
  Types all;
  (all.merge(DescribeRecord<Records>(group)), ...);
  return all;
}

TEST_CASE("the page of the results format and the records say the same") {
  const std::string page = ReadPage("framework/results/FORMAT.md");
  const auto rows_of = [&](const std::string& heading) {
    Types types;
    for (const auto& row : TableOf(SectionOf(page, heading))) {
      const std::string& type = row.at("type");
      const bool is_new =
          types.emplace(CodeSpans(row.at("name")).at(0), type.substr(0, type.find(' '))).second;
      CHECK_MESSAGE(is_new, row.at("name"));
    }
    return types;
  };
  const std::string family = "/families/<family>";
  Types families = AllOf<FamilyRecord, TestsRecord>(family);
  families.merge(DescribeRecord<Training>(family + "/training/<label>"));
  Types stress = AllOf<Provenance, StressResult>("/stress");
  stress.merge(DescribeRecord<StressScenario>("/stress/scenarios/<scenario>"));
  const std::map<std::string, Types> sections = {
      {"`/agents/<label>`: one search", AllOf<SearchRecord, SearchLists>("/agents/<label>")},
      {"`/stress`: placements with other costs", stress},
      {"`/verification` and `/validation/<graph>`: placements executed",
       AllOf<Provenance, VerificationRecord>("/validation/<graph>")},
      {"`/residuals`: what the errors of a validation go with",
       DescribeRecord<ResidualReport>("/residuals")},
      {"`/families/<family>`: policies on graphs they never saw", families}};
  for (const auto& [heading, types] : sections) CHECK(rows_of(heading) == types);

  // Sections with more than a record.
  for (const auto& [heading, types] :
       {std::pair{"`/config`: how the results came about", DescribeRecord<Provenance>("/config")},
        std::pair{"`/problem`: what was placed where", DescribeRecord<BoundRecord>("/problem")}}) {
    const Types rows = rows_of(heading);
    for (const auto& [name, type] : types) {
      REQUIRE_MESSAGE(rows.contains(name), name);
      CHECK(rows.at(name) == type);
    }
  }
}

}  // namespace
