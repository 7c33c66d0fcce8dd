#pragma once

// A run over several processes ("ranks"), which mpirun started: each makes every search of the run,
// and they share the evaluations (framework/search/distributed_evaluator.h). Rank 0 alone reads and
// writes results, prints, and decides when a search ends.

#include <functional>
#include <map>
#include <string>

#include "experiments/run/search_run.h"
#include "framework/ranks/communicator.h"
#include "framework/search/lockstep.h"

namespace emplace {

/// The ranks of a run.
struct RunRanks {
  /// All ranks make it together. @param communicator  outlives this
  explicit RunRanks(Communicator& communicator);

  int size() const { return lockstep.size(); }
  bool is_first() const { return lockstep.rank() == 0; }

  int cores;  ///< for each rank on this machine (CoresPerRank())
  Lockstep lockstep;
};

/// Gives all ranks the searches that rank 0 goes on from. @param earlier  of rank 0
void ShareEarlier(RunRanks& ranks, std::map<std::string, SearchResult>& earlier);

/// Calls `run` with the ranks that a launcher started, or with nullptr if this process is alone. On
/// other ranks than 0 nothing is told: an error ends rank 0 as well, which tells it.
/// @param run  of the ranks; returns the exit code of the program
/// @return that of `run`; on other ranks 0 for an exception, since rank 0 ends with its code
/// @throws what `run` does, on rank 0; RunError as JoinLaunchedRanks()
int RunOverRanks(const std::function<int(RunRanks*)>& run);

}  // namespace emplace
