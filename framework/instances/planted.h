#pragma once

// Random problems with a known, planted optimum. First a schedule without idle time is drawn, in
// which all devices end at T; then ops, dependencies and messages that it satisfies.
//
// - Devices. Device d takes s_d times as long as device 0 for every op (uniform machines), with s_d
//   evenly spaced from 1 to `slowest`. The ops that the schedule has on d fill [0, T] there. An op
//   that costs c on d costs ceil(c s_e / s_d) on device e.
// - Why T is optimal. Let the price of a nanosecond on device d be 1 / s_d. Then an op is nowhere
//   cheaper than on its planted device, and all ops together cost sum_d T / s_d there. So no
//   placement ends before T (the dual of the work bound of framework/bounds/bounds.h, which finds
//   T). This holds in every semantics, with every issue order, and for both objectives.
// - Dependencies. Each op has one tensor. Its readers are drawn among the ops that start soon after
//   it is available: on its own device after the op, on another device after the tensor has
//   crossed, after all earlier tensors on the same channel.
// - When T is reached. Stream semantics reach T in the order of planted starts, which is that of
//   the ids unless they are shuffled. Queue semantics serve first the op that was ready first,
//   which may differ from the planted order. With `chains` every op reads its predecessor on the
//   device, and queue semantics reach T, too (an easy problem: each chain is a critical path).
//   `objective: period` always reaches it: the devices do not pay for transfers (pays_transfers:
//   false), so T is the planted load of each.

#include <cstdint>

#include "framework/instances/instance.h"

namespace emplace {

struct PlantedOptions {
  int ops = 100;           ///< >= devices
  int devices = 4;         ///< 1 to 64
  double readers = 2;      ///< mean number drawn per op; fewer if too few ops start late
  double ccr = 0.1;        ///< mean time of a message over mean cost of an op; 0: no bytes
  double slowest = 1;      ///< slowness of the last device over that of the first, 1 to 100
  bool chains = false;     ///< every op reads the one before it on its device
  bool shuffle = false;    ///< ids in random order, not in that of planted starts
  std::uint64_t seed = 0;  ///< the same options give the same instance
};

/// Makes an instance with the devices of PrivateChannels() (task_graph.h), of one kind "processor"
/// or, if they differ, of kinds "processor0", "processor1", .... Ops cost 0.1 ms on average if all
/// devices are equal. Optimum, placement and issue order are the planted ones.
/// @throws InputError naming the option, the value and its range
Instance MakePlanted(const PlantedOptions& options);

}  // namespace emplace
