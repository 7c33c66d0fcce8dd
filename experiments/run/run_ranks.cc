#include "experiments/run/run_ranks.h"

#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "experiments/console/output.h"
#include "experiments/console/stop_request.h"
#include "framework/base/raw_stream.h"
#include "framework/ranks/communicator.h"
#include "framework/ranks/mpi_module.h"

namespace emplace {

RunRanks::RunRanks(Communicator& communicator)
    : cores(CoresPerRank(communicator)), replicated(communicator) {
}

void ShareEarlier(RunRanks& ranks, std::map<std::string, SearchResult>& earlier) {
  std::ostringstream out;
  if (ranks.is_first()) {
    for (const auto& [label, result] : earlier) WriteRawResult(out, result);
  }
  const std::string text = out.str();
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  ranks.replicated.Broadcast("resumes", bytes);
  if (ranks.is_first()) return;
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  while (in.peek() != std::istringstream::traits_type::eof()) {
    SearchResult result = ReadRawResult(in);
    earlier[result.label] = std::move(result);
  }
}

int RunOverRanks(const std::function<int(RunRanks*)>& run) {
  const std::unique_ptr<Communicator> launched = JoinLaunchedRanks();
  if (launched == nullptr) return run(nullptr);
  const bool is_first = launched->rank() == 0;
  if (!is_first) {
    SilenceWarnings();
    StopRequest::CatchSignals();  // rank 0 decides; the launcher sends its signals to all ranks
    StopRequest::IgnoreRepeats();
  }
  RunRanks ranks(*launched);
  try {
    const int code = run(&ranks);
    std::vector<std::byte> nothing;
    ranks.replicated.Broadcast("is done", nothing);
    return code;
  } catch (const std::exception& error) {
    ranks.replicated.Fail(error.what());
    if (is_first) throw;
    // Rank 0 reports the error and ends with its code. If this rank failed, mpirun would kill all
    // ranks, perhaps before rank 0 has reported.
    return 0;
  }
}

}  // namespace emplace
