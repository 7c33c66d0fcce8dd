#pragma once

// A run over several processes ("ranks") that mpirun started. Every rank makes every search of the
// run, and the ranks share the evaluations (framework/search/distributed_evaluator.h). Only rank 0
// reads and writes results, prints, and decides when a search ends.

#include <functional>
#include <map>
#include <string>

#include "experiments/run/search_run.h"
#include "framework/ranks/communicator.h"
#include "framework/search/replicated_search.h"

namespace emplace {

/// The ranks of a run.
struct RunRanks {
  /// Constructs the object on all ranks together. @param communicator  must outlive this object
  explicit RunRanks(Communicator& communicator);

  int size() const { return replicated.size(); }
  bool is_first() const { return replicated.rank() == 0; }

  int cores;  ///< cores of each rank on this machine (CoresPerRank())
  ReplicatedSearch replicated;
};

/// Sends the searches that rank 0 resumes to all ranks. @param earlier  the searches on rank 0
void ShareEarlier(RunRanks& ranks, std::map<std::string, SearchResult>& earlier);

/// Calls `run` with the ranks that a launcher started, or with nullptr if this process is alone.
/// Ranks above 0 report nothing: an error ends rank 0 as well, and rank 0 reports it.
/// @param run  run of the ranks; returns the exit code of the program
/// @return the code of `run`; 0 after an exception on ranks above 0, because rank 0 ends with its
///   code
/// @throws the exceptions of `run` on rank 0; RunError as JoinLaunchedRanks()
int RunOverRanks(const std::function<int(RunRanks*)>& run);

}  // namespace emplace
