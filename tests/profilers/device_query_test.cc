#include "profilers/device_query.h"

#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/paths.h"

using namespace emplace;

namespace {

namespace fs = std::filesystem;

void WriteDriverFile(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST_CASE("GPUs that are there have figures; where none is there, it is said why") {
  const GpuList list = QueryGpus();
  if (!HasCuda()) CHECK(list.none == "no GPU that this program can use (built without CUDA)");
  CHECK(list.none.empty() == !list.gpus.empty());
  if (list.gpus.empty()) CHECK(list.none.find("no GPU") == 0);
  for (const GpuInfo& gpu : list.gpus) {
    CAPTURE(gpu.name);
    CHECK(!gpu.name.empty());
    CHECK(gpu.compute_major >= 3);
    CHECK(gpu.sm_count > 0);
    CHECK(gpu.memory_bytes > (std::int64_t{1} << 28));
    CHECK(gpu.driver.find('.') != std::string::npos);
  }
  REQUIRE(KnownGpus().has_value());
  CHECK(KnownGpus()->gpus.size() == list.gpus.size());
  CHECK(KnownGpus()->none == list.none);
}

TEST_CASE("the driver's files name GPUs and version") {
  const testing::TempDir folder;
  const fs::path driver = folder / "driver", devices = folder / "dev";
  WriteDriverFile(driver / "gpus/0000:41:00.0/information",
                  "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 255\n");
  WriteDriverFile(driver / "gpus/0000:01:00.0/information",
                  "Model: \t\t NVIDIA H200\nIRQ:   \t\t 254\n");
  WriteDriverFile(
      driver / "version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
      "GCC version:  gcc version 12.3.0\n");
  WriteDriverFile(devices / "nvidia0", "");
  const DriverFiles files = ReadDriverFiles(driver, devices);
  CHECK(files.gpus == std::vector<std::string>{"NVIDIA H200", "NVIDIA A100-SXM4-40GB"});
  CHECK(files.driver == "580.65.06");
}

TEST_CASE("where the driver's files are hidden, its devices count") {
  const testing::TempDir folder;
  for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia", "sda1"}) {
    WriteDriverFile(folder / name, "");
  }
  const DriverFiles files = ReadDriverFiles(folder / "none", folder.path());
  CHECK(files.gpus == std::vector<std::string>{"unnamed", "unnamed"});
  CHECK(files.driver == "");
  CHECK(ReadDriverFiles(folder / "none", folder / "none").gpus.empty());
}

}  // namespace
