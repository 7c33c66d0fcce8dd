#include "experiments/console/existing_output.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/results/results_file.h"
#include "tests/experiments/program_files.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

std::string Refusal(const fs::path& output) {
  try {
    RequireUnused(output, "--force overwrites it");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a file that holds something is refused, with what it holds and what to do") {
  const TempDir folder;
  CHECK(Refusal(folder / "new.h5").empty());
  CHECK(Refusal("/dev/null").empty());
  WriteText(folder / "empty.h5", "");
  CHECK(Refusal(folder / "empty.h5").empty());
  WriteText(folder / "notes.txt", "mine");
  CHECK(Refusal(folder / "notes.txt") == (folder / "notes.txt").string() +
                                             ": holds content that is not a results file of "
                                             "emplace, or a damaged one; --force overwrites it");

  const auto write = [&](const std::string& name, const auto& fill) {
    ResultsFile file(folder / name);
    fill(file);
    file.Commit();
    return folder / name;
  };
  const auto made = [](ResultsFile& file) {
    file.SetAttribute("/config", "name", "mine");
    file.SetAttribute("/config", "date", "2026-11-24T11:20:06Z");
  };
  const fs::path run = write("run.h5", [&](ResultsFile& file) {
    made(file);
    file.SetAttribute("/problem", "graph", "nmt");
    file.SetAttribute("/problem", "cluster", "2xk80");
    file.SetAttribute("/agents/heft", "status", "finished");
    file.SetAttribute("/agents/random.seed0", "status", "stopped");
  });
  CHECK(Refusal(run) == run.string() +
                            ": holds run mine of 2026-11-24T11:20:06Z: nmt on 2xk80, 2 searches; "
                            "--force overwrites it");
  const fs::path families = write("families.h5", [&](ResultsFile& file) {
    made(file);
    file.SetAttribute("/families/ptb", "cluster", "2xk80");
  });
  CHECK(Refusal(families).find("holds experiment mine of 2026-11-24T11:20:06Z on ptb; --force") !=
        std::string::npos);
  const fs::path validation = write("validation.h5", [&](ResultsFile& file) {
    file.SetAttribute("/validation/nmt", "mode", "eager");
  });
  CHECK(Refusal(validation).find("holds a validation of nmt; --force") != std::string::npos);
}

TEST_CASE("a results file is named by what was set") {
  CHECK(NamePart({}).empty());
  CHECK(NamePart({"graph=nmt", "cluster=8xv100_nvlink"}) == ".graph=nmt.cluster=8xv100_nvlink");
  CHECK(NamePart({"agents=[single_gpu, {name: ppo, lr: 1e-3}]"}) ==
        ".agents=single_gpu,name_ppo,lr_1e-3");
  CHECK(NamePart({"graph=./models/my_model.json.gz"}) == ".graph=my_model");
  CHECK(NamePart({"graph=nmt", "seeds=0:2", "graph=rnnlm"}) == ".seeds=0_2.graph=rnnlm");
  CHECK(NamePart({"jobs=1", "threads=2", "output=x.h5", "gpu=0", "ranks=mpi"}).empty());
  CHECK(NamePart({"passes=../../x"}) == ".passes=x");
  CHECK(NamePart({"../../x=1"}) == ".x=1");
  const std::string longer = NamePart({"agents=" + std::string(300, 'a')}),
                    other = NamePart({"agents=" + std::string(301, 'a')});
  CHECK(longer.size() == 120);
  CHECK(longer.substr(0, 111) == other.substr(0, 111));
  CHECK(longer != other);
}

TEST_CASE("a folder that cannot be created is named with the reason") {
  const TempDir folder;
  for (int i = 0; i < 2; ++i) {
    CreateFolder(folder / "a/b");
    CHECK(fs::is_directory(folder / "a/b"));
  }
  WriteText(folder / "file", "mine");
  CHECK(MessageOf<RunError>([&] { CreateFolder(folder / "file/b"); }) ==
        (folder / "file/b").string() + ": cannot be created: Not a directory");
}

}  // namespace
