#pragma once

// Texts of states, of whole agents and of their parts.

#include <sstream>
#include <string>

#include "framework/search/state.h"

namespace emplace::testing {

/// The text that a visit writes. @param visit  takes a StateVisitor&
template <class Visit>
std::string WrittenState(const Visit& visit) {
  std::ostringstream out;
  StateVisitor v(out);
  visit(v);
  return out.str();
}

/// Has a visit read a text.
template <class Visit>
void ReadState(const std::string& text, const Visit& visit) {
  std::istringstream in(text);
  StateVisitor v(in);
  visit(v);
}

/// The state of an agent or a trainer.
template <class Saveable>
std::string Saved(Saveable&& saveable) {
  return WrittenState([&](StateVisitor& v) { saveable.VisitState(v); });
}

inline void LoadFrom(Stateful& loadable, const std::string& state) {
  ReadState(state, [&](StateVisitor& v) { loadable.VisitState(v); });
}

/// Writes the state of a part of an agent and reads it into another.
/// @param of  the problem that it belongs to, if its VisitState asks for one
template <class Part, class... Of>
void CopyState(Part& from, Part& to, const Of&... of) {
  ReadState(WrittenState([&](StateVisitor& v) { from.VisitState(v, of...); }),
            [&](StateVisitor& v) { to.VisitState(v, of...); });
}

}  // namespace emplace::testing
