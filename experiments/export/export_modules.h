#pragma once

// Finds the modules of a PyTorch model that can have their own device, and the ops of each.
//
// A `device_map` of Hugging Face's accelerate gives devices to modules. Hooks move the inputs of
// such a module; between two ops of one forward() nothing moves. So that the map works for the
// unchanged model, the modules with their own device, the *units*, are chosen from the root down:
//
//   - a module without children in the graph is a unit;
//   - a block is a unit: a module in which one of its own ops joins an input with a result from
//     inside, as a residual block adds its input to its output (accelerate's
//     `no_split_module_classes` lists such modules by hand);
//   - any other module is opened: its children are examined, and its own parameters and buffers are
//     units under their own names. The root is never a unit.
//
// An op outside of all units (an own op of the root or of an opened module, or the loss) *follows*
// another op: a backward op follows its forward op, any other op the first of its inputs that has a
// unit, and an op without inputs its first reader. Ops of the loss are those named "loss/..."
// without a module.
//
// Units that must share a device are *bound* together: the units that an op outside of units joins
// (`wte(x) + wpe(p)` in the root), and a unit with the owner of a parameter that it reads (tied
// weights). The loss binds no units: a model's results are moved to one device.

#include <set>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

inline constexpr int kNoUnit = -1;

/// Units that share a device.
struct BoundUnits {
  std::vector<int> units;          ///< ascending
  std::vector<std::string> joins;  ///< names of the ops that bind them; empty for a single unit
};

struct ModuleUnits {
  std::vector<std::string> names;  ///< module path, or parameter name; in the order of the graph
  std::vector<int> unit_of_op;     ///< [num_ops]; kNoUnit: no rule gives the op a unit
  std::vector<BoundUnits> groups;  ///< every unit in exactly one, ordered by first unit
};

/// Finds the units. Module paths are the ops' `attributes.module`, as `emplace import --from torch`
/// writes them.
/// @param blocks  modules that must not be opened, in addition to those that the rules find
/// @throws InputError for a graph without module paths
ModuleUnits FindModuleUnits(const Graph& graph, const std::set<std::string>& blocks = {});

/// Returns the module of each op (`attributes.module`); "" for the root, and for an op without one.
/// @return [num_ops]
std::vector<std::string> ModulePaths(const Graph& graph);

/// Returns whether `path` is that module or below it. All paths are below the root "".
bool IsWithin(const std::string& path, const std::string& module);

}  // namespace emplace
