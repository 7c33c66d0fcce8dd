// Every launcher on its real engine: the results are those of local processes.

#include "experiments/sweep/launcher.h"

#include <doctest/doctest.h>

#include "framework/results/results_reader.h"
#include "tests/experiments/sweep/engines.h"
#include "tests/experiments/sweep/sweep_files.h"
#include "tests/support/text.h"

using namespace emplace;
using namespace emplace::testing;
namespace fs = std::filesystem;

namespace {

const std::string kProgram = (BinaryDir() / "emplace").string();

// `emplace sweep s.yaml OPTIONS` with a launcher, as its engine wants it started.
struct Engine {
  std::string launcher, before;
  std::map<std::string, std::string> environment;

  ProcessResult Run(const SweepFiles& files, const std::string& options) const {
    return RunProcess(
        {"/bin/sh",
         "-c",
         fmt::format("{} {} sweep s.yaml --launcher {} {}", before, kProgram, launcher, options)},
        {.folder = files.folder.path(), .environment = environment, .timeout_seconds = 120});
  }
};

void CheckLauncher(const Engine& engine, const std::string& description) {
  CAPTURE(engine.launcher);
  const SweepFiles files(60);
  REQUIRE(files.Run({"-o", "whole", "--quiet"}).exit_code == 0);
  const auto whole = RunTexts(files.folder / "whole");

  const ProcessResult all = engine.Run(files, "-o out --jobs 2 --set launcher.bundle=3");
  REQUIRE(all.exit_code == 0);
  CHECK(Contains(all.out, "sweep    s: 10 runs\n"));
  CHECK(Contains(all.out, description));
  CHECK(Contains(all.out, "runs     10 of 10 done\nresults  out\n"));
  CHECK(Contains(all.err, "#1 graph=g.json cluster=c.yaml agent=hill_climb seed=0: "));
  CHECK(Contains(all.err, "10/10 (100 %)"));
  CHECK(RunTexts(files.folder / "out") == whole);
  CHECK(ReadText(files.folder / "out/sweep.yaml") == ReadText(files.folder / "whole/sweep.yaml"));

  // What local processes have begun goes on here, and the other way round.
  fs::copy(files.folder / "whole", files.folder / "part", fs::copy_options::recursive);
  for (const char* run : {"0001", "0004", "0005", "0008"}) {
    fs::remove(files.folder / "part/runs" / (std::string(run) + ".h5"));
  }
  fs::copy(files.folder / "part", files.folder / "back", fs::copy_options::recursive);
  const ProcessResult rest = engine.Run(files, "-o part --jobs 2 --resume --quiet");
  REQUIRE(rest.exit_code == 0);
  CHECK(Contains(rest.out, "resumed  0 runs continue, 6 are done, 4 start\n"));
  CHECK(RunTexts(files.folder / "part") == whole);
  REQUIRE(engine.Run(files, "-o back --resume --quiet").exit_code == 0);
  fs::remove(files.folder / "back/runs/0002.h5");
  CHECK(files.Run({"-o", "back", "--resume", "--quiet"}).exit_code == 0);
  CHECK(RunTexts(files.folder / "back") == whole);

  CHECK(engine.Run(files, "-o out --resume --quiet").exit_code == 0);  // nothing is left to do
  CHECK(engine.Run(files, "-o out --quiet").exit_code == 2);           // without --resume
  CHECK(RunTexts(files.folder / "out") == whole);
}

TEST_CASE("the local launcher by name, and names that are none") {
  CheckLauncher({"local", "", {}}, "");
  const SweepFiles files;
  CheckRefused(files.Run({"--launcher", "slrum"}),
               2,
               {"unknown launcher \"slrum\"; did you mean \"slurm\"? choices: hyperqueue, local, "
                "mpi, slurm"});
  CHECK_FALSE(fs::exists(files.folder / "results"));
}

TEST_CASE("four ranks of MPI") {
  const SweepFiles files;
  const ProcessResult alone = RunProcess(
      {"/usr/bin/env", "-u", "SLURM_PROCID", kProgram, "sweep", "s.yaml", "--launcher", "mpi"},
      {.folder = files.folder.path()});
  CHECK(alone.exit_code == 2);
  CHECK(Contains(alone.err,
                 "launcher mpi: this process has no rank (mpirun sets OMPI_COMM_WORLD_RANK or "
                 "PMI_RANK, srun SLURM_PROCID)"));
  CHECK(Contains(alone.err, "start it as in mpirun -n 4 emplace sweep CONFIG --launcher mpi"));
  const ProcessResult wrong = RunProcess(
      {kProgram, "sweep", "s.yaml", "--launcher", "mpi"},
      {.folder = files.folder.path(), .environment = {{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}});
  CHECK(wrong.exit_code == 2);
  CHECK(Contains(wrong.err, "PMI_RANK=4 and PMI_SIZE=4 in the environment are not a rank"));
  if (!HasMpi()) {
    MESSAGE("skipped: no mpirun (Debian: openmpi-bin)");
    return;
  }
  CheckLauncher({"mpi", "mpirun -n 4", MpiEnvironment()}, "launcher mpi: 4 ranks\n");
}

TEST_CASE("two tasks of srun, without MPI") {
  const SweepFiles files;
  const std::string sweep = kProgram + " sweep s.yaml --launcher mpi -o out";
  const ProcessResult both = RunProcess(
      {"/bin/sh", "-c", fmt::format("SLURM_PROCID=1 {0} & SLURM_PROCID=0 {0} && wait $!", sweep)},
      {.folder = files.folder.path(), .environment = {{"SLURM_NTASKS", "2"}}});
  CHECK(both.exit_code == 0);
  CHECK(Contains(both.out, "launcher mpi: 2 ranks\n"));
  CHECK(Contains(both.out, "runs     10 of 10 done\n"));
}

TEST_CASE("HyperQueue's local cluster with two workers") {
  const SweepFiles files;
  const TempDir temporary;
  Engine engine{"hyperqueue", "", HyperQueueEnvironment()};
  engine.environment["TMPDIR"] = temporary.path().string();
  if (!HasHyperQueue()) {
    CHECK(engine.Run(files, "").exit_code == 1);
    MESSAGE("skipped: no Python module hyperqueue (scripts/requirements-hyperqueue.txt)");
    return;
  }
  CheckLauncher(engine, "launcher hyperqueue: a local cluster of HyperQueue, 2 workers\n");
  CHECK(fs::is_empty(temporary.path()));
  const ProcessResult none = engine.Run(files, "--quiet --set launcher.server=/nowhere");
  CHECK(none.exit_code == 1);
  CHECK(Contains(none.err, "/nowhere: no server of HyperQueue has been started there"));
}

TEST_CASE("job arrays of Slurm") {
  if (!HasSlurm()) {
    MESSAGE("skipped: scripts/slurm_localhost cannot start Slurm here");
    return;
  }
  // CheckLauncher() below a Slurm of its own: this program once more, with this test alone.
  const ProcessResult below = RunProcess({SlurmLocalhost(),
                                          "--cpus",
                                          "2",
                                          fs::read_symlink("/proc/self/exe").string(),
                                          "--test-case=below Slurm",
                                          "--no-skip"});
  CAPTURE(below.out);
  CAPTURE(below.err);
  CHECK(below.exit_code == 0);
  CHECK(Contains(below.out, "1 passed"));
}

TEST_CASE("below Slurm" * doctest::skip()) {
  const Engine engine{"slurm", "", {}};
  CheckLauncher(engine, "launcher slurm: job arrays of Slurm, 2 tasks at a time\n");

  // The first worker hangs; its runs go to another.
  const SweepFiles files(60);
  WriteText(
      files.folder / "worker",
      "#!/bin/sh\nmkdir hangs 2> /dev/null && exec sleep 1000\nexec " + kProgram + " \"$@\"\n");
  fs::permissions(files.folder / "worker", fs::perms::owner_all);
  const ProcessResult result = engine.Run(
      files,
      "-o out --jobs 2 --quiet --set launcher.program=./worker --set launcher.patience_seconds=2");
  CHECK(result.exit_code == 0);
  CHECK(fs::exists(files.folder / "hangs"));
  CHECK(Contains(result.out, "runs     10 of 10 done\n"));
}

TEST_CASE("runs whose workers cannot begin are given up; the others are done") {
  if (!HasHyperQueue()) {
    MESSAGE("skipped: no Python module hyperqueue (scripts/requirements-hyperqueue.txt)");
    return;
  }
  const SweepFiles files(30);
  const Engine engine{"hyperqueue", "", HyperQueueEnvironment()};
  // The workers find another graph than the sweep was frozen with.
  WriteText(files.folder / "worker",
            "#!/bin/sh\nprintf '{}' > h.json\nexec " + kProgram + " \"$@\"\n");
  fs::permissions(files.folder / "worker", fs::perms::owner_all);
  const ProcessResult failed = engine.Run(
      files, "-o out --jobs 1 --quiet --set launcher.bundle=5 --set launcher.program=./worker");
  CHECK(failed.exit_code == 1);
  CHECK(Contains(failed.out, "3 workers ended without finishing it; the last: emplace: "));
  CHECK(Contains(failed.out, "h.json"));
  CHECK(Contains(failed.err, "5 of 10 runs failed"));
}

}  // namespace
