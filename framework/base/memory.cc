#include "framework/base/memory.h"

#include <cstdlib>  // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace emplace {

void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kMebibyte = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMebibyte);
  mallopt(M_TRIM_THRESHOLD, 1024 * kMebibyte);
  mallopt(M_TOP_PAD, 16 * kMebibyte);
#endif
}

}  // namespace emplace
