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

/// Thrown out of a computation that was asked to end. The object that computed is left half done:
/// destroy it, do not use it.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Small, to be passed by value. One made by default never asks for an end.
class Interrupt {
 public:
  Interrupt() = default;
  /// @param wanted  says whether an end is wanted. Called from any thread and from inner loops, so
  ///   it should cost no more than reading an atomic.
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
