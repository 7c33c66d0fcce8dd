#include "profilers/cpu/cpu_system.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "profilers/cpu/cpu_backend.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

TEST_CASE("device kinds are named after model and cores") {
  CHECK(CpuKindName("AMD EPYC 9654 96-Core Processor", 8) == "amd_epyc_9654_8c");
  CHECK(CpuKindName("AMD EPYC", 1) == "amd_epyc_1c");
  CHECK(CpuKindName("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", 2) == "intel_xeon_e5_2686_v4_2c");
}

TEST_CASE("reserved memory keeps its place and its bytes while more of it is used") {
  ReservedMemory memory(std::int64_t{1} << 34);  // more than is ever touched
  std::byte* const data = memory.data();
  memory.Touch(1000);
  std::fill(data, data + 1000, std::byte{7});
  memory.Touch(100000);
  CHECK(memory.data() == data);
  CHECK(std::count(data, data + 1000, std::byte{7}) == 1000);
  CHECK(std::count(data + 1000, data + 100000, std::byte{0}) == 99000);
  memory.Touch(10);  // less than before: nothing to do
  CHECK(std::count(data, data + 1000, std::byte{7}) == 1000);
  CHECK(ReservedMemory(0).size() == 0);
  CHECK(MessageOf<RunError>([] {
          ReservedMemory(std::int64_t{1} << 60);
        }).find("cannot reserve 1152921504606846976 B of address space") == 0);
}

TEST_CASE("what the system says is plausible") {
  CHECK(!CpuModel().empty());
  CHECK(std::ranges::is_sorted(AllowedCores()));
  CHECK(!AllowedCores().empty());
  CHECK(PhysicalMemory() > (1 << 26));
  CHECK(LastLevelCacheBytes() > (1 << 16));
  CHECK(ClockMhz(AllowedCores()[0]) >= 0);
  CHECK(KernelRelease().find(' ') != std::string::npos);
}

}  // namespace
