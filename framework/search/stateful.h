#pragma once

#include <iosfwd>

namespace emplace {

class StateVisitor;

/// An object whose state between two steps is saved: an agent, a trainer of policies.
class Stateful {
 public:
  virtual ~Stateful() = default;
  /// Visits every piece of the state once, random generators included (state.h). The visitor writes
  /// the piece or reads it: an object made from the same context and settings that has read a state
  /// continues bit for bit as the one that wrote it. A visit that writes changes nothing.
  /// @throws InputError from a visit that reads if the text belongs to another problem or agent
  virtual void VisitState(StateVisitor& v) = 0;
  void Save(std::ostream& out);
  void Load(std::istream& in);
};

}  // namespace emplace
