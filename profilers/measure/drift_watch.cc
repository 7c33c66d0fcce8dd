#include "profilers/measure/drift_watch.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/statistics/sampling.h"

namespace emplace {
namespace {

// Small enough to be fast on one core, large enough to run at the full clock.
constexpr std::int64_t kSize = 256;

OpWork ReferenceProduct() {
  const TensorView matrix = ContiguousView(DType::kF32, {1, kSize, kSize});
  return {.calls = {{.kind = KernelKind::kMatmul,
                     .inputs = {{false, 0, matrix}, {false, 1, matrix}},
                     .outputs = {{true, 0, matrix}}}}};
}

std::string Describe(const ClockReading& clock) {
  std::string text = clock.mhz > 0 ? fmt::format("{:.0f} MHz", clock.mhz) : "clock not readable";
  if (clock.temperature) text += fmt::format(", {:.0f} C", *clock.temperature);
  return text;
}

}  // namespace

DriftWatch::DriftWatch(Backend& backend, std::vector<int> devices)
    : backend_(backend), devices_(std::move(devices)) {
}

double DriftWatch::TimeProduct(int device) {
  constexpr std::int64_t kBytes = kSize * kSize * 4;
  const Sampler sampler = backend_.AloneSampler(
      backend_.Prepare({device, ReferenceProduct(), {kBytes, kBytes}, {kBytes}}));
  return MeasureUntilStable(sampler, {.max_seconds = 0.1}).median;
}

double DriftWatch::TimeOrThrow(const std::string& when, int device) {
  try {
    return TimeProduct(device);
  } catch (const std::runtime_error& error) {
    throw RunError(fmt::format("{}: device \"{}\" cannot do the reference product: {}",
                               when,
                               backend_.devices()[device].name,
                               error.what()));
  }
}

Drift DriftWatch::DriftOf(int device, double time) const {
  const auto first = first_time_.find(device);
  if (first == first_time_.end() || !(first->second > 0)) return {};
  const double change = time / first->second - 1;
  return {
      change,
      fmt::format("the reference product on {} takes {:.1f} us, {:+.1f} % compared with the start",
                  backend_.devices()[device].name,
                  time / 1e3,
                  change * 100)};
}

std::string DriftWatch::PropertyOf(int device) const {
  return "reference product, " + backend_.devices()[device].name;
}

Drift DriftWatch::Look(const std::string& when) {
  Drift largest;
  for (const int device : devices_) {
    const Drift drift = DriftOf(device, TimeOrThrow(when, device));
    if (std::abs(drift.change) > std::abs(largest.change)) largest = drift;
  }
  return largest;
}

void DriftWatch::Restart() {
  first_time_.clear();
  first_clocks_.clear();
}

void DriftWatch::Resume(const std::map<std::string, std::string>& properties) {
  for (const int device : devices_) {
    const auto found = properties.find(PropertyOf(device));
    if (found == properties.end()) continue;
    double micros = 0;
    const std::string& text = found->second;
    std::from_chars(text.data(), text.data() + text.size(), micros);
    if (micros > 0) first_time_[device] = micros * 1e3;
  }
}

Drift DriftWatch::Check(const std::string& when, std::vector<std::string>& warnings) {
  Drift largest;
  for (const int device : devices_) {
    const double time = TimeOrThrow(when, device);
    first_time_.emplace(device, time);
    const Drift drift = DriftOf(device, time);
    if (std::abs(drift.change) > std::abs(largest.change)) largest = drift;
    if (std::abs(drift.change) > kTolerance) warnings.push_back(when + ": " + drift.text);
  }
  last_clocks_ = backend_.ReadClocks();
  if (first_clocks_.empty()) first_clocks_ = last_clocks_;
  for (size_t i = 0; i < std::min(first_clocks_.size(), last_clocks_.size()); ++i) {
    const double before = first_clocks_[i].mhz, now = last_clocks_[i].mhz;
    if (!(before > 0 && now > 0) || std::abs(now / before - 1) <= kTolerance) continue;
    warnings.push_back(
        fmt::format("{}: the clock of {} is at {:.0f} MHz; it was at {:.0f} MHz at the start",
                    when,
                    last_clocks_[i].device,
                    now,
                    before));
  }
  return largest;
}

void DriftWatch::Describe(std::map<std::string, std::string>& properties) const {
  for (const ClockReading& clock : first_clocks_) {
    properties["clock at start, " + clock.device] = emplace::Describe(clock);
  }
  for (const ClockReading& clock : last_clocks_) {
    properties["clock at end, " + clock.device] = emplace::Describe(clock);
  }
  for (const auto& [device, time] : first_time_) {
    properties[PropertyOf(device)] = fmt::format("{:.1f} us", time / 1e3);
  }
}

std::string DriftWatch::WhyBroken(int device) {
  try {
    TimeProduct(device);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace emplace
