#pragma once

// Input and output of Slurm as text: job scripts and lines of squeue.

#include <optional>
#include <string>
#include <vector>

namespace emplace {

/// Returns the job script. Task N passes the N-th line of `bundles` to its worker.
/// @param options  options of sbatch, one word each
std::string SlurmScript(const std::vector<std::string>& worker,
                        const std::vector<std::string>& bundles,
                        const std::vector<std::string>& options,
                        const std::string& log,
                        int workers,
                        int cores);

/// Returns the `bundles` of such a script; empty for another text.
std::vector<std::string> BundlesOfSlurmScript(const std::string& text);

/// A line of squeue: a task of a job array.
struct SlurmTask {
  std::string job;  ///< number of the array; a killed controller may reuse it
  int index = 0;    ///< in the array
  std::string state, reason;
  std::string script;
  int submission = 0;  ///< of its script; only for tasks of the sweep
};

/// Returns the call of squeue. It asks for all jobs of the user, because a forgotten job number
/// would be an error.
std::vector<std::string> SqueueCommand();

/// Returns none if the line does not describe a task of an array.
std::optional<SlurmTask> ParseSlurmTask(const std::string& line);

}  // namespace emplace
