#include "profilers/machine.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "profilers/cpu/cpu_backend.h"
#include "profilers/device_query.h"

using namespace emplace;

namespace {

std::string ErrorOf(const std::vector<std::string>& names) {
  try {
    OpenMachine(names);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("CPU devices of this machine open in the order of their names") {
  std::vector<std::string> names = {"cpu:0"};
  if (AllowedCores().size() > 1) names.insert(names.begin(), "cpu:1");
  const auto backend = OpenMachine(names);
  REQUIRE(backend->devices().size() == names.size());
  for (size_t d = 0; d < names.size(); ++d) {
    CHECK(backend->devices()[d].name == names[d]);
    CHECK(backend->devices()[d].kind.device_class == DeviceClass::kCpu);
  }
  CHECK(backend->links().size() == names.size() * (names.size() - 1));
}

TEST_CASE("devices that this machine lacks are refused with what it has") {
  const std::string cores = "this machine has " + std::to_string(AllowedCores().size()) + " cores";
  CHECK(ErrorOf({"tpu:0"}).find("device \"tpu:0\": expected cpu:N") == 0);
  CHECK(ErrorOf({"gpu:77"}).find("device \"gpu:77\" does not exist; " + cores) == 0);
  CHECK(ErrorOf({"cpu:0", "cpu:0"}) == "device \"cpu:0\" is named twice");
}

TEST_CASE("default devices are there") {
  const std::vector<std::string> names = DefaultDevices();
  const size_t gpus = QueryGpus().gpus.size();
  REQUIRE(!names.empty());
  CHECK(names.size() == (gpus > 0 ? gpus + 1 : AllowedCores().size() > 1 ? 2 : 1));
  const auto backend = OpenMachine(names);
  CHECK(backend->devices().size() == names.size());
}

}  // namespace
