#include <benchmark/benchmark.h>

#include "framework/base/memory.h"

int main(int argc, char** argv) {
  emplace::KeepFreedMemory();  // as the program does
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
