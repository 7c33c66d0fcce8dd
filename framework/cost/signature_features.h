#pragma once

// What the signature of an op (op_signature.h) says of it as numbers, so that shapes of one kind
// can be compared.

#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Two ops whose signatures have one structure differ in their numbers only: in dimensions,
/// strides, groups, how often a tensor is there.
struct SignatureFeatures {
  std::string structure;        ///< the signature, tensors written out, "n" for every number
  std::vector<double> numbers;  ///< sign(x) log(1 + |x|) of its numbers x, as they stand
};

/// Takes a signature apart. Before its numbers are taken out, the tensors of a list that are not
/// written out are: "#0" becomes the tensor it names, "f32[2] x3" three of them, more than 8 equal
/// ones in a row "f32[2] * 40". A number begins behind none of letters, digits, "_" and ".", so
/// that f32 and Conv2D are none. FORMAT.md ("Signatures", "Neighbours") has the rules. A text that
/// is no signature is taken as it stands.
SignatureFeatures MakeSignatureFeatures(std::string_view signature);

}  // namespace emplace
