#include <fstream>
#include <string>

#include <benchmark/benchmark.h>

#include "framework/base/memory.h"
#include "simulator/lanes/lane_kernel.h"

namespace {

std::string ProcessorModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  }
  return "unknown";
}

// Describes what figures depend on, in the header of every table.
void AddContext() {
  const emplace::LaneKernel* lanes = emplace::FindLaneKernel(16);
  benchmark::AddCustomContext("processor", ProcessorModel());
  benchmark::AddCustomContext("compiled for", EMPLACE_ARCH_LEVEL);
  benchmark::AddCustomContext("lanes of stream semantics",
                              lanes == nullptr     ? "none"
                              : lanes->lanes == 16 ? "16 (AVX-512)"
                                                   : "8 (AVX2)");
}

}  // namespace

int main(int argc, char** argv) {
  emplace::KeepFreedMemory();  // as the program does
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  AddContext();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
