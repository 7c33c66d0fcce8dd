#pragma once

// Inputs of the encoder of seq2seq_network.h for each group. Rows are the T groups in the order of
// Problem::group_order().
//
// From ICML 2017: the types of the ops, the sizes of the output tensors, the groups that the group
// reads from, and the groups that read from it. In the paper a group has a single type and its
// vector; here it has several ops, and the vectors of their types are averaged. Sizes are log1p of
// bytes, divided by the largest, with the largest tensor first; this scaling is our own.
//
// The types of ops and the number of groups of a graph would set the widths of these inputs. A
// vocabulary fixes both instead: that of the problem itself, or, for a network that is trained on
// some problems and applied to others, that of all training problems. In another problem, a type
// outside the vocabulary has the vector 0, and a group beyond the vocabulary's number of groups has
// no columns in the adjacency. The papers do not say how the network of ICML 2017 was applied to
// other graphs.
//
// The other inputs are not in the paper; each has a setting:
//   device_costs     [D]  log1p of the group's time on each device [ns], less the mean over
//                         groups and devices, divided by the standard deviation; 0 where the group
//                         may not run
//   resident_bytes   [1]  log1p of parameters, state and buffers, divided by the largest
//   position         [9]  PositionWaves of t / T with four octaves (agents/shared/features.h)

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/config/fields.h"
#include "framework/learn/ops.h"
#include "framework/search/problem.h"

namespace emplace {

struct Seq2SeqFeaturesConfig {
  int output_sizes = 8;
  bool adjacency = true;
  bool device_costs = true;
  bool resident_bytes = true;
  bool position = true;
  void Visit(FieldVisitor& v) {
    v.Field("output_sizes",
            output_sizes,
            Between(0, 1e6),
            "number of output tensors whose sizes are included, padded with zeros");
    v.Field("adjacency", adjacency, "add the groups that a group reads and those that read it");
    v.Field("device_costs", device_costs, "add the time of the group on each device");
    v.Field("resident_bytes", resident_bytes, "add the bytes that stay on its device");
    v.Field("position", position, "add its position in the order of the groups");
  }
};

/// Fixes the widths of a network's inputs and outputs, together with its settings.
struct Seq2SeqVocabulary {
  std::vector<std::string> kinds;  ///< types of ops, sorted
  int num_groups = 0;              ///< W: number of positions in the adjacency
  int num_devices = 0;
  bool operator==(const Seq2SeqVocabulary&) const = default;
};

/// Returns the vocabulary with all types of ops of the problems and the groups of the largest one.
/// @throws InputError if the numbers of devices differ; names two such problems and their numbers
Seq2SeqVocabulary MakeSeq2SeqVocabulary(std::span<const std::shared_ptr<const Problem>> problems);

struct Seq2SeqFeatures {
  std::shared_ptr<const SparseMatrix> kinds;  ///< [T, num_kinds] share of the group's ops
  /// [T, 2 W] Column s is 1 if the group reads a tensor of group s or waits for it, column W + s is
  /// 1 if group s reads from the group; s < W only. No columns if the setting is off.
  std::shared_ptr<const SparseMatrix> adjacency;
  /// [T, F] Output sizes, then device_costs, resident_bytes and position as selected by the
  /// settings.
  Matrix dense;
};

/// Returns F, the columns of Seq2SeqFeatures::dense.
int Seq2SeqDenseWidth(const Seq2SeqFeaturesConfig& config, int num_devices);

/// Computes the inputs of one problem. CHECKs that it has the vocabulary's number of devices.
Seq2SeqFeatures MakeSeq2SeqFeatures(const Problem& problem,
                                    const Seq2SeqVocabulary& vocabulary,
                                    const Seq2SeqFeaturesConfig& config);

}  // namespace emplace
