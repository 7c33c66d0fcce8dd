// Modules that are none, or of another build: tests/profilers/gpu_module_test.cc.

#include "framework/base/module.h"

#include <cstdlib>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

namespace fs = std::filesystem;

TEST_CASE("a module that is nowhere") {
  CHECK(OpenModule({}, "CUDA", "Entry", "stamp").module == nullptr);
  const std::vector<fs::path> places{"/nowhere/a.so", "/nowhere/b.so"};
  CHECK(OpenModule(places, "MPI", "Entry", "stamp").error ==
        "cannot load the MPI module: found no /nowhere/a.so, no /nowhere/b.so");
}

TEST_CASE("places of a module") {
  constexpr const char* kVariable = "EMPLACE_TEST_MODULE_PLACES";
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path lib = folder.parent_path() / "lib";
  unsetenv(kVariable);
  CHECK(ModulePlaces(kVariable, nullptr).empty());
  CHECK(ModulePlaces(kVariable, "/built/m.so") ==
        std::vector<fs::path>{folder / "m.so", lib / "m.so", "/built/m.so"});
  const std::string beside = (folder / "m.so").string();
  CHECK(ModulePlaces(kVariable, beside.c_str()) ==
        std::vector<fs::path>{folder / "m.so", lib / "m.so"});
  setenv(kVariable, "/chosen/m.so", 1);
  CHECK(ModulePlaces(kVariable, "/built/m.so") == std::vector<fs::path>{"/chosen/m.so"});
  CHECK(ModulePlaces(kVariable, nullptr) == std::vector<fs::path>{"/chosen/m.so"});
  unsetenv(kVariable);
}

}  // namespace
