#pragma once

// The sweep's own part while its runs are carried out: gives them to a launcher, reads what has
// become of each, shows it, and sees to it that none is lost.

#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/sweep.h"

namespace emplace {

/// Carries out all runs that are not done, until they are, have failed, or a stop is requested. A
/// run is reported when its result is on disk.
///
/// A run whose worker has ended without it is submitted again, unless its last three workers have
/// got no further: then it has failed, with what they said. A run that a worker of an earlier start
/// of the sweep still works at is waited for.
/// @param states  [runs] as read before; what has become of them at the end
/// @param owner   FolderLock::owner()
/// @throws RunError if the launcher's engine ends, or a failure cannot be written
void RunAll(const Sweep& sweep,
            std::vector<RunState>& states,
            RunBoard& board,
            Launcher& launcher,
            const std::string& owner,
            bool quiet);

}  // namespace emplace
