#pragma once

// Waiting for another core without sleeping.

#include <thread>

namespace emplace {

/// A pause for loops that wait for another core. Each Turn() lets all earlier loads complete. Every
/// kTurnsBeforeYield turns it yields, in case another thread needs this core.
///
/// It does not use PAUSE: hypervisors count the PAUSE instructions of a core. After several
/// thousand in a row (about 50 us) they give the core to another virtual machine for a while
/// (pause-loop exiting). LFENCE also keeps the loop from slowing down the other hardware thread of
/// the core.
class SpinWait {
 public:
  void Turn() {
    LetLoadsEnd();
    if (++turns_ % kTurnsBeforeYield == 0) std::this_thread::yield();
  }

 private:
  static constexpr int kTurnsBeforeYield = 32768;

  static void LetLoadsEnd() {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int turns_ = 0;
};

}  // namespace emplace
