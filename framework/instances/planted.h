#pragma once

// Random problems whose optimum is known because it was planted: first a schedule without idle time
// is drawn, in which all devices end at T, then ops, dependencies and messages that it satisfies.
//
// - Devices. Device d needs s_d times as long as device 0 for everything (uniform machines), s_d
//   evenly spread from 1 to `slowest`. Ops that the schedule has on d fill [0, T] there; one that
//   costs c on d costs ceil(c s_e / s_d) on device e.
// - Why T is optimal. With the price 1 / s_d for a nanosecond of device d, an op is nowhere cheaper
//   than on its planted device, where all ops together are worth sum_d T / s_d: so no placement
//   ends before T (the dual of the work bound of framework/bounds/bounds.h, which finds T). That
//   holds in every semantics, with every issue order, and for both objectives.
// - Dependencies. Each op has one tensor. Readers are drawn among the ops that start soon after it
//   is there: on its own device after the op, on another one after the tensor has crossed, behind
//   all earlier tensors on the same channel.
// - Who reaches T. Stream semantics do in the order of planted starts, which is that of the ids
//   unless they are shuffled. Queue semantics serve what became ready first, which need not be the
//   planted order; with `chains` every op reads its predecessor on the device, and queue semantics
//   reach T, too (an easy problem: each chain is a critical path). `objective: period` does always:
//   the devices do not pay for transfers (pays_transfers: false), so that T is the planted load of
//   each.

#include <cstdint>

#include "framework/instances/instance.h"

namespace emplace {

struct PlantedOptions {
  int ops = 100;           ///< >= devices
  int devices = 4;         ///< 1 to 64
  double readers = 2;      ///< mean readers that are drawn per op; fewer where none is late enough
  double ccr = 0.1;        ///< mean time of a message over mean cost of an op; 0: no bytes
  double slowest = 1;      ///< slowness of the last device over that of the first, 1 to 100
  bool chains = false;     ///< every op reads the one before it on its device
  bool shuffle = false;    ///< ids in random order, not in that of planted starts
  std::uint64_t seed = 0;  ///< the same options give the same instance
};

/// Devices as of PrivateChannels() (task_graph.h), of one kind "processor" or, if they differ, of
/// kinds "processor0", "processor1", .... Ops cost 0.1 ms on average, if all devices are equal. The
/// instance's optimum is T; placement and issue order are the planted ones.
/// @throws InputError naming the option, the value and its range
Instance MakePlanted(const PlantedOptions& options);

}  // namespace emplace
