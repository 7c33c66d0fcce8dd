#pragma once

#include <memory>

#include "scripts/emplace/bindings/bindings.h"

namespace emplace::python {

/// Adds evaluate() and moves() to a class.
/// @param with  with(object, body): calls body(Evaluator&) without the GIL and returns its result
template <class C, class... Bases, class With>
void AddEvaluation(nb::class_<C, Bases...>& bound, With with) {
  using Result = std::shared_ptr<Outcomes>;
  constexpr const char* kEvaluate =
      "def evaluate(self, placements: numpy.typing.ArrayLike, *, peaks: bool = True, busy: bool = "
      "False) -> "
      "Outcomes";
  constexpr const char* kMoves =
      "def moves(self, base: numpy.typing.ArrayLike, moves: numpy.typing.ArrayLike, begin: "
      "numpy.typing.ArrayLike | None = None, *, peaks: bool = False, busy: bool = False) -> "
      "Outcomes";
  bound.def(
      "evaluate",
      [with](C& self, PlacementArray placements, bool peaks, bool busy) -> Result {
        const PlacementRows rows{placements.data(), placements.shape(0), placements.shape(1)};
        return with(self, [&](Evaluator& evaluator) {
          return EvaluateRows(evaluator, rows, {peaks, busy});
        });
      },
      nb::arg("placements").noconvert(),
      nb::kw_only(),
      nb::arg("peaks") = true,
      nb::arg("busy") = false,
      R"(Evaluates placements, uint8 [B, num_groups], exactly and in order; without the GIL.

peaks, busy: whether to fill these columns.
Throws InputError for a wrong size or a forbidden device.)");
  bound.def(
      "evaluate",
      [with](C& self, nb::handle placements, bool peaks, bool busy) -> Result {
        const GivenPlacements given(placements);
        const PlacementRows rows{given.device.data(), given.num_placements, given.num_groups};
        return with(self, [&](Evaluator& evaluator) {
          return EvaluateRows(evaluator, rows, {peaks, busy});
        });
      },
      nb::arg("placements"),
      nb::kw_only(),
      nb::arg("peaks") = true,
      nb::arg("busy") = false,
      nb::sig(kEvaluate),
      "As above, for other integer types, which are copied.");
  bound.def(
      "moves",
      [with](C& self, nb::handle base, nb::handle moves, nb::handle begin, bool peaks, bool busy)
          -> Result {
        const GivenMoves given(base, moves, begin);
        return with(self, [&](Evaluator& evaluator) {
          return EvaluateMoves(evaluator, given, {peaks, busy});
        });
      },
      nb::arg("base"),
      nb::arg("moves"),
      nb::arg("begin") = nb::none(),
      nb::kw_only(),
      nb::arg("peaks") = false,
      nb::arg("busy") = false,
      nb::sig(kMoves),
      R"(Evaluates neighbours of a placement, faster than evaluate().

base: [num_groups]. moves: int [num_moves, 2], a group and its new device each.
begin: int [n + 1]: neighbour i is the base after the moves begin[i] .. begin[i + 1] - 1; None: each move
    is a neighbour.)");
}

}  // namespace emplace::python
