#pragma once

// The results of `emplace generalize`: in HDF5, with the layout of framework/results/FORMAT.md, and
// as a table.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/generalize/generalize_run.h"
#include "framework/results/record.h"

namespace emplace {

/// /families/<family>: its graphs and methods, which are known before the training.
struct FamilyRecord {
  std::string cluster, yaml;
  std::vector<std::string> graphs;
  std::vector<std::int64_t> graphs_fingerprint;
  std::vector<std::string> training_graphs;
  std::vector<std::int64_t> training_graphs_fingerprint;
  std::vector<std::string> methods, settings;

  void Visit(RecordVisitor& v);
};

/// The rest of /families/<family>.
struct TestsRecord {
  std::vector<Test> tests;
  std::vector<std::string> failures;  ///< of trainings and tests; --resume repeats them

  void Visit(RecordVisitor& v);
};

/// The results of one family.
struct FamilyResults : TestsRecord {
  std::vector<std::string> graphs;  ///< names of the unseen graphs
  std::vector<Training> trainings;  ///< one per policy and seed; some not begun

  /// Returns the training that provides a method's policy for this seed; nullptr if it uses none.
  const Training* FindTraining(const GeneralizePlan& plan,
                               const TestPlan& method,
                               std::uint64_t seed) const;
};

/// Returns the results before the first training.
FamilyResults BeginFamily(const GeneralizePlan& plan, const Family& family);

/// Writes /config.
void WriteGeneralizeHeader(ResultsFile& file, const GeneralizePlan& plan);

/// Writes the graphs and methods of a family, before its training.
void WriteFamily(ResultsFile& file, const GeneralizePlan& plan, const Family& family);

/// Writes /families/<family>/training/<label> and replaces an earlier part of the same training.
void WriteTraining(ResultsFile& file, const FamilyPlan& family, const Training& training);

/// Writes /families/<family>/tests and failures and replaces earlier ones.
void WriteTests(ResultsFile& file, const FamilyPlan& family, FamilyResults& results);

/// Reads the results of an earlier part of the same experiment that was stopped or killed.
/// @return [families]
/// @throws InputError if it was made with another config, other settings or graphs, or contains a
///   checkpoint that its trainer refuses
std::vector<FamilyResults> ReadEarlierFamilies(const std::filesystem::path& path,
                                               const GeneralizePlan& plan,
                                               const std::vector<Family>& families);

/// Returns a table with one row per method: final and best step time over the best known of each
/// graph, as the 10 %, 50 % and 90 % quantiles over graphs and seeds (placements that do not fit
/// count as infinite, OOM), and the medians of the evaluations and seconds of a test. After the
/// table comes one line per failure.
std::string FormatFamily(const GeneralizePlan& plan,
                         const FamilyPlan& family,
                         const FamilyResults& results);

}  // namespace emplace
