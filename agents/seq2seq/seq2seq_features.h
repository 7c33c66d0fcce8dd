#pragma once

// What the encoder of seq2seq_network.h sees of each group. Rows are the T groups in the order of
// Problem::group_order().
//
// From ICML 2017 [R]: the types of the ops, the sizes of the output tensors, the groups that the
// group reads from and those that read from it. There a group is one vector of a type; here it has
// several ops, and the vectors of their types are averaged [ours]. Sizes are log1p of bytes,
// divided by the largest, the largest tensor first [ours].
//
// What makes the widths of these inputs depend on the graph, its types of ops and its number of
// groups, is fixed by a vocabulary: that of the problem itself, or, for a network that is trained
// on some problems and applied to others, that of all it is trained on. In another problem a type
// that is not in the vocabulary has the vector 0, and a group beyond the vocabulary's number of
// groups is nobody's neighbour [?]: the papers do not say how the network of ICML 2017 was applied
// to other graphs.
//
// The rest is [ours], behind settings:
//   device_costs     [D]  log1p of the group's time on each device [ns], less the mean over
//                         groups and devices, divided by the standard deviation; 0 where the group
//                         may not run
//   resident_bytes   [1]  log1p of parameters, state and buffers, divided by the largest
//   position         [9]  PositionWaves of t / T with four octaves (agents/shared/features.h)
//
// Marks [V], [R], [?], [ours]: how sure we are of what a paper says (agents/README.md).

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
            "sizes of so many output tensors, zeros where fewer");
    v.Field("adjacency", adjacency, "which groups a group reads from, and which read from it");
    v.Field("device_costs", device_costs, "time of the group on each device");
    v.Field("resident_bytes", resident_bytes, "bytes that stay on its device");
    v.Field("position", position, "where it is in the order of the groups");
  }
};

/// What fixes the widths of a network's inputs and outputs, beside its settings.
struct Seq2SeqVocabulary {
  std::vector<std::string> kinds;  ///< types of ops, sorted
  int num_groups = 0;              ///< W: whose positions the adjacency knows
  int num_devices = 0;
  bool operator==(const Seq2SeqVocabulary&) const = default;
};

/// All types of ops of the problems, and the groups of the largest one.
/// @throws InputError naming two of different numbers of devices, and these
Seq2SeqVocabulary MakeSeq2SeqVocabulary(std::span<const std::shared_ptr<const Problem>> problems);

struct Seq2SeqFeatures {
  std::shared_ptr<const SparseMatrix> kinds;  ///< [T, num_kinds] share of the group's ops
  /// [T, 2 W]: 1 at s if the group reads a tensor of (or waits for) group s, 1 at W + s if group s
  /// reads from it; s < W only. Without columns if not wanted.
  std::shared_ptr<const SparseMatrix> adjacency;
  /// [T, F] output sizes, then those of device_costs, resident_bytes and position that the settings
  /// want.
  Matrix dense;
};

/// F, the columns of Seq2SeqFeatures::dense.
int Seq2SeqDenseWidth(const Seq2SeqFeaturesConfig& config, int num_devices);

/// CHECKs that the problem has the vocabulary's number of devices.
Seq2SeqFeatures MakeSeq2SeqFeatures(const Problem& problem,
                                    const Seq2SeqVocabulary& vocabulary,
                                    const Seq2SeqFeaturesConfig& config);

}  // namespace emplace
