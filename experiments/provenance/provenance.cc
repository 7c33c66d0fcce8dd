#include "experiments/provenance/provenance.h"

#include <ctime>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/console/output.h"
#include "experiments/provenance/build_info.h"
#include "framework/base/error.h"
#include "framework/base/lock_file.h"
#include "framework/base/parallel.h"
#include "profilers/device_query.h"

namespace emplace {
namespace {

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, model = "unknown";
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      model = line.substr(colon + 2);
      break;
    }
  }
  return fmt::format("{}, {} cores", model, NumCores());
}

std::string DescribeGpus(const std::vector<GpuInfo>& gpus) {
  std::string text;
  for (const GpuInfo& gpu : gpus) {
    text += fmt::format("{}{} (sm {}.{}, {} SMs, {}), driver {}",
                        text.empty() ? "" : "; ",
                        gpu.name,
                        gpu.compute_major,
                        gpu.compute_minor,
                        gpu.sm_count,
                        FormatBytes(gpu.memory_bytes),
                        gpu.driver);
  }
  return text;
}

// Returns the GPUs for results, as far as they are known without opening one.
std::string GpuNames() {
  const std::optional<GpuList> known = KnownGpus();
  if (known && !known->gpus.empty()) return DescribeGpus(known->gpus);
  DriverFiles files = ReadDriverFiles();
  if (files.gpus.empty()) return "none";
  if (!files.driver.empty()) files.gpus.push_back("driver " + files.driver);
  return fmt::to_string(fmt::join(files.gpus, "; "));
}

// Returns the GPUs for --version, which also works if a GPU cannot be opened.
std::string UsableGpus() {
  try {
    const GpuList list = QueryGpus();
    return list.gpus.empty() ? list.none : DescribeGpus(list.gpus);
  } catch (const RunError& error) {
    return fmt::format("unknown ({})", error.what());
  }
}

}  // namespace

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Provenance CollectProvenance() {
  return {std::string(Version()),
          std::string(Commit()),
          LockHolder::ThisProcess().host,
          CpuName(),
          GpuNames(),
          UtcNow()};
}

void Provenance::Visit(RecordVisitor& v) {
  v.Field("version", version);
  v.Field("commit", commit);
  v.Field("host", host);
  v.Field("cpu", cpu);
  v.Field("gpus", gpus);
  v.Field("date", date);
}

std::string VersionText() {
  return fmt::format("emplace {} (commit {})\nCUDA {}\nGPUs: {}",
                     Version(),
                     Commit(),
                     HasCuda() ? "compiled in" : "not compiled in",
                     UsableGpus());
}

}  // namespace emplace
