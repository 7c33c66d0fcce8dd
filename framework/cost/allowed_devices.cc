#include "framework/cost/allowed_devices.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/glob.h"

namespace emplace {
namespace {

[[noreturn]] void RefuseEverywhere(const std::string& where, const Op& op, const Cluster& cluster) {
  std::vector<std::string> devices, limits;
  std::string_view reason = "is of these kinds";
  if (!op.device_kinds.empty()) {
    limits.push_back(fmt::format("device_kinds [{}]", fmt::join(op.device_kinds, ", ")));
  }
  if (!op.devices.empty()) {
    limits.push_back(fmt::format("devices [{}]", fmt::join(op.devices, ", ")));
    reason = "is allowed by both";
  }
  if (limits.empty()) {
    limits.emplace_back("devices of other classes than network, as it names none");
    reason = "is one";
  }
  for (int d = 0; d < cluster.num_devices(); ++d) {
    const DeviceKind& kind = cluster.kind_of(d);
    devices.push_back(
        fmt::format("{} ({}, {})", cluster.device(d).name, kind.name, ToString(kind.device_class)));
  }
  throw InputError(
      fmt::format("{}: op \"{}\" may only run on {}, but no device of cluster \"{}\" {}; the "
                  "cluster has {}",
                  where,
                  op.name,
                  fmt::join(limits, " and "),
                  cluster.name(),
                  reason,
                  fmt::join(devices, ", ")));
}

}  // namespace

bool MayRunOn(const Op& op, const DeviceKind& kind) {
  if (op.device_kinds.empty()) {
    return kind.device_class != DeviceClass::kNetwork || !op.devices.empty();
  }
  return std::any_of(op.device_kinds.begin(), op.device_kinds.end(), [&](const std::string& name) {
    return name == ToString(kind.device_class) || name == kind.name;
  });
}

std::uint64_t AllowedDevices::Of(const Op& op) {
  const std::pair restrictions(op.device_kinds, op.devices);
  const auto found = found_.find(restrictions);
  if (found != found_.end()) return found->second;
  return found_.emplace(restrictions, Find(op)).first->second;
}

std::uint64_t AllowedDevices::Find(const Op& op) const {
  const int num_devices = cluster_.num_devices();
  std::uint64_t named = op.devices.empty() ? ~std::uint64_t{0} : 0;
  for (const std::string& pattern : op.devices) {
    std::uint64_t matched = 0;
    for (int d = 0; d < num_devices; ++d) {
      if (MatchesGlob(pattern, cluster_.device(d).name)) matched |= std::uint64_t{1} << d;
    }
    if (matched == 0) {
      throw InputError(
          fmt::format("{}: graph \"{}\": op \"{}\": devices: no device of cluster \"{}\" matches "
                      "\"{}\"{}",
                      where_,
                      graph_.name(),
                      op.name,
                      cluster_.name(),
                      pattern,
                      ChoicesHint(pattern, cluster_.DeviceNames())));
    }
    named |= matched;
  }
  std::uint64_t allowed = 0;
  for (int d = 0; d < num_devices; ++d) {
    if (MayRunOn(op, cluster_.kind_of(d))) allowed |= named & std::uint64_t{1} << d;
  }
  if (allowed == 0) RefuseEverywhere(where_, op, cluster_);
  return allowed;
}

}  // namespace emplace
