#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "experiments/run/run_reader.h"
#include "experiments/run/search_record.h"
#include "framework/base/file.h"
#include "framework/cluster/cluster_io.h"
#include "framework/graph/graph_io.h"
#include "framework/results/results_file.h"
#include "framework/results/results_image.h"
#include "framework/results/results_reader.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/mutators.h"
#include "tests/fuzz/small_problem.h"
#include "tests/fuzz/targets.h"
#include "tests/support/paths.h"
#include "tests/support/sanitizers.h"

namespace emplace::fuzz {
namespace {

constexpr int kMostObjects = 300;  // of a file that are read

// Files of the small problem, which a results file refers to.
struct ProblemFiles {
  testing::TempDir folder;
  std::filesystem::path graph = folder / "graph.json", cluster = folder / "cluster.yaml";
  ProblemFiles() {
    WriteGraph(SmallProblem()->graph(), graph);
    WriteFileAtomically(cluster, FormatCluster(SmallProblem()->cluster()));
  }
};

const ProblemFiles& Files() {
  static const ProblemFiles kFiles;
  return kFiles;
}

// Everything that can be asked of one object.
void ReadObject(const ResultsReader& reader, const std::string& path) {
  Reads([&] { reader.Ints(path); });
  Reads([&] { reader.IntMatrix(path); });
  Reads([&] { reader.Doubles(path); });
  Reads([&] { reader.Strings(path); });
  Reads([&] { reader.Table(path); });
  for (const char* name : {"format", "version", "yaml", "graph", "step_time_ns", "seconds"}) {
    if (!reader.HasAttribute(path, name)) continue;
    Reads([&] { reader.Text(path, name); });
    Reads([&] { reader.Int(path, name); });
    Reads([&] { reader.Double(path, name); });
  }
}

void ReadAll(const ResultsReader& reader, const std::string& group, int& left) {
  for (const std::string& child : reader.Children(group)) {
    if (--left < 0) return;
    const std::string path = (group == "/" ? "" : group) + "/" + child;
    ReadObject(reader, path);
    ReadAll(reader, path, left);
  }
}

void ReadResults(const std::string& input) {
  // 0.3 s and 20 MiB, or 3 s and 205 MiB.
  setenv("EMPLACE_RESULTS_LIMIT", testing::kUnderSanitizers ? "0.05" : "0.005", 0);
  const MemoryFile file(input);
  try {
    const ResultsReader reader(file.path());
    int left = kMostObjects;
    Reads([&] { ReadAll(reader, "/", left); });
    Reads([&] {
      ReadCandidates(reader,
                     ReadRun(reader, {Files().graph.string(), Files().cluster.string(), {}}));
    });
  } catch (const RunError& error) {  // a limit is an answer, too
    throw InputError(error.what());
  }
}

bool ReachesHdf5(const std::string& input) {
  const MemoryFile file(input);
  return Reads([&] { internal::ReadResultsImage(file.path()); });
}

std::vector<std::string> ResultsSeeds() {
  const testing::TempDir folder;
  const Problem& problem = *SmallProblem();
  ResultsFile file(folder / "r.h5");
  file.SetAttribute("/config", "yaml", std::string("coarsen: [colocate]"));
  for (const char* name : {"graph_path", "cluster_path", "costs_path"}) {
    file.SetAttribute("/config", name, std::string());
  }
  file.SetAttribute("/problem", "graph", problem.graph().name());
  file.SetAttribute("/problem", "objective", std::string("step_time"));
  file.SetAttribute("/problem", "semantics", std::string("queue"));
  file.SetAttribute("/problem", "simulate_groups", std::int64_t{0});
  file.SetAttribute("/problem", "count_gaps", std::int64_t{0});
  std::vector<std::string> names;
  for (int op = 0; op < problem.num_ops(); ++op) names.push_back(problem.graph().op(op).name);
  file.WriteStrings("/problem/op_names", names);
  file.WriteStrings("/problem/device_names", problem.cluster().DeviceNames());
  const std::string best = "/agents/heft/best";
  file.WriteInts(best + "/placement", std::vector<std::int64_t>(names.size(), 1));
  OutcomeRecord outcome;
  outcome.step_time = 123;
  outcome.feasible = true;
  WriteRecord(file, best + "/outcome", outcome);
  std::vector<std::int64_t> order;
  for (int op = 0; op < problem.num_ops(); ++op) order.push_back(op);
  file.WriteInts(best + "/issue_order", order);
  file.Commit();
  std::vector<std::string> seeds = {ReadFile(folder / "r.h5")};
  file.WriteInts("/packed", std::vector<std::int64_t>(4100, 7));
  file.WriteIntMatrix("/matrix", {1, 2, 3, 4}, 2);
  file.WriteDoubles("/doubles", {1, 2, 3});
  file.WriteTable("/table", {{"a", std::vector<std::int64_t>{1}}, {"b", std::vector<double>{2}}});
  file.Commit();
  seeds.push_back(ReadFile(folder / "r.h5"));
  return seeds;
}

}  // namespace

constinit const FuzzTarget kResultsTarget = {"results",
                                             "emplace-results, HDF5",
                                             ReadResults,
                                             MutateResults,
                                             ResultsSeeds,
                                             65536,
                                             ReachesHdf5};

}  // namespace emplace::fuzz
