#pragma once

// Lower bounds on the step time of all placements that put every group on one of some devices: what
// branch and bound prunes with. Valid in every semantics and with every issue order, since each
// part bounds every schedule that keeps the dependencies and the transfer times, in whatever order
// devices and channels do their work:
//
//   paths   est(v, d) = least finish of op v if its group is on device d
//                     = c(v, d) + max over what v awaits of u of
//                                 min over devices d' that u may have of est(u, d') + T(d', d,
//                                 bytes)
//           with d' = d where u is of v's own group. The bound is max over v of
//           min over d of est(v, d).
//   load    per device: costs of the groups that have no other choice, over its slots
//
// where T is the time of a transfer when alone (Cluster::TransferTime).

#include <cstdint>
#include <span>
#include <vector>

#include "framework/base/time.h"
#include "framework/search/problem.h"

namespace emplace {

class PartialBound {
 public:
  /// @param problem  outlives this
  explicit PartialBound(const Problem& problem);

  /// @param masks  [num_groups] devices that each group may have: a part of allowed_devices(), not
  /// 0
  /// @return no placement within the masks has a shorter step [ns]
  Nanos operator()(std::span<const std::uint64_t> masks);

 private:
  const Problem& problem_;
  struct Input {
    int op;
    std::int64_t bytes;  // the largest item that crosses, 0 for control [B]
  };
  std::vector<int> input_begin_;  // [num_ops + 1]
  std::vector<Input> inputs_;
  std::vector<Nanos> est_;   // [num_ops, num_devices]; kMaxNanos: not there
  std::vector<Nanos> load_;  // [num_devices]
};

}  // namespace emplace
