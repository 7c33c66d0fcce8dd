#pragma once

// Waiting for another core without sleeping.

#include <thread>

namespace emplace {

/// For a loop that waits for another core: each Turn() pauses the processor for a moment, and every
/// few thousand turns yields, in case another thread needs this core.
class SpinWait {
 public:
  void Turn() {
    Pause();
    if (++turns_ % kTurnsBeforeYield == 0) std::this_thread::yield();
  }

 private:
  static constexpr int kTurnsBeforeYield = 4096;

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int turns_ = 0;
};

}  // namespace emplace
