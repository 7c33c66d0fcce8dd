#include <cstdio>

#include "experiments/program.h"
#include "framework/base/memory.h"

int main(int argc, char** argv) {
#ifdef EMPLACE_ARCH_LEVEL
  if (!__builtin_cpu_supports(EMPLACE_ARCH_LEVEL)) {
    std::fputs("emplace: built for " EMPLACE_ARCH_LEVEL
               ", which this processor does not support; configure with -DEMPLACE_ARCH=x86-64\n",
               stderr);
    return 1;
  }
#endif
  emplace::KeepFreedMemory();
  return emplace::RunProgram(argc, argv);
}
