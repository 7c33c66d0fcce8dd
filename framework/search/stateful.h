#pragma once

#include <iosfwd>

namespace emplace {

class StateVisitor;

/// An object whose state can be saved between two steps: an agent, or a trainer of policies.
class Stateful {
 public:
  virtual ~Stateful() = default;
  /// Visits every piece of the state once, including random generators (state.h). The visitor
  /// either writes or reads each piece. An object made from the same context and settings continues
  /// bit for bit like the saved one after it has read the state. Writing changes nothing.
  /// @throws InputError from a visit that reads if the text belongs to another problem or agent
  virtual void VisitState(StateVisitor& v) = 0;
  void Save(std::ostream& out);
  void Load(std::istream& in);
};

}  // namespace emplace
