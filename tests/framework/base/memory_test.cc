#include "framework/base/memory.h"

#include <vector>

#include <doctest/doctest.h>

// Sanitizers have an allocator of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <malloc.h>

namespace {

using namespace emplace;

TEST_CASE("memory: what is freed stays with the process") {
  constexpr std::size_t kBytes = 16 << 20;
  KeepFreedMemory();
  const auto mapped = mallinfo2().hblkhd;
  {
    const std::vector<char> large(kBytes, 1);
    CHECK(large.back() == 1);
    CHECK(mallinfo2().hblkhd == mapped);  // from the heap, not mapped alone
  }
  CHECK(mallinfo2().fordblks >= kBytes);  // free, and not given back
}

}  // namespace
#endif
