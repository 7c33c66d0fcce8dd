#pragma once

// The supervisor of a sweep: gives runs to a launcher, reads their states, shows the progress, and
// submits lost runs again.

#include <string>
#include <vector>

#include "experiments/sweep/launcher.h"
#include "experiments/sweep/sweep.h"

namespace emplace {

/// Executes all runs that are not done, until each is done or failed, or a stop is requested. A run
/// is reported when its result is on disk.
///
/// A run is lost if its worker ended without finishing it. It is submitted again, but after three
/// workers in a row without progress it counts as failed, with the message of the last one. The
/// function waits for a run that a worker of an earlier start of the sweep still executes.
/// @param states  [runs] as read before; updated to their final states
/// @param owner   FolderLock::owner()
/// @throws RunError if the launcher's engine ends, or a failure cannot be written
void RunAll(const Sweep& sweep,
            std::vector<ResultRun>& states,
            RunBoard& board,
            Launcher& launcher,
            const std::string& owner,
            bool quiet);

}  // namespace emplace
