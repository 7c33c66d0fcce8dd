#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/results/results_reader.h"
#include "tests/experiments/generalize/generalize_files.h"
#include "tests/experiments/hdf5_text.h"
#include "tests/support/sanitizers.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using Files = GeneralizeFiles;

// A column of a compound table.
template <class T>
std::vector<T> Column(const ResultsReader& reader,
                      const std::string& table,
                      const std::string& name) {
  return ColumnOf<T>(reader.Table(table), name, table);
}

bool Holds(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("a dry run prints trainings and tests, a printed config has every key; neither writes") {
  const Files files;
  const ProcessResult dry = files.Run({"--dry-run"});
  CAPTURE(dry.err);
  REQUIRE(dry.exit_code == 0);
  CHECK(Holds(dry.out, "a: train gnn.seed1 on 2 graphs\n"));
  CHECK(Holds(dry.out, "b: test single_gpu on 2 graphs with 1 seed\n"));
  CHECK(Holds(dry.out, "results  results/gen.h5\n"));
  const ProcessResult printed = files.Run({"--print-config"});
  CAPTURE(printed.err);
  REQUIRE(printed.exit_code == 0);
  CHECK(Holds(printed.out, "\nmax_train_graphs: "));
  WriteText(files.folder / "full.yaml", printed.out);
  const ProcessOptions here{.folder = files.folder.path()};
  CHECK(RunEmplace({"generalize", "./full.yaml", "--dry-run", "-o", "results/gen.h5"}, here).out ==
        dry.out);
  CHECK_FALSE(std::filesystem::exists(files.folder / "results"));
}

TEST_CASE("an experiment from files to tables, HDF5 and policies that `emplace run` takes") {
  const Files files;
  const ProcessResult result = files.Run({});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(Holds(result.err, "a: gnn.seed1 trained in "));
  for (const char* part : {"a  ",
                           "b  ",
                           "zero_shot ",
                           "fine_tuned ",
                           "rnn_zero_shot ",
                           "random ",
                           "single_gpu ",
                           "results  results/gen.h5\n"}) {
    CHECK(Holds(result.out, part));
  }
  const ResultsReader reader(files.folder / "results/gen.h5");
  using Texts = std::vector<std::string>;
  CHECK(reader.Text("/config", "name") == "gen");
  CHECK(Holds(reader.Text("/config", "yaml"), "training_updates: 3"));
  CHECK(reader.Children("/families") == Texts{"a", "b"});
  for (const std::string family : {"a", "b"}) {
    CAPTURE(family);
    const std::string group = "/families/" + family, tests = group + "/tests";
    CHECK(reader.Strings(group + "/graphs") == Texts{family + "2", family + "3"});
    CHECK(reader.Strings(group + "/training_graphs") == Texts{family + "0", family + "1"});
    CHECK(reader.Strings(group + "/methods") ==
          Texts{"zero_shot", "fine_tuned", "rnn_zero_shot", "random", "single_gpu"});
    CHECK(Holds(reader.Strings(group + "/settings")[2], "hidden: 8"));
    CHECK(reader.Strings(group + "/failures").empty());
    CHECK(reader.Children(group + "/training") ==
          Texts{"gnn.seed0", "gnn.seed1", "rnn.seed0", "rnn.seed1"});
    for (const std::string& label : reader.Children(group + "/training")) {
      const std::string training = group + "/training/" + label;
      CHECK_FALSE(reader.Has(training + "/checkpoint"));
      CHECK(reader.Strings(training + "/policy") ==
            Texts{ReadText(files.folder /
                           fmt::format("results/gen.policies/{}.{}.policy", family, label))});
    }
    // Two graphs; four methods with two seeds and one without chance.
    const auto graph = Column<std::int64_t>(reader, tests, "graph"),
               method = Column<std::int64_t>(reader, tests, "method"),
               evaluations = Column<std::int64_t>(reader, tests, "evaluations");
    const auto final = Column<double>(reader, tests, "final_step_time_ns"),
               best = Column<double>(reader, tests, "best_step_time_ns"),
               known = Column<double>(reader, tests, "best_known_ns"),
               final_ratio = Column<double>(reader, tests, "final_over_best_known"),
               best_ratio = Column<double>(reader, tests, "best_over_best_known");
    REQUIRE(graph.size() == 18);
    for (size_t i = 0; i < graph.size(); ++i) {
      double least = best[i];
      for (size_t j = 0; j < graph.size(); ++j) {
        if (graph[j] == graph[i]) least = std::min(least, best[j]);
      }
      CHECK(known[i] == least);
      CHECK(final_ratio[i] == final[i] / least);
      CHECK(best_ratio[i] == best[i] / least);
      CHECK(best[i] <= final[i]);
      if (method[i] == 3) CHECK(evaluations[i] == 5);
      if (method[i] == 4) CHECK(evaluations[i] == 1);
    }
  }

  // The same policy on the same graph, from a run.
  WriteText(files.folder / "results/run.yaml",
            "graph: ../a2.json\ncluster: ../c.yaml\nbudget: {seconds: none, evaluations: 1000}\n"
            "agents: [{name: placeto, policy: gen.policies/a.gnn.seed0.policy, updates: 0,\n"
            "          features: {devices: one_hot}}]\n");
  const ProcessResult run =
      RunEmplace({"run", "results/run.yaml", "-o", "run.h5"}, {.folder = files.folder.path()});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(Column<std::int64_t>(ResultsReader(files.folder / "run.h5"),
                             "/agents/placeto.seed0/evaluations",
                             "step_time_ns")
            .back() == Column<double>(reader, "/families/a/tests", "final_step_time_ns")[0]);
  // Not with another number of devices.
  std::string cluster = ClusterYaml();
  const std::string gpu = "  - {name: \"gpu:2\", kind: g, memory: 1GiB}\n";
  WriteText(files.folder / "c.yaml", cluster.insert(cluster.find("all_to_all"), gpu));
  CheckRefused(
      RunEmplace({"run", "results/run.yaml", "-o", "run.h5"}, {.folder = files.folder.path()}),
      2,
      {"a.gnn.seed0.policy", "for 3 devices", "has 4"});
}

TEST_CASE("the same file for every number of jobs") {
  const Files files;
  REQUIRE(files.Run({"-o", "one.h5", "--jobs", "1", "--quiet"}).exit_code == 0);
  CheckRefused(files.Run({"-o", "one.h5", "--quiet"}),
               2,
               {"one.h5: holds experiment gen of 2",
                " on a, b; --force overwrites it, --resume continues it, -o names another file"});
  REQUIRE(files.Run({"-o", "two.h5", "--jobs", "3", "--quiet"}).exit_code == 0);
  const auto one = Hdf5Text(files.folder / "one.h5", "/families");
  CHECK(one.size() > 50);
  CHECK(one == Hdf5Text(files.folder / "two.h5", "/families"));
}

// Interrupts an experiment a while after stderr holds `moment`, resumes it, and compares it with an
// uninterrupted one. The interrupt is tried later and later until it leaves an object `left` in the
// file; where the experiment ended before that, `setting` makes it longer.
void CheckResumes(const std::string& moment, const std::string& setting, const std::string& left) {
  const Files files;
  int size = 500, delay_ms = 0;
  std::vector<std::string> more, part;
  ProcessResult stopped;
  for (int attempt = 0; attempt < 16; ++attempt) {
    more = {"--set", fmt::format("{}={}", setting, size), "--set", "families=[a.yaml]"};
    std::vector<std::string> cut = more;
    cut.insert(cut.end(), {"-o", "cut.h5", "--force"});
    stopped = files.Run(cut, {.interrupt_when = moment, .interrupt_delay_ms = delay_ms});
    if (stopped.exit_code == 0) {
      size *= 2;
      continue;
    }
    part = Hdf5Text(files.folder / "cut.h5", "/families");
    if (std::find(part.begin(), part.end(), left) != part.end()) break;
    delay_ms = 10 + 2 * delay_ms;
  }
  CAPTURE(stopped.err);
  REQUIRE(stopped.exit_code == 1);
  CHECK(Holds(stopped.err,
              "emplace: stopped: the finished part is in cut.h5; --resume continues from"));
  CHECK(part.size() > 10);
  // A test that the stop kept from its begin has not failed.
  CHECK(std::ranges::none_of(part, [](const std::string& line) {
    return line.find("evaluated nothing") != std::string::npos;
  }));
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = files.Run(arguments);
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    return result;
  };
  run({"-o", "whole.h5", "--quiet"});
  const auto whole = Hdf5Text(files.folder / "whole.h5", "/families");
  CHECK(part != whole);
  run({"-o", "cut.h5", "--resume", "--jobs", "2"});
  CHECK(Hdf5Text(files.folder / "cut.h5", "/families") == whole);
  // Resumed once more there is nothing left to do; policies that went astray are written again.
  std::filesystem::remove_all(files.folder / "cut.policies");
  CHECK(Holds(run({"-o", "cut.h5", "--resume"}).err, "placing a: 0 in"));
  CHECK(Hdf5Text(files.folder / "cut.h5", "/families") == whole);
  CHECK(ReadText(files.folder / "cut.policies/a.gnn.seed0.policy") ==
        ReadText(files.folder / "whole.policies/a.gnn.seed0.policy"));
}

TEST_CASE("ctrl-C in training, then --resume: the same file as without" *
          doctest::skip(kUnderSanitizers)) {
  CheckResumes(
      "a: gnn.seed1 trained", "train.1.training_updates", "/a/training/rnn.seed0/checkpoint");
}

TEST_CASE("ctrl-C in testing, then --resume: the same file as without") {
  CheckResumes("training on a: ", "test.3.evaluations", "/a/tests");
}

TEST_CASE("without a results file an experiment begins") {
  const Files files;
  const ProcessResult result = files.Run({"-o", "new.h5", "--resume", "--set", "seeds=0:1"});
  CHECK(result.exit_code == 0);
  CHECK(Holds(result.err, "new.h5: does not exist yet; a new experiment starts"));
}

TEST_CASE("another experiment than that of the file is refused, and the file stays") {
  const Files files;
  REQUIRE(files.Run({"-o", "g.h5", "--quiet"}).exit_code == 0);
  const auto before = Hdf5Text(files.folder / "g.h5", "/families");
  const auto refused = [&](std::vector<std::string> more, std::vector<std::string> fragments) {
    more.insert(more.end(), {"-o", "g.h5", "--resume", "--quiet"});
    CheckRefused(files.Run(more), 2, fragments);
    CHECK(Hdf5Text(files.folder / "g.h5", "/families") == before);
  };
  refused({"--set", "seeds=0:3"},
          {"g.h5: was made with another config, see seeds (0:2 there, 0:3 now)"});
  files.WriteFamily("b", "semantics: stream\n");
  refused({},
          {"g.h5: /families/b: was made with another family config, see semantics (queue there,"
           " stream now)"});
  files.WriteFamily("b");
  files.WriteGraph("b3", 40);
  refused({}, {"g.h5: /families/b: was made with other graphs, or other versions"});
  files.WriteGraph("b3", 39);
  files.WriteGraph("b0", 40);
  refused({}, {"g.h5: /families/b: was made with other training_graphs"});
}

TEST_CASE("a file that holds something else, or was damaged") {
  const Files files;
  REQUIRE(files.Run({"-o", "g.h5", "--quiet"}).exit_code == 0);
  const auto refused = [&](const std::vector<std::string>& fragments) {
    CheckRefused(files.Run({"-o", "g.h5", "--resume", "--quiet"}), 2, fragments);
  };
  const auto change = [&](auto edit) {
    ResultsFile file(files.folder / "g.h5", ResultsMode::kExtend);
    edit(file);
    file.Commit();
  };
  const std::string training = "/families/a/training/gnn.seed0";
  change([&](ResultsFile& file) { file.WriteStrings(training + "/checkpoint", {"nonsense"}); });
  refused({"g.h5: " + training + "/checkpoint: "});
  change([&](ResultsFile& file) { file.WriteStrings(training + "/checkpoint", {"a", "b"}); });
  refused({"g.h5: " + training + "/checkpoint: expected one text"});
  change([&](ResultsFile& file) { file.Remove(training); });
  change([&](ResultsFile& file) {
    file.WriteTable("/families/a/tests", {{"graph", std::vector<std::int64_t>{0}}});
  });
  refused({"g.h5: /families/a/tests: has no column \"method\" of the expected type"});
  WriteText(files.folder / "g.h5", "nothing of the kind");
  refused({"g.h5"});
}

TEST_CASE("where nothing can be written is known before the first training") {
  const Files files;
  CheckRefused(files.Run({"-o", "none/there.h5"}), 1, {"none"});
  WriteText(files.folder / "g.policies", "a file");
  CheckRefused(files.Run({"-o", "g.h5"}), 1, {"g.policies: cannot be created: "});
  WriteText(files.folder / "results", "a file");
  CheckRefused(files.Run({}), 1, {"results: cannot be created: "});
}

TEST_CASE("settings that agents refuse are known before the first training") {
  const Files files;
  CheckRefused(
      files.Run({"--set", "train.0.hiden=8"}), 2, {"--set: placeto: unknown key \"hiden\""});
  CheckRefused(files.Run({"--set", "test.4={name: single_gpu, x: 1}"}), 2, {"\"x\""});
  // Its policy was trained with another network.
  CheckRefused(
      files.Run({"--set", "test.2.hidden=9"}), 2, {"hidden", "a.rnn.untrained.policy", "8", "9"});
  CHECK_FALSE(
      std::filesystem::exists(files.folder / "results/gen.policies/a.rnn.untrained.policy"));
}

TEST_CASE("a method that fails on a graph is told; the others are not lost; --resume tries again") {
  const Files files;
  // The graphs of family a have 16 and 19 ops: the rule matches nothing in the second.
  files.WriteGraph("a2", 30);
  const std::string expert = "test.4={name: expert, rules: [{match: op25, device: gpu}]}";
  const std::vector<std::string> arguments = {"--set", expert, "-o", "g.h5"};
  const ProcessResult result = files.Run(arguments);
  CHECK(result.exit_code == 1);
  CHECK(Holds(result.err, "emplace: 1 trainings and tests failed, see the tables"));
  CHECK(Holds(result.out, "\nfailed: expert on graph \"a3\": "));
  CHECK(Holds(result.out, "\nb  "));  // the next family
  const ResultsReader reader(files.folder / "g.h5");
  REQUIRE(reader.Strings("/families/a/failures").size() == 1);
  CHECK(Holds(reader.Strings("/families/a/failures")[0], "op25"));
  CHECK(Column<std::int64_t>(reader, "/families/a/tests", "graph").size() == 17);
  std::vector<std::string> again = arguments;
  again.insert(again.end(), {"--resume"});
  const ProcessResult resumed = files.Run(again);
  CHECK(resumed.exit_code == 1);
  CHECK(Holds(resumed.err, "placing a: 1/1"));
}

TEST_CASE("every key of the config is explained") {
  const ProcessResult result = RunEmplace({"generalize", "--help-config"});
  CHECK(result.exit_code == 0);
  for (const char* key : {"families:", "train:", "test:", "seeds:\n  - 0", "max_test_graphs: 0"}) {
    CAPTURE(key);
    CHECK(Holds(result.out, key));
  }
  CHECK(RunEmplace({"generalize"}).exit_code == 2);
  CheckRefused(RunEmplace({"generalize", "placeto2018"}),
               2,
               {"generalize: unknown experiment \"placeto2018\"; did you mean \"placeto2019\"?"});
  CHECK(Holds(RunEmplace({"list", "families"}).out, "ptb"));
}

}  // namespace
