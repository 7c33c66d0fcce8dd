#pragma once

// One HDF5 file per run, readable by h5py and pandas without our code:
//
//   /                       attributes: format "emplace-results", version 2
//   /config                 attributes: yaml, seed(s), version, commit, host, date, gpus, and the
//                           absolute paths graph_path, cluster_path, costs_path ("" without);
//                           resumed: date of the last `--resume`, if there was one; of a run of
//                           a sweep: sweep (its name), run (its title), earlier_programs ("0.1.0
//                           (commit 1ae1b4c), ...") where others than version and commit have
//                           had a part in it
//   /problem                attributes: graph, cluster, semantics, bound_ns, critical_path_ns,
//                           work_ns; datasets: op_names, device_names, group_of_op
//   /agents/<label>/        one per agent and seed, label "hill_climb" or "hill_climb.seed2";
//                           attributes: agent, label, settings, uses_seed, seed, evaluations,
//                           steps (of the agent), seconds, hardware_seconds (what measuring the
//                           evaluated placements would have taken, those that do not fit left out)
//                           at steps_per_measurement, status, error
//     evaluations           compound table: index, wall_seconds, step_time_ns, best_step_time_ns,
//                           feasible
//     updates               compound table of the agent's own numbers, if it has any: doubles, one
//                           row per update, NaN where an update tells nothing
//     best/placement        [num_ops] device index per op;  best/outcome: attributes step_time_ns,
//                           feasible, evaluation (its index); datasets busy_ns, peak_bytes,
//                           deficit_bytes [num_devices]; attributes rung_measured, rung_roofline
//                           ... shares of time
//     checkpoint            the agent's saved state (text), if it was stopped
//   /verification           written by `emplace verify`, laid out as
//                           experiments/machine/fidelity_results.h tells
//   /validation/<graph>/    the same, written by `emplace validate`
//   /families/<family>/     written by `emplace generalize`, in the place of /problem and /agents;
//                           attributes: cluster, yaml (of the family, resolved); datasets: graphs
//                           (names of the unseen ones), training_graphs, and for --resume
//                           graphs_fingerprint, training_graphs_fingerprint (a hash of each graph
//                           with its groups and costs); methods (labels) and settings (resolved),
//                           an entry per method; failures: a sentence per training or test that
//                           failed, beginning with its label
//     training/<label>/     one per policy and seed, "gnn.seed0"; attributes: agent, settings,
//                           seconds; dataset updates as above; policy: the text of the policy file,
//                           once all updates are made; checkpoint: the trainer's saved state (text)
//                           of a training that was stopped
//     tests                 compound table, a row per graph, method and seed: graph, method
//                           (indices into graphs and methods), seed, final_step_time_ns (last
//                           placement evaluated; NaN: it does not fit), best_step_time_ns (NaN:
//                           none fits), best_known_ns (least best_step_time_ns of the graph's
//                           rows), final_over_best_known, best_over_best_known, evaluations,
//                           seconds
//
// The file is composed in memory and renamed into place at every Commit(), so that a process killed
// at any moment leaves the previous or the new state readable. Behind the data stands a checksum of
// it (results_image.h), by which damage of any byte is found. FORMAT.md tells types and versions.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace emplace {

/// What `/@format` and `/@version` of a new file say. Readers take every version up to this one.
inline constexpr std::string_view kResultsFormat = "emplace-results";
inline constexpr std::int64_t kResultsVersion = 2;

using AttributeValue = std::variant<std::int64_t, double, std::string>;

/// One column of a compound table; all columns of a table have the same length.
struct TableColumn {
  std::string name;
  std::variant<std::vector<std::int64_t>, std::vector<double>> values;
};

enum class ResultsMode : std::uint8_t {
  kCreate,  ///< a new file in the place of whatever is there: format and version, nothing else
  kExtend,  ///< what is there stays; an older version becomes this one
};

class ResultsFile {
 public:
  /// @throws RunError at once if the folder does not exist or cannot be written (before hours of
  /// search); kExtend: InputError as ResultsReader does
  explicit ResultsFile(std::filesystem::path path, ResultsMode mode = ResultsMode::kCreate);
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  // Groups are created on the way; writing an existing dataset or attribute replaces it.
  void SetAttribute(const std::string& group, const std::string& name, const AttributeValue& value);
  void WriteInts(const std::string& dataset, const std::vector<std::int64_t>& values);
  /// A dataset of two dimensions [values.size() / columns, columns], row by row.
  void WriteIntMatrix(const std::string& dataset,
                      const std::vector<std::int64_t>& values,
                      std::size_t columns);
  void WriteDoubles(const std::string& dataset, const std::vector<double>& values);
  void WriteStrings(const std::string& dataset, const std::vector<std::string>& values);
  void WriteTable(const std::string& dataset, const std::vector<TableColumn>& columns);
  /// Removes a group with all that is in it, or a dataset, if it is there.
  void Remove(const std::string& path);
  /// Makes everything written so far visible under the path. @throws RunError (disk full, ...)
  void Commit();

  const std::filesystem::path& path() const { return path_; }

 private:
  struct Impl;
  std::filesystem::path path_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
