#include "framework/cost/cost_table_records.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/config/units.h"

namespace emplace::internal {

OpClass JsonOpClass(const Json& value) {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = OpClassNames();
    names.emplace_back(ToString(OpClass::kView));
    return names;
  }();
  const std::string name = JsonChoice(value, "op class", kNames);
  for (int c = 0;; ++c) {
    if (name == ToString(static_cast<OpClass>(c))) return static_cast<OpClass>(c);
  }
}

DeviceClass JsonDeviceClass(const Json& value) {
  const std::vector<std::string>& names = DeviceClassNames();
  const auto found = std::ranges::find(names, JsonChoice(value, "device class", names));
  return static_cast<DeviceClass>(found - names.begin());
}

Bandwidth JsonRate(const Json& value) {
  return ParseBandwidth(JsonText(value, "a rate such as \"7.6GB/s\""));
}

int JsonFigure(const Json& value) {
  const std::optional<int> figure = ParseInterference(JsonAmount(value));
  if (figure) return *figure;
  throw InputError(fmt::format("got {}; expected a number from 0 to 16", ClippedJson(value)));
}

void RequireKey(const std::string& key, std::span<const std::string> choices) {
  JsonChoice(Json(key), "key", choices);
}

}  // namespace emplace::internal
