#pragma once

// Problems small enough that their optimum is known by hand, for tests that an agent finds it.

#include <memory>
#include <string>
#include <vector>

#include "framework/search/problem.h"

namespace emplace::testing {

struct ToyProblem {
  std::string name;
  std::shared_ptr<const Problem> problem;  ///< every op its own group
  Nanos optimum = 0;                       ///< least step time of all placements [ns]
};

/// Two chains of four ops of 10 ms, nothing between them, two equal devices, 5 ms from one to the
/// other. One chain on each device takes 4 * 10 = 40 ms. That is the least: the 80 ms of work are
/// shared evenly. It is reached by 2 of the 2^8 placements: a chain of 40 ms has no time for a
/// transfer.
ToyProblem TwoChains();

/// A chain of eight ops; the first four take 10 ms on "gpu:0" and 30 ms on "gpu:1", the others the
/// reverse, but the fifth takes only 20 ms on "gpu:0". Any change of device costs 5 ms, except
/// between the fourth and the fifth op, where it costs 100 ms. A chain's step time is the sum of
/// its ops and transfers:
///   change where the speeds do     40       + 100 + 40 = 180 ms
///   change never                   40 + 20 + 3 * 30    = 150 ms    (all on "gpu:0")
///   change one op later            40 + 20 + 5 + 30    =  95 ms    the optimum, 1 of 2^8
///   change one op earlier          30 + 5 + 30 + 40    = 105 ms
ToyProblem HeavyEdge();

/// One op that eight others read, 10 ms each on two equal devices and 100 ms on a third, slow one;
/// its output takes 5 ms to any other device. With k readers beside the first op, and the others on
/// the second fast device, the step takes max(10 + 10 k, 10 + 5 + 10 (8 - k)) ms: least for k = 4,
/// 55 ms. One op on the slow device already takes 100 ms. 2 * C(8, 4) = 140 of 3^9 placements are
/// optimal.
ToyProblem Star();

/// All of the above.
std::vector<ToyProblem> ToyProblems();

/// A family of graphs, for policies that are to be right on graphs they never saw. One op for each
/// letter, nothing between them: 'a' takes 10 ms on "gpu:0" and 40 ms on "gpu:1", 'b' the reverse;
/// the letter is the op's kind. Every op on its fast device is the only optimum if there are as
/// many 'a' as 'b': 10 ms times their number.
std::shared_ptr<const Problem> Sorting(const std::string& letters);
/// The optimum of Sorting(letters).
Placement Sorted(const std::string& letters);

}  // namespace emplace::testing
