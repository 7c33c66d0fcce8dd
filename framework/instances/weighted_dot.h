#pragma once

// Task graphs in Graphviz' language with a `Weight` for each node (time of the task) and each edge
// (time of the message), as in the optimal-schedule set of the University of Auckland's Parallel
// and Reconfigurable Computing Lab:
//
//   digraph "Fork_Nodes_3" {
//     "TargetSystem"="Homogeneous-2";
//     "Total schedule length"=11;
//     a [Weight=5, Start=0, Processor=0];
//     b [Weight=6, Start=5, Processor=0];
//     c [Weight=3, Start=7, Processor=1];
//     a -> b [Weight=2];
//     a -> c [Weight=2];
//   }
//
// The reader accepts digraphs of nodes, edges (also chains a -> b -> c), attributes, defaults
// (`node [...]`, `edge [...]`) and comments; `Weight` may be written `weight`. With the attribute
// `TargetSystem` "Homogeneous-N" the file is for N processors, and `Total schedule length` is the
// optimum on them. If every node has `Start` and `Processor`, they are its schedule. Other
// attributes are ignored. Subgraphs, ports and HTML texts do not occur in such files and are
// refused.

#include <string>
#include <string_view>

#include "framework/instances/task_graph.h"

namespace emplace {

/// Reads such a file. The tasks are in the order in which the file first names them.
/// @param name   of the graph, if the file has none
/// @param where  prefix of error messages
/// @throws InputError "where:line: ...": text that Graphviz would refuse or that is not supported
///   here, a node or edge without Weight, a Weight or Start that is not a number >= 0, more values
///   of Processor than processors
TaskGraph ParseWeightedDot(std::string_view text,
                           const std::string& name,
                           const std::string& where);

}  // namespace emplace
