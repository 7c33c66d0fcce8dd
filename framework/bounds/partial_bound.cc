#include "framework/bounds/partial_bound.h"

#include "framework/bounds/segments.h"

namespace emplace {

PartialBound::PartialBound(const Problem& problem) : graph_(problem), windows_(graph_) {
  AddQuickSegments(graph_);
}

Nanos PartialBound::operator()(std::span<const std::uint64_t> masks) {
  masks_.assign(masks.begin(), masks.end());
  return windows_.Bound(masks_, kMaxNanos, WindowParts::kDevices);
}

Nanos PartialBound::Exclude(DeviceMasks& masks, Nanos target) {
  return windows_.Bound(masks, target, WindowParts::kGroups);
}

}  // namespace emplace
