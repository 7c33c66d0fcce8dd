#include "profilers/device_names.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"

using namespace emplace;

namespace {

MachineParts Machine(int cores, int gpus, int major = 9, int sm_count = 132) {
  MachineParts machine;
  for (int i = 0; i < cores; ++i) machine.cores.push_back(2 * i);  // every other core is allowed
  GpuInfo gpu;
  gpu.name = "NVIDIA H200";
  gpu.compute_major = major;
  gpu.sm_count = sm_count;
  machine.gpus.assign(gpus, gpu);
  return machine;
}

std::vector<DeviceSpec> Parse(const std::vector<std::string>& names, const MachineParts& machine) {
  return ParseDevices(names, machine);
}

std::string NameErrorOf(const std::vector<std::string>& names, const MachineParts& machine) {
  try {
    ParseDevices(names, machine);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

const GpuDeviceSpec& Gpu(const DeviceSpec& device) {
  return std::get<GpuDeviceSpec>(device);
}
const CpuGroup& Cpu(const DeviceSpec& device) {
  return std::get<CpuGroup>(device);
}

TEST_CASE("devices keep the order of their names") {
  const auto devices = Parse({"gpu:1", "cpu:0", "gpu:0"}, Machine(4, 2));
  REQUIRE(devices.size() == 3);
  CHECK(Gpu(devices[0]).name == "gpu:1");
  CHECK(Gpu(devices[0]).gpu == 1);
  CHECK(Gpu(devices[0]).sm_count == 0);
  CHECK(Cpu(devices[1]).name == "cpu:0");
  CHECK(Gpu(devices[2]).gpu == 0);
}

TEST_CASE("cores are divided evenly; beside a GPU one stays free") {
  auto devices = Parse({"cpu:0", "cpu:1"}, Machine(5, 0));
  CHECK(Cpu(devices[0]).cores == std::vector<int>{0, 2});
  CHECK(Cpu(devices[1]).cores == std::vector<int>{4, 6});
  devices = Parse({"cpu:1", "gpu:0", "cpu:0"}, Machine(5, 1));
  CHECK(Cpu(devices[0]).cores == std::vector<int>{0, 2});
  CHECK(Cpu(devices[2]).cores == std::vector<int>{4, 6});
  devices = Parse({"gpu:0", "cpu:0"}, Machine(16, 1));
  CHECK(Cpu(devices[1]).cores.size() == 15);
  devices = Parse({"gpu:0", "cpu:0"}, Machine(1, 1));
  CHECK(Cpu(devices[1]).cores == std::vector<int>{0});
}

TEST_CASE("a GPU is cut into equal partitions") {
  // 132 SMs hold 16 groups of 8; a quarter of 16 groups is 4: 32 SMs.
  const auto devices = Parse({"gpu:0/4"}, Machine(2, 1));
  REQUIRE(devices.size() == 4);
  for (int i = 0; i < 4; ++i) {
    CHECK(Gpu(devices[i]).name == "gpu:0." + std::to_string(i));
    CHECK(Gpu(devices[i]).sm_count == 32);
  }
  CHECK(Gpu(Parse({"gpu:0/3"}, Machine(2, 1))[0]).sm_count == 40);   // 16 / 3 = 5 groups
  CHECK(Gpu(Parse({"gpu:0/1"}, Machine(2, 1))[0]).sm_count == 128);  // no remainder of 4
  CHECK(Gpu(Parse({"gpu:0/16"}, Machine(2, 1))[15]).sm_count == 8);
  CHECK(Gpu(Parse({"gpu:0/5"}, Machine(2, 1, 8, 108))[4]).sm_count ==
        20);  // 21 is no multiple of 2
}

TEST_CASE("a GPU is cut into partitions of given sizes") {
  const auto devices = Parse({"gpu:0/64+32+32", "cpu:0"}, Machine(2, 1));
  REQUIRE(devices.size() == 4);
  CHECK(Gpu(devices[0]).sm_count == 64);
  CHECK(Gpu(devices[1]).sm_count == 32);
  CHECK(Gpu(devices[2]).name == "gpu:0.2");
}

TEST_CASE("whatever is asked for, partitions obey the hardware's rules or are refused") {
  for (int major : {7, 8, 9}) {
    for (int sm_count : {8, 13, 46, 84, 108, 132}) {
      const MachineParts machine = Machine(2, 1, major, sm_count);
      const SmGranule granule = SmGranuleOf(machine.gpus[0]);
      for (int parts = 1; parts <= 40; ++parts) {
        CAPTURE(major);
        CAPTURE(sm_count);
        CAPTURE(parts);
        const std::string name = "gpu:0/" + std::to_string(parts);
        // Possible exactly if that many partitions of the least size fit.
        const bool fits = parts * granule.minimum <= sm_count / granule.multiple * granule.multiple;
        if (!fits) {
          CHECK(NameErrorOf({name}, machine).find("do not fit") != std::string::npos);
          continue;
        }
        const auto devices = Parse({name}, machine);
        REQUIRE(static_cast<int>(devices.size()) == parts);
        int sum = 0;
        for (const auto& device : devices) {
          CHECK(Gpu(device).sm_count >= granule.minimum);
          CHECK(Gpu(device).sm_count % granule.multiple == 0);
          sum += Gpu(device).sm_count;
        }
        CHECK(sum <= sm_count);
      }
    }
  }
}

TEST_CASE("what is wrong with a device's name is said, and what there is") {
  const std::string forms =
      "expected cpu:N, gpu:N, gpu:N/PARTS (equal partitions) or gpu:N/SMS+SMS+... (partitions with "
      "these numbers of SMs); ";
  const std::string none = "this machine has 2 cores and no GPU";
  const std::string one = "this machine has 2 cores and gpu:0 (NVIDIA H200, 132 SMs)";
  for (const char* name : {"tpu:0",
                           "gpu",
                           "cpu:",
                           "cpu:-1",
                           "cpu:x",
                           "cpu:0/2",
                           "gpu:0.1",
                           "gpu:0/",
                           "gpu:0/4+",
                           "gpu:0/0",
                           "gpu:0/8+0",
                           "gpu:0/a",
                           "gpu:99999999999",
                           ""}) {
    CAPTURE(name);
    CHECK(NameErrorOf({name}, Machine(2, 1)) ==
          "device \"" + std::string(name) + "\": " + forms + one);
  }
  CHECK(NameErrorOf({}, Machine(2, 0)) == "no device named; " + forms + none);
  CHECK(NameErrorOf({"gpu:0"}, Machine(2, 0)) == "device \"gpu:0\" does not exist; " + none);
  CHECK(NameErrorOf({"gpu:1"}, Machine(2, 1)) == "device \"gpu:1\" does not exist; " + one);
  MachineParts without = Machine(2, 0);
  without.no_gpu = "no GPU that this program can use (cannot load x.so: no such file)";
  CHECK(NameErrorOf({"gpu:0"}, without) ==
        "device \"gpu:0\" does not exist; this machine has 2 cores and no GPU that this program "
        "can use (cannot load x.so: no such file)");
  MachineParts unasked = Machine(2, 0);
  unasked.no_gpu = "";
  CHECK(NameErrorOf({"cpu:0", "cpu:1", "cpu:2"}, unasked) ==
        "3 CPU devices need one core each; this machine has 2 cores");
  CHECK(NameErrorOf({"cpu:0", "cpu:0"}, Machine(2, 0)) == "device \"cpu:0\" is named twice");
  CHECK(NameErrorOf({"gpu:0/4", "gpu:0"}, Machine(2, 1)) ==
        "device \"gpu:0\": GPU 0 is named twice, already by \"gpu:0/4\"");
  CHECK(NameErrorOf({"cpu:0", "cpu:1", "cpu:2"}, Machine(2, 0)) ==
        "3 CPU devices need one core each; " + none);
  CHECK(NameErrorOf({"cpu:0", "cpu:1", "gpu:0"}, Machine(2, 1)) ==
        "2 CPU devices need one core each and one for the GPUs' commands; " + one);
}

TEST_CASE("partitions that do not fit a GPU are refused with what it can give") {
  const MachineParts machine = Machine(2, 1);
  CHECK(NameErrorOf({"gpu:0/17"}, machine) ==
        "device \"gpu:0/17\": 17 partitions do not fit; NVIDIA H200 has 132 SMs and gives at most "
        "16 partitions of at least 8 SMs");
  CHECK(NameErrorOf({"gpu:0/64+30"}, machine) ==
        "device \"gpu:0/64+30\": cannot make a partition of 30 SMs; NVIDIA H200 allows at least 8 "
        "SMs in multiples of 8");
  CHECK(NameErrorOf({"gpu:0/64+64+8"}, machine) ==
        "device \"gpu:0/64+64+8\": 136 SMs in total; partitions of NVIDIA H200 can use 128 of its "
        "132");
}

TEST_CASE("only names of CPU devices leave the GPUs alone") {
  using Names = std::vector<std::string>;
  CHECK(!MayNeedGpus(Names{"cpu:0", "cpu:1"}));
  CHECK(MayNeedGpus(Names{"cpu:0", "gpu:0/4"}));
  CHECK(MayNeedGpus(Names{"tpu:0"}));  // the answer names the GPUs
  CHECK(MayNeedGpus(Names{}));
}

TEST_CASE("default devices") {
  using Names = std::vector<std::string>;
  CHECK(DefaultDevicesOf(Machine(2, 0)) == Names{"cpu:0", "cpu:1"});
  CHECK(DefaultDevicesOf(Machine(1, 0)) == Names{"cpu:0"});
  CHECK(DefaultDevicesOf(Machine(8, 2)) == Names{"gpu:0", "gpu:1", "cpu:0"});
}

}  // namespace
