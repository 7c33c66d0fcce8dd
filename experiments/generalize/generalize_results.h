#pragma once

// The results of `emplace generalize`: in HDF5, laid out as framework/results/FORMAT.md tells, and
// as a table.

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/generalize/generalize_run.h"
#include "experiments/run/search_record.h"
#include "framework/results/record.h"

namespace emplace {

/// What is known of one family.
struct FamilyResults {
  std::vector<std::string> graphs;  ///< names of the unseen graphs
  std::vector<Training> trainings;  ///< one per policy and seed; some not begun
  std::vector<Test> tests;
  std::vector<std::string> failures;  ///< of trainings and tests; --resume tries them again

  /// The training whose policy a method uses with this seed; nullptr if it uses none.
  const Training* FindTraining(const GeneralizePlan& plan,
                               const TestPlan& method,
                               std::uint64_t seed) const;
};

/// /families/<family>: its graphs and methods, which are known before it is trained on.
struct FamilyRecord {
  std::string cluster, yaml;
  std::vector<std::string> graphs;
  std::vector<std::int64_t> graphs_fingerprint;
  std::vector<std::string> training_graphs;
  std::vector<std::int64_t> training_graphs_fingerprint;
  std::vector<std::string> methods, settings;

  void Visit(RecordVisitor& v);
};

/// /families/<family>/training/<label>.
struct TrainingRecord : UpdatesRecord {
  std::string agent, settings;
  double seconds = 0;
  LongText policy, checkpoint;

  void Visit(RecordVisitor& v);
};

/// A row of /families/<family>/tests.
struct TestRow {
  Test test;
  double best_known = 0;  ///< of the graph [ns]

  void Visit(RecordVisitor& v);
};

/// The rest of /families/<family>.
struct TestsRecord {
  std::vector<std::string> failures;
  std::vector<TestRow> tests;

  void Visit(RecordVisitor& v);
};

/// Writes /config.
void WriteGeneralizeHeader(ResultsFile& file, const GeneralizePlan& plan);

/// Writes what is known of a family before it is trained on: its graphs and methods.
void WriteFamily(ResultsFile& file, const GeneralizePlan& plan, const Family& family);

/// Writes /families/<family>/training/<label>, in the place of an earlier part of the same
/// training.
void WriteTraining(ResultsFile& file,
                   const FamilyPlan& family,
                   const TrainPlan& plan,
                   const Training& training);

/// Writes /families/<family>/tests and failures, in the place of earlier ones.
void WriteTests(ResultsFile& file, const FamilyPlan& family, const FamilyResults& results);

/// What an earlier part of the same experiment, which was stopped or killed, has done.
/// @return [families]
/// @throws InputError if it was made with another config, other settings or graphs, or holds a
///   checkpoint that its trainer refuses
std::vector<FamilyResults> ReadEarlierFamilies(const std::filesystem::path& path,
                                               const GeneralizePlan& plan,
                                               const std::vector<Family>& families);

/// A table with one row per method: final and best step time over the best known of each graph, as
/// the 10 %, 50 % and 90 % quantiles over graphs and seeds, where what does not fit counts as
/// infinite (OOM); medians of the evaluations and seconds of a test. Then one line per failure.
std::string FormatFamily(const GeneralizePlan& plan,
                         const FamilyPlan& family,
                         const FamilyResults& results);

}  // namespace emplace
