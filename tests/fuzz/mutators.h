#pragma once

// Mutators that know what an input is made of. Each leaves the structure to the bytes now and then,
// so that the syntax itself is attacked as well.

#include "tests/fuzz/fuzz_target.h"

namespace emplace::fuzz {

/// JSON: values of other types, huge numbers, ids that dangle, keys twice, deep nesting, parts of
/// earlier inputs.
std::string MutateJson(std::string_view input, const Mutation& mutation);

/// The same inside of a gzip file; or the packed bytes, its header, its end, several members.
std::string MutateGzip(std::string_view input, const Mutation& mutation);

/// YAML: the tree as that of JSON, written in block or flow style with anchors and aliases; or
/// lines and the signs that YAML has.
std::string MutateYaml(std::string_view input, const Mutation& mutation);

/// HDF5 of results files: fields of 1, 2, 4 and 8 bytes, parts moved, swapped and cut off; most
/// often under a right checksum.
std::string MutateResults(std::string_view input, const Mutation& mutation);

/// Texts of agents and policies: words, numbers, the base64 of their matrices.
std::string MutateWords(std::string_view input, const Mutation& mutation);

/// An element of a list that is not empty.
template <class List>
const auto& OneOf(const List& list, Rng& rng) {
  return list[static_cast<std::size_t>(UniformInt(rng, static_cast<int>(std::size(list))))];
}

/// True once in `n` times.
inline bool OneIn(int n, Rng& rng) {
  return UniformInt(rng, n) == 0;
}

}  // namespace emplace::fuzz
