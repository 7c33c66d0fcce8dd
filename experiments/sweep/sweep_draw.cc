#include "experiments/sweep/sweep_draw.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "framework/base/random.h"

namespace emplace {
namespace {

constexpr double kMostInt = 9007199254740992.0;  // 2^53: a double is exact up to here

// The values of one key.
class DrawnRange {
 public:
  explicit DrawnRange(const ConfigNode& node) : node_(node) {
    int kinds = 0;
    for (const char* kind : {"int", "float", "choice"}) {
      if (!node.IsMap() || !node.Has(kind)) continue;
      kind_ = kind;
      ++kinds;
    }
    if (kinds != 1) {
      node.Fail("expected {int: [LOW, HIGH]}, {float: [LOW, HIGH]} or {choice: [VALUE, ...]}");
    }
    const ConfigNode values = node.At(kind_);
    const std::vector<ConfigNode> listed = values.Elements();
    if (kind_ == "choice") {
      node.RequireKnownKeys(std::vector<std::string>{"choice"});
      if (listed.empty()) values.Fail("expected at least one value");
      choices_ = listed;
      return;
    }
    node.RequireKnownKeys(std::vector<std::string>{kind_, "log"});
    is_log_ = node.Has("log") && node.At("log").AsBool();
    if (listed.size() != 2) values.Fail("expected [LOW, HIGH]");
    for (int i = 0; i < 2; ++i) {
      double& end = i == 0 ? low_ : high_;
      end = kind_ == "int" ? static_cast<double>(listed[i].AsInt()) : listed[i].AsDouble();
      if (kind_ == "int" && std::abs(end) > kMostInt) {
        listed[i].Fail("expected a whole number of at most 2^53");
      }
    }
    if (low_ > high_) {
      values.Fail(fmt::format("expected a low end that is at most the high one, {}", high_));
    }
    if (is_log_ && low_ <= 0) values.Fail("expected a low end above 0, because log is true");
  }

  ConfigNode Draw(Rng& rng) const {
    if (kind_ == "choice") return choices_[UniformInt(rng, static_cast<int>(choices_.size()))];
    const double share = Uniform01(rng);
    // Whole numbers have cells of width 1, from low to high + 1.
    const double high = kind_ == "int" ? high_ + 1 : high_;
    double value = is_log_ ? low_ * std::pow(high / low_, share) : low_ + share * (high - low_);
    if (kind_ == "int") value = std::floor(value);
    value = std::clamp(value, low_, high_);
    ConfigNode drawn;
    drawn.Set("value",
              kind_ == "int" ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value),
              PlaceOnly(node_));
    return drawn.At("value");
  }

 private:
  ConfigNode node_;
  std::string kind_;
  double low_ = 0, high_ = 0;
  bool is_log_ = false;
  std::vector<ConfigNode> choices_;
};

}  // namespace

std::vector<std::vector<GridChoice>> DrawChoices(const ConfigNode& draw,
                                                 int count,
                                                 std::uint64_t seed) {
  std::vector<std::pair<std::string, DrawnRange>> ranges;
  for (const std::string& key : draw.Keys()) ranges.emplace_back(key, DrawnRange(draw.At(key)));
  std::vector<std::vector<GridChoice>> draws;
  if (ranges.empty()) return draws;
  Rng rng(seed);
  for (int i = 0; i < count; ++i) {
    std::vector<GridChoice>& choices = draws.emplace_back();
    for (const auto& [key, range] : ranges) choices.emplace_back(key, range.Draw(rng));
  }
  return draws;
}

}  // namespace emplace
