#include "framework/cost/kind_model.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/cluster/kernel_fit.h"

namespace emplace {
namespace {

// Share of the peak that an op class reaches if the device kind gives none (also in FORMAT.md).
// Rounded values between those of tuned libraries on large shapes (0.7 to 0.9 of the peak for
// products) and those on the shapes of real training graphs. They matter only where FLOPs and not
// bytes determine the time.
constexpr std::array<double, static_cast<int>(OpClass::kUnknown) + 1> kDefaultEfficiency{
    0.60,  // matmul
    0.50,  // convolution
    0.50,  // elementwise
    0.30,  // reduction
    0.30,  // normalization
    0.30,  // pooling
    0.30,  // gather
    0.50,  // copy
    0.50,  // update
    1.00,  // view: free
    0.25,  // unknown
};
// Share of the memory bandwidth; streaming benchmarks reach 0.7 to 0.9 of the data sheet.
constexpr double kDefaultMemoryEfficiency = 0.70;

constexpr std::array<std::string_view, 5> kFloatTypes{"f64", "f32", "bf16", "f16", "f8"};
constexpr int kF32 = 1;

// Returns the floating-point type of the largest tensor of the op that has one.
int FindDtype(const Graph& graph, const Op& op) {
  int dtype = kF32;
  std::int64_t largest = -1;
  for (const auto* tensors : {&op.inputs, &op.outputs}) {
    for (const int id : *tensors) {
      const Tensor& tensor = graph.tensor(id);
      if (tensor.bytes <= largest) continue;
      for (size_t i = 0; i < kFloatTypes.size(); ++i) {
        if (!tensor.dtype.starts_with(kFloatTypes[i])) continue;
        dtype = static_cast<int>(i);
        largest = tensor.bytes;
      }
    }
  }
  return dtype;
}

// Returns [batch, rows, columns] of the largest output of a product; nullopt without one of a known
// shape.
std::optional<std::array<double, 3>> ProductShape(const Graph& graph, const Op& op) {
  std::optional<std::array<double, 3>> largest;
  double most = 0;
  for (const int id : op.outputs) {
    const std::vector<std::int64_t>& shape = graph.tensor(id).shape;
    std::array<double, 3> product{1, 1, 1};
    for (size_t i = 0; i < shape.size(); ++i) {
      const double size = static_cast<double>(std::max<std::int64_t>(0, shape[i]));
      product[i + 2 < shape.size() ? 0 : i + 3 - shape.size()] *= size;
    }
    const double elements = shape.empty() ? 0 : product[0] * product[1] * product[2];
    if (elements <= most) continue;
    most = elements;
    largest = product;
  }
  return largest;
}

[[noreturn]] void RefuseKind(const std::string& where,
                             const Op& op,
                             const DeviceKind& kind,
                             const std::string& missing) {
  if (kind.device_class == DeviceClass::kNetwork) {
    throw InputError(
        fmt::format("{}: op \"{}\" ({}) has no cost_ns for device kind \"{}\" of class network, "
                    "which has no roofline; expected a cost_ns of the op, or a cost table with "
                    "times of the kind",
                    where,
                    op.name,
                    op.kind,
                    kind.name));
  }
  throw InputError(
      fmt::format("{}: op \"{}\" ({}) has no cost_ns for device kind \"{}\", and that kind has no "
                  "{}; expected a cost_ns of the op, or peak and memory_bandwidth of the kind",
                  where,
                  op.name,
                  op.kind,
                  kind.name,
                  missing));
}

}  // namespace

KindModel::KindModel(const DeviceKind& kind) : kind_(kind) {
  const auto find = [](const std::map<std::string, double>& map, std::string_view key) {
    const auto found = map.find(std::string(key));
    return found == map.end() ? 0.0 : found->second;
  };
  const double f32 = find(kind.peak, "f32");
  for (size_t i = 0; i < kFloatTypes.size(); ++i) {
    const double peak = find(kind.peak, kFloatTypes[i]);
    peak_[i] = peak > 0 ? peak : f32;
  }
  for (int c = 0; c < kNumClasses; ++c) {
    const double told = find(kind.efficiency, ToString(static_cast<OpClass>(c)));
    is_told_[c] = told > 0 && c != static_cast<int>(OpClass::kUnknown);
    efficiency_[c] = told > 0 ? told : kDefaultEfficiency[c];
  }
  const double memory = find(kind.efficiency, "memory");
  memory_is_told_ = memory > 0;
  memory_rate_ = kind.memory_bandwidth * (memory > 0 ? memory : kDefaultMemoryEfficiency);
}

KindModel::Found KindModel::Find(const Graph& graph,
                                 const Op& op,
                                 OpClass op_class,
                                 const std::string& where) const {
  const int dtype = FindDtype(graph, op);
  if (kind_.fitted.empty() || kind_.device_class == DeviceClass::kNetwork) {
    return FindByRoofline(op, op_class, dtype, where);
  }
  const KernelFitEntry entry = FindKernelFit(kind_, kFloatTypes[dtype], op.kind, op_class);
  const auto product =
      op_class == OpClass::kMatmul ? ProductShape(graph, op) : std::array<double, 3>{1, 1, 1};
  if (entry.fit == nullptr || !product) return FindByRoofline(op, op_class, dtype, where);
  const auto bytes = static_cast<double>(op.bytes_accessed);
  return {.nanos = FittedKernelTime(kind_, entry, op_class, *product, op.flops, bytes),
          .source = CostSource::kRoofline,
          .error = entry.fit->error};
}

KindModel::Found KindModel::FindByRoofline(const Op& op,
                                           OpClass op_class,
                                           int dtype,
                                           const std::string& where) const {
  if (!(peak_[dtype] > 0) || kind_.device_class == DeviceClass::kNetwork) {
    RefuseKind(where, op, kind_, fmt::format("peak for {}", kFloatTypes[dtype]));
  }
  if (!(memory_rate_ > 0)) RefuseKind(where, op, kind_, "memory_bandwidth");
  const int c = static_cast<int>(op_class);
  const double compute = op.flops / (peak_[dtype] * efficiency_[c]);
  const double memory = static_cast<double>(op.bytes_accessed) / memory_rate_;
  const bool is_told = compute > memory ? is_told_[c] : memory_is_told_;
  const bool is_known = op_class != OpClass::kUnknown && is_told;
  return {.nanos = static_cast<double>(kind_.overhead) + std::max(compute, memory) * 1e9,
          .source = is_known ? CostSource::kRoofline : CostSource::kDefault};
}

}  // namespace emplace
