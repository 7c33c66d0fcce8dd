#include "profilers/device_names.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"

namespace emplace {

namespace {

constexpr const char* kForms =
    "cpu:N, gpu:N, gpu:N/PARTS (equal partitions) or gpu:N/SMS+SMS+... (partitions with these "
    "numbers of SMs)";

std::string Describe(const MachineParts& machine) {
  std::vector<std::string> gpus;
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    gpus.push_back(
        fmt::format("gpu:{} ({}, {} SMs)", i, machine.gpus[i].name, machine.gpus[i].sm_count));
  }
  if (gpus.empty() && !machine.no_gpu.empty()) gpus.push_back(machine.no_gpu);
  return fmt::format("this machine has {} cores{}{}",
                     machine.cores.size(),
                     gpus.empty() ? "" : " and ",
                     fmt::join(gpus, ", "));
}

/// Returns the unsigned number that makes up all of `text`.
std::optional<int> ParseNumber(std::string_view text) {
  int value = 0;
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void Reject(const std::string& name, const MachineParts& machine) {
  throw InputError(fmt::format("device \"{}\": expected {}; {}", name, kForms, Describe(machine)));
}

/// Returns the sizes of the partitions that the text after the slash requests.
std::vector<int> PartitionSizes(const std::string& name,
                                std::string_view text,
                                const GpuInfo& gpu,
                                const MachineParts& machine) {
  const SmGranule granule = SmGranuleOf(gpu);
  const int all = gpu.sm_count / granule.multiple * granule.multiple;
  std::vector<int> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    const std::optional<int> number = ParseNumber(text.substr(begin, end - begin));
    if (!number || *number == 0) Reject(name, machine);
    numbers.push_back(*number);
    begin = end + 1;
  }
  if (numbers.size() == 1) {
    const int parts = numbers[0], size = all / parts / granule.multiple * granule.multiple;
    if (size < granule.minimum) {
      throw InputError(
          fmt::format("device \"{}\": {} partitions do not fit; {} has {} SMs and gives at most {} "
                      "partitions of at least {} SMs",
                      name,
                      parts,
                      gpu.name,
                      gpu.sm_count,
                      all / granule.minimum,
                      granule.minimum));
    }
    return std::vector<int>(parts, size);
  }
  std::int64_t sum = 0;
  for (int size : numbers) {
    if (size < granule.minimum || size % granule.multiple != 0) {
      throw InputError(
          fmt::format("device \"{}\": cannot make a partition of {} SMs; {} allows at least {} SMs "
                      "in multiples of {}",
                      name,
                      size,
                      gpu.name,
                      granule.minimum,
                      granule.multiple));
    }
    sum += size;
  }
  if (sum > all) {
    throw InputError(
        fmt::format("device \"{}\": {} SMs in total; partitions of {} can use {} of its {}",
                    name,
                    sum,
                    gpu.name,
                    all,
                    gpu.sm_count));
  }
  return numbers;
}

}  // namespace

SmGranule SmGranuleOf(const GpuInfo& gpu) {
  if (gpu.compute_major >= 9) return {8, 8};
  if (gpu.compute_major == 8) return {4, 2};
  return {2, 2};
}

std::vector<DeviceSpec> ParseDevices(std::span<const std::string> names,
                                     const MachineParts& machine) {
  if (names.empty()) {
    throw InputError(fmt::format("no device named; expected {}; {}", kForms, Describe(machine)));
  }
  std::vector<DeviceSpec> devices;
  std::set<int> cpus;
  std::map<int, std::string> gpus;  // number of the GPU -> the first name that uses it
  for (const std::string& name : names) {
    const std::string_view text = name;
    const bool is_gpu = text.starts_with("gpu:");
    if (!is_gpu && !text.starts_with("cpu:")) Reject(name, machine);
    const size_t slash = is_gpu ? std::min(text.find('/'), text.size()) : text.size();
    const std::optional<int> number = ParseNumber(text.substr(4, slash - 4));
    if (!number) Reject(name, machine);
    if (!is_gpu) {
      if (!cpus.insert(*number).second) {
        throw InputError(fmt::format("device \"{}\" is named twice", name));
      }
      devices.emplace_back(CpuGroup{name, {}});
      continue;
    }
    if (*number >= static_cast<int>(machine.gpus.size())) {
      throw InputError(fmt::format("device \"{}\" does not exist; {}", name, Describe(machine)));
    }
    const auto [taken, is_new] = gpus.emplace(*number, name);
    if (!is_new) {
      throw InputError(fmt::format(
          "device \"{}\": GPU {} is named twice, already by \"{}\"", name, *number, taken->second));
    }
    if (slash == text.size()) {
      devices.emplace_back(GpuDeviceSpec{name, *number, 0});
      continue;
    }
    const std::vector<int> sizes =
        PartitionSizes(name, text.substr(slash + 1), machine.gpus[*number], machine);
    for (size_t i = 0; i < sizes.size(); ++i) {
      devices.emplace_back(GpuDeviceSpec{fmt::format("gpu:{}.{}", *number, i), *number, sizes[i]});
    }
  }

  const int cores = static_cast<int>(machine.cores.size());
  const int usable = !gpus.empty() && cores > 1 ? cores - 1 : cores;
  const int groups = static_cast<int>(cpus.size());
  if (groups > usable) {
    throw InputError(fmt::format("{} CPU devices need one core each{}; {}",
                                 groups,
                                 usable < cores ? " and one for the GPUs' commands" : "",
                                 Describe(machine)));
  }
  int next = 0;
  for (DeviceSpec& device : devices) {
    CpuGroup* const group = std::get_if<CpuGroup>(&device);
    if (group == nullptr) continue;
    for (int i = 0; i < usable / groups; ++i) group->cores.push_back(machine.cores[next++]);
  }
  return devices;
}

bool MayNeedGpus(std::span<const std::string> names) {
  return names.empty() || !std::all_of(names.begin(), names.end(), [](const std::string& name) {
           return name.starts_with("cpu:");
         });
}

std::vector<std::string> DefaultDevicesOf(const MachineParts& machine) {
  std::vector<std::string> names;
  for (size_t i = 0; i < machine.gpus.size(); ++i) names.push_back(fmt::format("gpu:{}", i));
  names.emplace_back("cpu:0");
  if (machine.gpus.empty() && machine.cores.size() > 1) names.emplace_back("cpu:1");
  return names;
}

}  // namespace emplace
