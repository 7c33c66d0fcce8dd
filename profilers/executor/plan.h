#pragma once

// A placed graph compiled to a flat program. It contains the commands of each stream in order, with
// all addresses, waits and layouts fixed, so that a step allocates nothing and decides nothing. The
// order is that of stream semantics (simulator/README.md), by op id or as given. The simulator uses
// the same functions: IssueOrder() and CopiesOf(), and StreamMemory for peaks, all in
// framework/schedule/.
//
// The compiler consists of these steps, each a function without side effects:
//   issued_commands.h   the commands of all streams and their dependencies by the graph
//   peak_memory.h       their peak memory by the simulator's rules
//   placed_graph.h      the graph with every received copy as a separate tensor
//   buffers.h           the buffers and the commands that use them
//   command_order.h     the waits of the commands
//   buffer_placement.h  the positions of buffers, and the waits that sharing bytes requires
//   initial_values.h    the memory contents before the first step
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
  int op = 0;  ///< the op, or the producer of the copied tensor
  // Copies only: one hop of one copy.
  int tensor = -1;  ///< tensor id or kControlTensor
  int hop = 0;
  /// [B]; 0 for control edges, which move no data and use only the devices of their addresses.
  std::int64_t bytes = 0;
  TensorView layout;  ///< the sent elements at their source (CopyLayout); they arrive packed
  Address source;     ///< start of the source's storage
  std::vector<Address> destinations;  ///< several over a broadcast channel
  /// Commands of other streams that must finish before this one starts, as ascending indices into
  /// ExecutionPlan::commands. Waits that other waits imply are omitted.
  std::vector<int> waits;
  bool is_awaited = false;  ///< some command of another stream waits for this one
};

/// The kernels of an op and their arguments.
struct PlannedOp {
  std::string name;  ///< for messages
  OpWork work;
  std::vector<Address> inputs, outputs;  ///< starts of the tensors' storage, as many as the op's
};

/// When a buffer may reuse the bytes of an earlier buffer of an arena.
enum class MemoryReuse : std::uint8_t {
  kNoWaits,  ///< only where the program's own order makes it safe
  kTight,    ///< also where it requires additional waits: the smallest arena
};

struct ExecutionPlan {
  int num_devices = 0, num_channels = 0;
  std::vector<PlanCommand> commands;  ///< in issue order
  std::vector<PlannedOp> ops;         ///< [num_ops]
  std::vector<InitialValue> initial_values;
  /// Most bytes in use at the same time, counted over these commands by the rule of stream
  /// semantics (StreamMemory), as in the simulator. They are not measured. [num_devices] [B]
  std::vector<std::int64_t> peak_bytes;
  /// The sizes of the arenas: the peak plus alignment, fragmentation, and buffers kept until it is
  /// safe to reuse them. [num_devices] [B]
  std::vector<std::int64_t> arena_bytes;
  std::int64_t staging_bytes = 0;  ///< of the host's staging area [B]
  int added_waits = 0;             ///< waits that only MemoryReuse::kTight requires
  /// Waits that no edge of the graph requires. An op that writes in place (an alias with a kernel)
  /// waits for readers and copies of the old content on other streams. The simulator does not model
  /// these waits, so a plan with such waits may take longer than a simulated step.
  int hazard_waits = 0;

  int num_streams() const { return num_devices + num_channels; }
};

/// Compiles a placed graph. A view of a received copy (an alias made on another device than its
/// base) is a view of that copy there. The memory of such a copy after its last reader is counted
/// in arena_bytes, not in peak_bytes.
/// @param device_of_op  [num_ops]
/// @param issue_order   [num_ops] op ids; empty: by id. The effect of an op that writes in place is
///   visible to the ops that are issued after it.
/// @throws InputError as RequireOpOrder() does; naming op and device: an op on a device where it
///   may not run, a missing route, a device with more than one slot, an alias of storage on another
///   device that its op does not read
ExecutionPlan CompilePlan(const Problem& problem,
                          std::span<const DeviceIndex> device_of_op,
                          MemoryReuse reuse = MemoryReuse::kNoWaits,
                          std::span<const int> issue_order = {});

}  // namespace emplace
