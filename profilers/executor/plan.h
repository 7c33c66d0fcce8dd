#pragma once

// A placed graph compiled to a flat program (compile_plan.h). It contains the commands of each
// stream in order, with all addresses, waits and layouts fixed, so that a step allocates nothing
// and decides nothing. The order is that of stream semantics (simulator/README.md), by op id or as
// given.
//
// There is a stream for every device and every channel: 0 .. num_devices - 1 are the devices,
// num_devices + k is channel k. A backend (backend.h) executes the program.

#include <cstdint>
#include <string>
#include <vector>

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
struct CompiledOp {
  std::string name;  ///< for messages
  OpWork work;
  std::vector<Address> inputs, outputs;  ///< starts of the tensors' storage, as many as the op's
};

struct ExecutionPlan {
  int num_devices = 0, num_channels = 0;
  std::vector<PlanCommand> commands;  ///< in issue order
  std::vector<CompiledOp> ops;        ///< [num_ops]
  std::vector<InitialValue> initial_values;
  /// Most bytes in use at the same time, counted over these commands by the rule of stream
  /// semantics (StreamMemory), as in the simulator. They are not measured. [num_devices] [B]
  std::vector<std::int64_t> peak_bytes;
  /// The sizes of the arenas: the peak plus alignment, fragmentation, and buffers kept until it is
  /// safe to reuse them. [num_devices] [B]
  std::vector<std::int64_t> arena_bytes;
  std::int64_t staging_bytes = 0;  ///< of the host's staging area [B]
  /// Waits that no edge of the graph requires. An op that writes in place (an alias with a kernel)
  /// waits for readers and copies of the old content on other streams. The simulator does not model
  /// these waits, so a plan with such waits may take longer than a simulated step.
  int hazard_waits = 0;

  int num_streams() const { return num_devices + num_channels; }
};

}  // namespace emplace
