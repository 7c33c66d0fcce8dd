#pragma once

// Reports to a long computation that the user wants it to end (ctrl-C). The caller of the
// computation passes an Interrupt, and the computation checks it regularly:
//
//   for (int op : order) {
//     interrupt.Check();
//     ...
//   }

#include <exception>

namespace emplace {

/// Thrown by a computation that was asked to end. The computing object must not be used any more.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// A small object that is passed by value. By default it never asks for an end.
class Interrupt {
 public:
  Interrupt() = default;
  /// @param wanted  returns whether an end is wanted. It is called from any thread and from inner
  ///   loops, so it should cost no more than reading an atomic.
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
