#pragma once

// Waiting for another core without sleeping.

#include <thread>

namespace emplace {

/// For a loop that waits for another core: each Turn() lets all loads before it end, and every few
/// ten thousand turns yields, in case another thread needs this core.
///
/// There is no PAUSE: hypervisors count those of a core, and after some thousand in a row, 50 us or
/// so, they hand the core to another machine for a while (pause-loop exiting). LFENCE keeps the
/// loop from crowding out the other thread of a core as well.
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
