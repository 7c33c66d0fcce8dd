#pragma once

// Standard Task Graph Set (files *.stg; T. Tobita, H. Kasahara, A standard task graph set for fair
// evaluation of multiprocessor scheduling algorithms, J. Scheduling 5(5), 2002). The first line
// holds the number n of tasks; the prototype set adds the number of processors. Then follow the
// tasks with increasing numbers, from 0 (an entry task of time 0) or from 1 on, up to n + 1 (an
// exit task of time 0), one per line:
//
//   number time k p_1 ... p_k            predecessors; messages take no time
//   number time k p_1 c_1 ... p_k c_k    each predecessor with the time of its message
//   number time k                        the same, with the pairs on the k lines that follow
//   p_1 c_1
//   ...
//
// A '#' begins a comment. The files do not contain the optimum, which is published separately.

#include <string>
#include <string_view>

#include "framework/instances/task_graph.h"

namespace emplace {

/// Reads a file of the set. Tasks are named "t0", "t1", ... by number; dummy tasks are kept.
/// @param name   of the graph
/// @param where  prefix of error messages
/// @throws InputError "where:line: ...", with the value and the expected one: a field that is not a
///   number, a task out of order, a predecessor that does not exist or is listed twice, too many or
///   too few fields, an incomplete file or text after its end
TaskGraph ParseStg(std::string_view text, const std::string& name, const std::string& where);

}  // namespace emplace
