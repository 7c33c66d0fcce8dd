#pragma once

// Which modules of a PyTorch model can have a device of their own, and which ops go with them.
//
// A `device_map` as Hugging Face's accelerate takes it gives devices to modules. Hooks move what
// *enters* such a module; between two ops of one forward() nothing moves. So that a map runs as it
// is, the modules with a device of their own, the *units*, are chosen from the root down:
//
//   - a module without children in the graph is a unit;
//   - so is a block: a module one of whose own ops joins what came from outside with what was made
//     inside, as a residual block adds its input to its output (what accelerate's
//     `no_split_module_classes` lists by hand);
//   - of any other module the children are looked at; its own parameters and buffers are units
//     under their own names. The root is never a unit.
//
// An op outside of all units (own ops of the root and of modules that were opened, the loss)
// *follows*: a backward op its forward op, any other the first of its inputs that has a unit, one
// that reads nothing its first reader. Ops of the loss are those named "loss/..." without a module.
//
// Units that must share a device are *bound* together: those that an op outside of units joins
// (`wte(x) + wpe(p)` in the root), and a unit that reads another's parameter (tied weights). The
// loss binds nothing: a model's results are brought to one device.

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
  std::vector<int> unit_of_op;     ///< [num_ops]; kNoUnit: nothing says where the op runs
  std::vector<BoundUnits> groups;  ///< every unit once, by first unit
};

/// Module paths are the ops' `attributes.module`, as `emplace import --from torch` writes them.
/// @param blocks  modules that are not to be opened, whatever they join
/// @throws InputError for a graph without module paths
ModuleUnits FindModuleUnits(const Graph& graph, const std::set<std::string>& blocks = {});

/// The module of each op (`attributes.module`); "" for the root, and for an op without one.
/// @return [num_ops]
std::vector<std::string> ModulePaths(const Graph& graph);

/// Is `path` that module or below it? All are below the root "".
bool IsWithin(const std::string& path, const std::string& module);

}  // namespace emplace
