#pragma once

// How a long computation learns that the user wants it to end (ctrl-C). Whoever starts the
// computation hands it an Interrupt; the computation asks it every now and then:
//
//   for (int op : order) {
//     interrupt.Check();
//     ...
//   }

#include <exception>

namespace emplace {

/// Thrown out of a computation that was asked to end. Its object is left as it happens to be: to be
/// destroyed, not to be used.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Small, to be copied. One made by default never asks for an end.
class Interrupt {
 public:
  Interrupt() = default;
  /// @param wanted  whether an end is wanted; called from any thread, as often as inner loops like:
  ///   it should cost about as much as reading an atomic
  explicit Interrupt(bool (*wanted)()) : wanted_(wanted) {}

  bool wanted() const { return wanted_ != nullptr && wanted_(); }
  /// @throws Interrupted if an end is wanted
  void Check() const {
    if (wanted()) throw Interrupted();
  }

 private:
  bool (*wanted_)() = nullptr;
};

}  // namespace emplace
