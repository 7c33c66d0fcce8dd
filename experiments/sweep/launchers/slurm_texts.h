#pragma once

// What Slurm is given and what it tells, as text: job scripts and lines of squeue.

#include <optional>
#include <string>
#include <vector>

namespace emplace {

/// The job script. Task N gives the N-th line of `bundles` to its worker.
/// @param options  of sbatch, a word each
std::string SlurmScript(const std::vector<std::string>& worker,
                        const std::vector<std::string>& bundles,
                        const std::vector<std::string>& options,
                        const std::string& log,
                        int workers,
                        int cores);

/// `bundles` of such a text; empty if it is none.
std::vector<std::string> BundlesOfSlurmScript(const std::string& text);

/// A line of squeue: a task of a job array.
struct SlurmTask {
  std::string job;  ///< number of the array; a controller that was killed may give it once more
  int index = 0;    ///< in the array
  std::string state, reason;
  std::string script;
  int submission = 0;  ///< whose script it is, of a sweep's own tasks
};

/// What squeue is asked for: all jobs of the user, for a number that Slurm has forgotten is an
/// error.
std::vector<std::string> SqueueCommand();

/// Nothing if a line of its answer is of no task of an array.
std::optional<SlurmTask> ParseSlurmTask(const std::string& line);

}  // namespace emplace
