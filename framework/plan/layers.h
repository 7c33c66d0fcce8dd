#pragma once

// The layers of a model: the units that stages of a pipeline consist of. They are found from the
// names of the ops, since frameworks number the repeated blocks of a model: h.3.attn/bmm,
// layer.3.output/add, encoder/layers/3/MatMul.

#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace emplace {

struct ModelLayers {
  std::vector<int> layer_of_op;    ///< [num_ops] 0 to num_layers() - 1
  std::vector<std::string> names;  ///< [num_layers] "h.3", "input", "output"; "unit 3" if no names
  /// [num_layers] a pattern of the names of the layer's ops for Plan::recompute; empty for layers
  /// without a repeated block
  std::vector<std::string> patterns;
  std::string found_by;  ///< "h.*", or "merged ops" without repeated blocks

  int num_layers() const { return static_cast<int>(names.size()); }
  /// Returns the patterns that recompute the activations of all blocks. An op belongs to the first
  /// pattern that its name matches, so "h.11?*" comes before "h.1?*".
  std::vector<std::string> RecomputeAll() const;
};

/// Returns the layers of a training step in topological order.
///
/// - A *block* is the part of a name up to a component with a number at its end ("h.3", "layer3";
///   components end at '/' and '.'). Blocks whose names differ in the number only are a family. The
///   family that most forward ops belong to is chosen, if it has at least two blocks and a third of
///   the forward ops, and then each family that at least a tenth of the forward ops belong to and
///   that shares no op with it ("encoder.layer.*" and "decoder.layer.*"). If nine tenths of the ops
///   of a family belong to families one level below, as in "layer2.0", those are chosen.
/// - A forward op of a block belongs to the block's layer. Other forward ops belong to the last
///   layer among those of their predecessors: the first layer ("input") without any, a layer of
///   their own ("output") after the last block.
/// - Ops that must share a device have one layer, the first: ops with a `colocate` label, aliases
///   other than views, backward ops with the attribute forward_op. Parameters without a block's
///   name have the layer of their first reader, other ops that of their last predecessor.
/// - Without repeated blocks the layers are at most 32 merged groups of ops (MergeCheapest()).
/// @param pattern  with one '*', which stands for the number: "decoder.block*"; empty: as above
/// @param weight   [num_ops] cost of each op, for merging (any unit)
/// @throws InputError naming the graph, `pattern` and some blocks or op names as choices: a pattern
///   without exactly one '*', or one with less than two blocks
ModelLayers FindLayers(const Graph& graph,
                       std::string_view pattern,
                       const std::vector<double>& weight);

}  // namespace emplace
