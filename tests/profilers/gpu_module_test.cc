#include "profilers/gpu_module.h"

#include <cstdlib>
#include <fstream>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "profilers/source_stamp.h"
#include "tests/support/paths.h"

using namespace emplace;
using testing::BinaryDir;
using testing::TempDir;

namespace {

namespace fs = std::filesystem;

std::string LoadErrorOf(const std::vector<fs::path>& places) {
  const GpuModuleResult result = LoadGpuModule(places);
  CHECK(result.module == nullptr);
  return result.error;
}

/// Where the build puts the modules of test_modules/.
fs::path TestModule(const std::string& name) {
  return BinaryDir() / "tests" / ("lib" + name + ".so");
}

/// False, with a line that says so, in a portable bundle.
bool BuildTreeIsThere() {
  const bool found = fs::exists(BinaryDir());
  if (!found) MESSAGE("skipped: not in its build tree");
  return found;
}

TEST_CASE("a file that is no shared object: the system's words") {
  const TempDir folder;
  const fs::path path = folder / "libemplace_cuda.so";
  std::ofstream(path) << std::string(4096, 'x');
  CHECK(LoadErrorOf({path}) ==
        "cannot load " + path.string() + ": " + path.string() + ": invalid ELF header");
}

TEST_CASE("a library that the module needs is missing: it is named") {
  if (!BuildTreeIsThere()) return;
  const fs::path path = TestModule("emplace_incomplete_module");
  REQUIRE(fs::exists(path));
  CHECK(LoadErrorOf({path}) ==
        "cannot load " + path.string() +
            ": libemplace_absent_library.so: cannot open shared object file: No "
            "such file or directory");
}

TEST_CASE("a shared object of something else is no module") {
  if (!BuildTreeIsThere()) return;
  const fs::path path = TestModule("emplace_other_library");
  REQUIRE(fs::exists(path));
  const std::string error = LoadErrorOf({path});
  CHECK(error.find(path.string() + " is not a CUDA module of emplace: ") == 0);
  CHECK(error.find("undefined symbol: EmplaceGpuModule") != std::string::npos);
}

TEST_CASE("a module of another build is refused with both stamps") {
  if (!BuildTreeIsThere()) return;
  const fs::path path = TestModule("emplace_stale_module");
  REQUIRE(fs::exists(path));
  CHECK(LoadErrorOf({path}) == path.string() +
                                   " belongs to another build of emplace, made from sources of "
                                   "yesterday; this program was made from " +
                                   kSourceStamp);
}

TEST_CASE("the first place that exists counts, even if a later one were right") {
  if (!BuildTreeIsThere()) return;
  const fs::path stale = TestModule("emplace_stale_module");
  CHECK(LoadErrorOf({"/nowhere/a.so", stale, TestModule("emplace_incomplete_module")})
            .find(stale.string() + " belongs") == 0);
}

TEST_CASE("the environment chooses the module's file") {
  setenv("EMPLACE_CUDA_MODULE", "/chosen/module.so", 1);
  CHECK(GpuModulePlaces() == std::vector<fs::path>{"/chosen/module.so"});
  setenv("EMPLACE_CUDA_MODULE", "", 1);
  const std::vector<fs::path> places = GpuModulePlaces();
  unsetenv("EMPLACE_CUDA_MODULE");
  CHECK(GpuModulePlaces() == places);
  if (!HasCuda()) {
    CHECK(places.empty());
    return;
  }
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  REQUIRE(places.size() >= 2);
  CHECK(places[0] == folder / "libemplace_cuda.so");
  CHECK(places[1] == folder.parent_path() / "lib" / "libemplace_cuda.so");
  CHECK(places.back() == (folder == BinaryDir() ? places[1] : BinaryDir() / "libemplace_cuda.so"));
}

TEST_CASE("this build's module opens; its errors are the program's") {
  const GpuModuleResult& result = ThisGpuModule();
  if (!HasCuda()) {
    CHECK(result.error == "built without CUDA");
    return;
  }
  CHECK(result.error == "");
  REQUIRE(result.module != nullptr);
  const GpuList list = result.module->query();
  CHECK(list.none.empty() == !list.gpus.empty());
  const int absent = static_cast<int>(list.gpus.size());
  const auto open = [&] { result.module->open({GpuDeviceSpec{"gpu:99", absent, 0}}); };
  CHECK(testing::MessageOf<InputError>(open) ==
        "gpu:99: this machine has " + std::to_string(absent) + " GPUs");
}

}  // namespace
