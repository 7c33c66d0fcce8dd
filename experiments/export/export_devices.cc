#include "experiments/export/export_devices.h"

#include <algorithm>
#include <regex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"

namespace emplace {
namespace {

struct Rules {
  const char* framework;
  std::regex device;
  const char* expected;
};

const Rules& RulesOf(NamingFramework framework) {
  static const Rules kTensorFlow = {
      "TensorFlow",
      std::regex(R"((/(job:\w+|replica:\d+|task:\d+))*/device:[A-Z_]+:\d+)"),
      "a device string such as /device:GPU:2"};
  static const Rules kTorch = {"PyTorch",
                               std::regex(R"(\d{1,4}|[a-z]+(:\d{1,4})?)"),
                               "a GPU's number, or a device such as cpu or cuda:1"};
  return framework == NamingFramework::kTensorFlow ? kTensorFlow : kTorch;
}

Json TorchName(const std::string& text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::stoi(text);
  }
  return text;
}

// Returns the name by rule; null if no rule matches the device.
Json NameByRule(const std::string& device, NamingFramework framework) {
  std::smatch parts;
  if (!std::regex_match(device, parts, std::regex(R"((cpu|gpu):(\d{1,4}))"))) return nullptr;
  const bool cpu = parts[1] == "cpu";
  if (framework == NamingFramework::kTorch) return cpu ? Json("cpu") : TorchName(parts[2]);
  return fmt::format(
      "/job:localhost/replica:0/task:0/device:{}:{}", cpu ? "CPU" : "GPU", std::stoi(parts[2]));
}

}  // namespace

std::map<std::string, std::string> ParseDeviceNames(const std::vector<std::string>& texts,
                                                    const Cluster& cluster,
                                                    NamingFramework framework) {
  const Rules& rules = RulesOf(framework);
  std::map<std::string, std::string> names;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      throw InputError(fmt::format(
          "--device-map: \"{}\" has no '='; expected DEVICE=NAME, NAME {}", text, rules.expected));
    }
    const std::string device = text.substr(0, equals), name = text.substr(equals + 1);
    if (cluster.FindDevice(device) < 0) {
      ThrowUnknown("--device-map", "device", device, cluster.DeviceNames());
    }
    if (!std::regex_match(name, rules.device)) {
      throw InputError(fmt::format("--device-map: {}: \"{}\" is not a device of {}; expected {}",
                                   device,
                                   name,
                                   rules.framework,
                                   rules.expected));
    }
    if (!names.emplace(device, name).second) {
      throw InputError(fmt::format("--device-map: device \"{}\" is named twice", device));
    }
  }
  return names;
}

std::vector<Json> NameDevices(const Cluster& cluster,
                              const std::vector<DeviceIndex>& device_of_op,
                              NamingFramework framework,
                              const std::map<std::string, std::string>& told) {
  std::vector<Json> names(cluster.num_devices());
  for (const DeviceIndex d : device_of_op) {
    if (!names[d].is_null()) continue;
    const std::string& device = cluster.device(d).name;
    if (const auto found = told.find(device); found != told.end()) {
      names[d] =
          framework == NamingFramework::kTorch ? TorchName(found->second) : Json(found->second);
    } else {
      names[d] = NameByRule(device, framework);
    }
    if (names[d].is_null()) {
      throw InputError(
          fmt::format("device \"{}\" of cluster \"{}\" has no name in {} (only cpu:N and gpu:N "
                      "have); give one with --device-map {}=NAME, NAME {}",
                      device,
                      cluster.name(),
                      RulesOf(framework).framework,
                      device,
                      RulesOf(framework).expected));
    }
  }
  return names;
}

}  // namespace emplace
