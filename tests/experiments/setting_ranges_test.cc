// The ranges of all settings: of every agent, and of the configs of commands.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/registry.h"
#include "experiments/generalize/generalize_config.h"
#include "experiments/problem/coarsening_passes.h"
#include "experiments/run/run_config.h"
#include "experiments/sweep/sweep_config.h"
#include "framework/base/error.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr const char* kNothing = "(nothing was thrown)";  // of MessageOf()

using ReadConfig = std::function<void(const ConfigNode& node)>;

std::string NumberText(double number) {
  return std::floor(number) == number ? fmt::format("{:.0f}", number) : fmt::to_string(number);
}

// What reading "{a: {b: VALUE}}" says, for the key "a.b".
std::string RefusalOfValue(const ReadConfig& read, const std::string& key, double value) {
  std::string text = "{" + key, end = "}";
  for (size_t dot; (dot = text.find('.')) != std::string::npos; end += "}") {
    text.replace(dot, 1, ": {");
  }
  text += ": " + NumberText(value) + end;
  CAPTURE(text);
  return MessageOf<InputError>([&] { read(ConfigNode::FromString(text, "a.yaml")); });
}

// Tries the ends of each range, and numbers beyond them. @return how many ranges there are
int CheckRanges(const std::vector<FieldHelp>& fields, const ReadConfig& read) {
  int count = 0;
  for (const FieldHelp& field : fields) {
    if (!field.range) continue;
    CAPTURE(field.key);
    ++count;
    const auto refused = [&](double value) {
      const std::string message = RefusalOfValue(read, field.key, value);
      CAPTURE(message);
      CHECK(message.starts_with("a.yaml:1:"));
      const size_t begin = message.find(": " + field.key + ": expected a number ");
      REQUIRE(begin != std::string::npos);
      CHECK(message.ends_with(", got " + NumberText(value)));
      // The help shows the range in the same words.
      const std::string words = message.substr(message.find("a number ", begin));
      CHECK(field.help.ends_with("; " + words.substr(0, words.rfind(", got "))));
    };
    const auto [low, high] = *field.range;
    CHECK(low < high);
    CHECK(RefusalOfValue(read, field.key, low) == kNothing);
    refused(low - 1);
    if (std::isinf(high)) continue;
    CHECK(RefusalOfValue(read, field.key, high) == kNothing);
    refused(high + 1);
  }
  return count;
}

template <class Config>
int CheckConfigRanges(const Config& config = {}) {
  return CheckRanges(DescribeFields(config),
                     [&](const ConfigNode& node) { ReadFields(node, config); });
}

TEST_CASE("every agent refuses settings beyond their ranges, and shows these") {
  int count = 0;
  for (const AgentEntry& entry : AllAgents().entries()) {
    CAPTURE(entry.name);
    count += CheckRanges(entry.describe_settings(),
                         [&](const ConfigNode& node) { entry.resolve_settings(node); });
  }
  CHECK(count > 200);
}

TEST_CASE("the configs of commands refuse numbers beyond their ranges, and show these") {
  CHECK(CheckConfigRanges<RunConfig>() == 9);
  CHECK(CheckConfigRanges<SweepConfig>() == 7);
  CHECK(CheckConfigRanges<GeneralizeConfig>() == 3);
  for (const char* pass : {"scope", "merge_cheapest", "heavy_edge"}) {
    CHECK(CheckConfigRanges(CoarseningPass{.name = pass}) == 1);
  }
}

}  // namespace
