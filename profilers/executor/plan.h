#pragma once

// A placed graph compiled to a flat program: per stream the commands in order, with every address,
// wait and layout fixed, so that a step allocates nothing and decides nothing. The order is that of
// stream semantics (simulator/README.md), by id or another that is given. It comes from the
// functions that the simulator calls, too: IssueOrder() and CopiesOf(), and StreamMemory for peaks,
// all in framework/schedule/.
//
// It is made step by step, each a function with values in and out:
//   issued_commands.h   the commands of all streams, and which depend on which by the graph
//   peak_memory.h       what they hold by the simulator's rules
//   placed_graph.h      the graph with every received copy as a tensor of its own
//   buffers.h           the pieces of memory that this takes, and which command uses which
//   command_order.h     what a command waits for
//   buffer_placement.h  where buffers lie, and the waits that sharing bytes takes
//   initial_values.h    what the first step finds there
//
// There is a stream for every device and every channel: 0 .. num_devices - 1 are the devices,
// num_devices + k is channel k. A backend (backend.h) executes the program.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/search/problem.h"
#include "profilers/executor/address.h"
#include "profilers/executor/initial_values.h"
#include "profilers/kernels/op_work.h"

namespace emplace {

struct PlanCommand {
  enum class Type : std::uint8_t { kOp, kCopy };
  Type type = Type::kOp;
  int stream = 0;
  int op = 0;  ///< the op, or the producer of what is copied
  // Copies only: one hop of one copy.
  int tensor = -1;  ///< tensor id or kControlTensor
  int hop = 0;
  std::int64_t bytes = 0;  ///< [B]; 0 for control edges: nothing moves, and of the
                           ///< addresses only the devices mean something
  TensorView layout;       ///< the sent elements at their source (CopyLayout); they arrive packed
  Address source;          ///< start of the source's storage
  std::vector<Address> destinations;  ///< several over a broadcast channel
  /// Commands of other streams that must finish before this one starts: indices into
  /// ExecutionPlan::commands, ascending. Those that other waits imply are left out.
  std::vector<int> waits;
  bool is_awaited = false;  ///< some command of another stream waits for this one
};

/// What an op's kernels work on.
struct PlannedOp {
  std::string name;  ///< for messages
  OpWork work;
  std::vector<Address> inputs, outputs;  ///< starts of the tensors' storage, as many as the op's
};

/// When two buffers may share bytes of an arena, the one after the other.
enum class MemoryReuse : std::uint8_t {
  kNoWaits,  ///< memory is reused where the program's own order makes it safe
  kTight,    ///< also where that takes additional waits: the smallest arena
};

struct ExecutionPlan {
  int num_devices = 0, num_channels = 0;
  std::vector<PlanCommand> commands;  ///< in issue order
  std::vector<PlannedOp> ops;         ///< [num_ops]
  std::vector<InitialValue> initial_values;
  /// Most bytes alive at once, counted over these commands by the rule of stream semantics
  /// (StreamMemory), which is the simulator's. Nothing is measured. [num_devices] [B]
  std::vector<std::int64_t> peak_bytes;
  /// What the arenas really take: the peak plus alignment, fragmentation, and buffers kept until it
  /// is safe to reuse them. [num_devices] [B]
  std::vector<std::int64_t> arena_bytes;
  std::int64_t staging_bytes = 0;  ///< of the host's staging area [B]
  int added_waits = 0;             ///< waits that only MemoryReuse::kTight asks for
  /// Waits that no edge of the graph asks for: an op that writes in place (an alias with a kernel)
  /// waits for readers and copies of the old content on other streams. The simulator does not know
  /// them, so that a plan with such waits may take longer than a simulated step.
  int hazard_waits = 0;

  int num_streams() const { return num_devices + num_channels; }
};

/// Compiles a placed graph. A view of a received copy (an alias made on another device than what it
/// views) is a view of that copy there; what such a copy takes beyond its last reader is in
/// arena_bytes, not in peak_bytes.
/// @param device_of_op  [num_ops]
/// @param issue_order   [num_ops] op ids; empty: by id. An op that writes in place is seen by those
///   that are issued behind it.
/// @throws InputError as RequireOpOrder() does; naming op and device: an op on a device where it
/// may not run, a missing
///   route, a device with more than one slot, an alias of storage on another device that its op
///   does not read
ExecutionPlan CompilePlan(const Problem& problem,
                          std::span<const DeviceIndex> device_of_op,
                          MemoryReuse reuse = MemoryReuse::kNoWaits,
                          std::span<const int> issue_order = {});

}  // namespace emplace
