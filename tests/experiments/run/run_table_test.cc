#include "experiments/run/run_table.h"

#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "agents/registry.h"
#include "experiments/console/output.h"
#include "tests/support/problems.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

SearchResult Result(Nanos step_time, std::int64_t deficit = 0) {
  SearchResult result;
  result.status = SearchStatus::kBudget;
  MeteredEvaluator::Best best;
  best.outcome.step_time = step_time;
  best.outcome.feasible = deficit == 0;
  best.outcome.devices = {{step_time, kGiB / 2, 0}, {step_time, 2 * kGiB + deficit, deficit}};
  result.best = best;
  result.records.assign(10, {.step_time = step_time, .feasible = deficit == 0});
  result.seconds = 0.5;
  return result;
}

std::shared_ptr<const Cluster> TwoDevices() {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Device("gpu:1");
  return builder.BuildCluster();
}

TEST_CASE("the row of an agent over its seeds") {
  const SearchResult a = Result(300), b = Result(100), c = Result(200), d = Result(401);
  const TableRow odd = SummarizeAgent("x", {&a, &b, &c}, 10);
  CHECK(*odd.median == 200);
  CHECK(*odd.least == 100);
  CHECK(*odd.most == 300);
  CHECK(odd.best->outcome.step_time == 100);
  CHECK(odd.effort.evaluations == 10);  // of a seed
  CHECK(odd.effort.seconds == 0.5);
  CHECK(odd.total.evaluations == 30);
  CHECK(odd.total.seconds == 1.5);
  CHECK(*SummarizeAgent("x", {&a, &b, &c, &d}, 10).median == 250);  // between 200 and 300

  const SearchResult misfit = Result(50, kGiB);
  SearchResult failed;
  failed.status = SearchStatus::kFailed;
  failed.error = "it broke";
  const TableRow mixed = SummarizeAgent("x", {&a, &misfit, &failed}, 10);
  CHECK(*mixed.median == 300);
  CHECK(mixed.fitting == 1);
  CHECK(mixed.runs == 3);
  CHECK(mixed.failed == 1);
  CHECK(mixed.error == "it broke");
  CHECK(!SummarizeAgent("x", {&misfit}, 10).median);
}

TEST_CASE("efforts of a seed are medians, without seeds that evaluated nothing; totals are sums") {
  TableRow row;
  SetEfforts(row, {{4, 1.0, 10.0}, {9, 2.0, 50.0}, {0, 0.0, 0.0}, {6, 4.0, 20.0}, {7, 8.0, 30.0}});
  CHECK(row.effort.evaluations == 6);  // of 4, 6, 7, 9: 6.5, rounded down
  CHECK(row.effort.seconds == 3.0);    // between 2 and 4
  CHECK(row.effort.hardware_seconds == 25.0);
  CHECK(row.total.evaluations == 26);
  CHECK(row.total.seconds == 15.0);
  CHECK(row.total.hardware_seconds == 110.0);
  SetEfforts(row, {{}});
  CHECK(row.effort.evaluations == 0);
  CHECK(row.total.seconds == 0);
}

TEST_CASE("rows are sorted by time, then by what is missing; failures come last") {
  const SearchResult fast = Result(100), slow = Result(300), near = Result(10, 5),
                     far = Result(10, 9);
  SearchResult failed;
  failed.status = SearchStatus::kFailed;
  std::vector<TableRow> rows = {SummarizeAgent("failed", {&failed}, 10),
                                SummarizeAgent("far", {&far}, 10),
                                SummarizeAgent("slow", {&slow}, 10),
                                SummarizeAgent("near", {&near}, 10),
                                SummarizeAgent("fast", {&fast}, 10)};
  SortRows(rows);
  std::vector<std::string> order;
  for (const TableRow& row : rows) order.push_back(row.label);
  CHECK(order == std::vector<std::string>{"fast", "slow", "near", "far", "failed"});
}

TEST_CASE("the table for people") {
  const SearchResult a = Result(40'000'000), b = Result(50'000'000),
                     oom = Result(1, kGiB + kGiB / 5);
  const auto cluster = TwoDevices();
  const std::vector<TableRow> rows = {SummarizeAgent("climb", {&a, &b, &b}, 10),
                                      SummarizeAgent("single", {&oom}, 10)};
  // 80 ms on the best single device / 50 ms; 50 / 32 - 1 = 56.25 %; 1.2 GiB = 1288490188 B.
  // On the hardware 10 steps for each of 10 evaluations, 40, 50 and 50 ms * 100: 5 s in the middle.
  const TableScale scale{.best_single_device = SingleDevice{"gpu:1", 80'000'000},
                         .bound = 32'000'000};
  CHECK(FormatTable(rows, scale, *cluster) ==
        "agent   step time      range over seeds  speed-up     gap  peak GiB on gpu:0 / gpu:1  "
        "evaluations  seconds  on hardware\n"
        "climb    50.00 ms  40.00 ms .. 50.00 ms     1.60x  56.2 %                0.50 / 2.00      "
        "     10      0.5        5.0 s\n"
        "single        OOM                     -         -       -                0.50 / 3.20      "
        "     10      0.5        0.0 s\n"
        "medians of 3 seeds; agents that do not use the seed run once\n"
        "single: OOM (missing 1.20 GiB on gpu:1)\n");
  // 119 columns in all, 92 without peaks, 79 without hardware, 57 without the range.
  CHECK(FormatTable(rows, scale, *cluster, {.columns = 119}) == FormatTable(rows, scale, *cluster));
  CHECK(FormatTable(rows, scale, *cluster, {.columns = 79}) ==
        "agent   step time      range over seeds  speed-up     gap  evaluations  seconds\n"
        "climb    50.00 ms  40.00 ms .. 50.00 ms     1.60x  56.2 %           10      0.5\n"
        "single        OOM                     -         -       -           10      0.5\n"
        "medians of 3 seeds; agents that do not use the seed run once; --wide adds peak\n"
        "  memory, time on hardware\n"
        "single: OOM (missing 1.20 GiB on gpu:1)\n");
  const std::string narrow = FormatTable(rows, scale, *cluster, {.columns = 60});
  CHECK(narrow.starts_with("agent   step time  speed-up     gap  evaluations  seconds\n"));
  CHECK(narrow.find("range.") == narrow.npos);
}

TEST_CASE("the best row is bold where the view is styled") {
  const SearchResult a = Result(40), b = Result(50), oom = Result(1, 7);
  const std::vector<TableRow> rows = {SummarizeAgent("fast", {&a}, 1),
                                      SummarizeAgent("slow", {&b}, 1)};
  const TextView styled{.columns = 80, .styled = true};
  const std::string table = FormatTable(rows, {.bound = 40}, *TwoDevices(), styled);
  CHECK(table.find("\n\x1b[1mfast ") != table.npos);
  CHECK(table.find("\x1b[0m\nslow ") != table.npos);
  CHECK(FormatTable(rows, {.bound = 40}, *TwoDevices(), {.columns = 80}).find('\x1b') ==
        std::string::npos);
  const std::vector<TableRow> none = {SummarizeAgent("single", {&oom}, 1)};
  CHECK(FormatTable(none, {.bound = 40}, *TwoDevices(), styled).find('\x1b') == std::string::npos);
}

TEST_CASE("the table fits 80 columns with the name of every agent") {
  const SearchResult a = Result(999'900'000), b = Result(1'234'000'000);
  std::vector<TableRow> rows = {SummarizeAgent("learned_local_search", {&a, &b}, 11)};
  for (const AgentEntry& entry : AllAgents().entries()) {
    rows.push_back(SummarizeAgent(entry.name, {&a, &b}, 11));
  }
  for (TableRow& row : rows) row.effort = {1'000'000'000, 12'345.6, 1e6};
  const TableScale scale{.best_single_device = SingleDevice{"gpu:1", 12'345'000'000},
                         .bound = 500'000'000};
  const std::string table = FormatTable(rows, scale, *TwoDevices(), {.columns = 80});
  for (const TableRow& row : rows) {
    CAPTURE(row.label);
    CHECK(table.find("\n" + row.label + " ") != table.npos);  // not shortened
  }
  CHECK(table.ends_with("--wide adds peak memory, time on hardware, range\n"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(TextWidth(line) <= 80);
  }
}

TEST_CASE("labels that are too wide for the view are cut in the middle") {
  const SearchResult a = Result(40);
  const std::string label = "python:my_agents.Climb with a name of ü such a length that it ends: 7";
  const std::string table =
      FormatTable({SummarizeAgent(label, {&a}, 1)}, {.bound = 40}, *TwoDevices(), {.columns = 80});
  // 52 columns without the label leave 28.
  CHECK(table.find("\npython:my_age...t it ends: 7 ") != table.npos);
  for (size_t begin = 0; begin < table.size();) {
    const size_t end = table.find('\n', begin);
    CHECK(TextWidth(table.substr(begin, end - begin)) <= 80);
    begin = end + 1;
  }
}

TEST_CASE("seeds that a stop came before are no runs") {
  const SearchResult a = Result(40'000'000), misfit = Result(1, kGiB);
  SearchResult not_begun;
  not_begun.status = SearchStatus::kNotBegun;
  const std::vector<TableRow> rows = {SummarizeAgent("climb", {&a, &not_begun}, 10),
                                      SummarizeAgent("mixed", {&a, &misfit, &not_begun}, 10),
                                      SummarizeAgent("none", {&not_begun, &not_begun}, 10)};
  CHECK(rows[0].runs == 1);
  CHECK(rows[0].fitting == 1);
  CHECK(rows[0].not_begun == 1);
  const std::string table = FormatTable(rows, {}, *TwoDevices());
  CHECK(table.find("\nclimb: 1 of 1 fit, 1 not begun\n") != std::string::npos);
  CHECK(table.find("\nmixed: 1 of 2 fit, 1 not begun\n") != std::string::npos);
  CHECK(table.find("not begun  ", table.find("\nnone ")) != std::string::npos);
}

TEST_CASE("the total of all searches") {
  const SearchResult a = Result(40'000'000'000), oom = Result(1, 7);
  const std::vector<TableRow> rows = {SummarizeAgent("climb", {&a, &a}, 11),
                                      SummarizeAgent("single", {&oom}, 11)};
  CHECK(rows[0].total.hardware_seconds == 2 * 10 * 11 * 40.0);  // 8800 s
  CHECK(rows[0].effort.hardware_seconds == 10 * 11 * 40.0);
  CHECK(rows[1].total.hardware_seconds == 0);  // what does not fit counts nothing
  CHECK(FormatTotals(rows, 11) ==
        "total    30 evaluations, 1.5 s of search; on hardware, with 11 steps each: 2.4 h\n");
}

TEST_CASE("learners are named, unless they had ten minutes") {
  const SearchResult search = Result(20);
  SearchResult learner = Result(30), slow = Result(40), twice = Result(50);
  learner.updates.columns = slow.updates.columns = twice.updates.columns = {"loss"};
  learner.seconds = 8.04;
  twice.seconds = 599.9;
  slow.seconds = 600;
  const TableRow climb = SummarizeAgent("climb", {&search}, 1),
                 post = SummarizeAgent("post", {&learner, &learner}, 1),
                 placeto = SummarizeAgent("placeto", {&twice}, 1),
                 seq2seq = SummarizeAgent("seq2seq", {&slow}, 1);
  CHECK(FormatLearners({climb, post}) == "learners post had 8.0 s; papers give them hours\n");
  CHECK(FormatLearners({climb, post, placeto}) ==  // 599.9 s: the longest
        "learners post, placeto had 10.0 min; papers give them hours\n");
  CHECK(FormatLearners({climb, post, seq2seq}) == "");
  CHECK(FormatLearners({climb}) == "");

  std::vector<TableRow> quickstart;
  for (const char* name : {"hierarchical", "seq2seq", "post", "placeto"}) {
    quickstart.push_back(SummarizeAgent(name, {&learner}, 1));
  }
  CHECK(FormatLearners(quickstart) ==  // 79 columns
        "learners hierarchical, seq2seq, post, placeto had 8.0 s; papers give them hours\n");
}

TEST_CASE("small peaks are shown in a smaller unit") {
  SearchResult small = Result(40);
  small.best->outcome.devices[0].peak = 3 << 19;
  small.best->outcome.devices[1].peak = 1 << 18;
  const std::string table =
      FormatTable({SummarizeAgent("climb", {&small}, 10)},
                  {.best_single_device = SingleDevice{"gpu:1", 40}, .bound = 40},
                  *TwoDevices());
  CHECK(table.find("peak MiB on gpu:0 / gpu:1") != std::string::npos);
  CHECK(table.find("1.50 / 0.25") != std::string::npos);
  CHECK(table.find("1.00x  optimal") != std::string::npos);
}

TEST_CASE("the table for programs keeps nanoseconds and says null for what is not there") {
  const SearchResult a = Result(40), oom = Result(1, 7);
  const auto cluster = TwoDevices();
  const auto json = nlohmann::json::parse(
      FormatTableJson({SummarizeAgent("climb", {&a, &a}, 10), SummarizeAgent("single", {&oom}, 10)},
                      {.best_single_device = std::nullopt, .bound = 32},
                      *cluster));
  CHECK(json[0]["agent"] == "climb");
  CHECK(json[0]["step_time_ns"]["median"] == 40);
  CHECK(json[0]["gap"] == 0.25);
  CHECK(json[0]["hardware_seconds"].get<double>() == doctest::Approx(10 * 10 * 40e-9));
  CHECK(json[0]["total_hardware_seconds"].get<double>() == doctest::Approx(2 * 10 * 10 * 40e-9));
  CHECK(json[0]["evaluations"] == 10);
  CHECK(json[0]["total_evaluations"] == 20);
  CHECK(json[0]["seconds"] == 0.5);
  CHECK(json[0]["total_seconds"] == 1.0);
  CHECK(json[0]["speed_up"].is_null());
  CHECK(json[1]["step_time_ns"]["median"].is_null());
  CHECK(json[1]["deficit_bytes"]["gpu:1"] == 7);
  CHECK(json[1]["fitting"] == 0);
}

TEST_CASE("numbers for people") {
  CHECK(FormatTime(0) == "0 ns");
  CHECK(FormatTime(999) == "999 ns");
  CHECK(FormatTime(1234) == "1.234 us");
  CHECK(FormatTime(41'300'000) == "41.30 ms");
  CHECK(FormatTime(123'456'789'000) == "123.5 s");
  CHECK(FormatDuration(0.04) == "0.0 s");
  CHECK(FormatDuration(99.94) == "99.9 s");
  CHECK(FormatDuration(150) == "2.5 min");
  CHECK(FormatDuration(148'320) == "41.2 h");
  CHECK(FormatBytes(1023) == "1023 B");
  CHECK(FormatBytes(1536) == "1.50 KiB");
  CHECK(FormatBytes(11 * kGiB) == "11.00 GiB");
  CHECK(FormatFlops(2.8e12) == "2.800 TFLOP");
  CHECK(FormatColumns({{"a", "b"}, {"µs", "10"}, {"long", "1"}}) ==
        "a      b\nµs    10\nlong   1\n");
}

}  // namespace
