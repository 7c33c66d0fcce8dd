#pragma once

// Numeric features of an op's signature (op_signature.h), to compare shapes of one kind.

#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// The structure and the numbers of a signature. Signatures of equal structure differ only in their
/// numbers: dimensions, strides, groups, and counts of equal tensors.
struct SignatureFeatures {
  std::string structure;        ///< the signature with written-out tensors and "n" for every number
  std::vector<double> numbers;  ///< sign(x) log(1 + |x|) of its numbers x, in order
};

/// Parses a signature. First writes out abbreviated tensors: "#0" becomes the tensor to which it
/// refers, "f32[2] x3" three of them, more than 8 equal ones in a row "f32[2] * 40". Then takes out
/// the numbers. A number does not begin after a letter, digit, "_" or ".", so the digits of f32 and
/// Conv2D are not numbers. FORMAT.md ("Signatures", "Neighbours") has the rules. A text that is not
/// a signature is used unchanged.
SignatureFeatures MakeSignatureFeatures(std::string_view signature);

}  // namespace emplace
