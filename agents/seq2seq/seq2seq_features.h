#pragma once

// What the encoder of seq2seq_network.h sees of each group. Rows are the T groups in the order of
// Problem::group_order().
//
// From ICML 2017 [R]: the types of the ops, the sizes of the output tensors, the groups that the
// group reads from and those that read from it. There a group is one vector of a type; here it has
// several ops, and the vectors of their types are averaged [ours]. Sizes are log1p of bytes,
// divided by the largest, the largest tensor first [ours].
//
// The rest is [ours], behind settings:
//   device_costs     [D]  log1p of the group's time on each device [ns], less the mean over
//                         groups and devices, divided by the standard deviation; 0 where the group
//                         may not run
//   resident_bytes   [1]  log1p of parameters, state and buffers, divided by the largest
//   position         [9]  t / T, then the sine and cosine of pi 2^i t / T for i = 0..3

#include <memory>

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
    v.Field("output_sizes", output_sizes, "sizes of so many output tensors, zeros where fewer");
    v.Field("adjacency", adjacency, "which groups a group reads from, and which read from it");
    v.Field("device_costs", device_costs, "time of the group on each device");
    v.Field("resident_bytes", resident_bytes, "bytes that stay on its device");
    v.Field("position", position, "where it is in the order of the groups");
  }
};

struct Seq2SeqFeatures {
  std::shared_ptr<const SparseMatrix> kinds;  ///< [T, num_kinds] share of the group's ops
  /// [T, 2 T]: 1 at s if the group reads a tensor of (or waits for) group s, 1 at T + s if group s
  /// reads from it. Without columns if not wanted.
  std::shared_ptr<const SparseMatrix> adjacency;
  Matrix dense;  ///< [T, F] sizes, and what is wanted of the rest in the order above
};

/// @throws SettingError, under `key`, if output_sizes is negative
Seq2SeqFeatures MakeSeq2SeqFeatures(const Problem& problem,
                                    const Seq2SeqFeaturesConfig& config,
                                    const std::string& key);

}  // namespace emplace
