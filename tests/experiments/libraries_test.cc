// What the program loads: no CUDA before it is needed, whatever the machine has.

#include <set>

#include <doctest/doctest.h>

#include "profilers/device_query.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

const std::set<std::string> kCudaLibraries =
    {"libemplace_cuda", "libcublasLt", "libcudnn", "libcudart", "libcuda", "libnvidia-ml"};
const std::set<std::string> kMpiLibraries = {"libemplace_mpi", "libmpi", "libopen-rte"};

/// Names, up to the first dot, of all shared objects that a command and its children load.
std::set<std::string> LibrariesOf(const std::vector<std::string>& arguments,
                                  const std::filesystem::path& folder = {},
                                  int exit_code = 0) {
  const ProcessResult result =
      RunEmplace(arguments, {.folder = folder, .environment = {{"LD_DEBUG", "files"}}});
  CAPTURE(arguments.front());
  CHECK(result.exit_code == exit_code);
  // "    123:  file=libz.so.1 [0];  generating link map"
  std::set<std::string> names;
  std::istringstream lines(result.err);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find("file=");
    if (begin == std::string::npos || line.find("generating link map") == std::string::npos) {
      continue;
    }
    const std::string file = line.substr(begin + 5, line.find(" [", begin) - begin - 5);
    const std::string name = std::filesystem::path(file).filename().string();
    names.insert(name.substr(0, name.find('.')));
  }
  CHECK(names.contains("libfmt"));  // which shows that the lines are understood
  return names;
}

void CheckNoneOf(const std::set<std::string>& unwanted, const std::set<std::string>& names) {
  for (const std::string& name : unwanted) {
    CAPTURE(name);
    CHECK(!names.contains(name));
  }
}

TEST_CASE("what needs no GPU loads no CUDA") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "p.json",
            PlacementJson(R"("a": "gpu:0", "b": "gpu:0", "c": "gpu:1", "d": "gpu:0")"));
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"},
           {"list", "agents"},
           {"list", "graphs"},
           {"list", "clusters"},
           {"graph", "info", "g.json"},
           {"simulate", "--graph", "g.json", "--cluster", "c.yaml", "--placement", "p.json"}}) {
    CAPTURE(arguments.back());
    CheckNoneOf(kCudaLibraries, LibrariesOf(arguments, folder.path()));
  }
}

TEST_CASE("runs and tables leave CUDA and MPI alone, whatever is simulated") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  WriteText(folder / "c.yaml", ClusterYaml());
  WriteText(folder / "run.yaml", "graph: g.json\ncluster: c.yaml\nagents: [heft]\n");
  const std::set<std::string> run = LibrariesOf({"run", "run.yaml", "-o", "r.h5"}, folder.path());
  CheckNoneOf(kCudaLibraries, run);
  CheckNoneOf(kMpiLibraries, run);
  CheckNoneOf(kCudaLibraries, LibrariesOf({"table", "r.h5"}, folder.path()));
}

TEST_CASE("CUDA is loaded when a GPU is asked for, and only then") {
  const TempDir folder;
  WriteText(folder / "g.json", DiamondJson());
  CheckNoneOf(
      kCudaLibraries,
      LibrariesOf({"profile", "--graph", "g.json", "--devices", "cpu:0,cpu:0"}, folder.path(), 2));
  const std::set<std::string> names =
      LibrariesOf({"profile", "--graph", "g.json", "--devices", "gpu:77"}, folder.path(), 2);
  CHECK(names.contains("libemplace_cuda") == HasCuda());
  CHECK(names.contains("libcublasLt") == HasCuda());
}

TEST_CASE("without CUDA's module the program runs; a GPU is refused with the reason") {
  const TempDir folder;
  const std::string module = folder / "module.so";
  WriteText(
      module,
      "no shared object, but long enough to hold the header of one: " + std::string(100, '.'));
  WriteText(folder / "g.json", DiamondJson());
  const ProcessOptions options{.folder = folder.path(),
                               .environment = {{"EMPLACE_CUDA_MODULE", module}}};
  CHECK(RunEmplace({"list", "agents"}, options).exit_code == 0);
  const std::string reason = HasCuda()
                                 ? "cannot load " + module + ": " + module + ": invalid ELF header"
                                 : "built without CUDA";
  CheckRefused(RunEmplace({"profile", "--graph", "g.json", "--devices", "gpu:0"}, options),
               2,
               {"device \"gpu:0\" does not exist; this machine has ",
                " and no GPU that this program can use (" + reason + ")"});
  const ProcessResult version = RunEmplace({"--version"}, options);
  CHECK(version.exit_code == 0);
  CHECK(version.out.find("\nGPUs: no GPU that this program can use (" + reason + ")") !=
        std::string::npos);
}

}  // namespace
