#include "agents/shared/policy_gradient/learner_core.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/learn/ops.h"
#include "tests/support/death.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// One parameter w [1, 2], learnt by plain descent with the rate 1/2, halved with every update.
struct Line {
  Line() : core(Sgd(), {.epochs = 2, .kl_weight = 3}, Added(parameters), {{"loss", 0}}) {}
  static OptimizerConfig Sgd() {
    OptimizerConfig config{.method = "sgd", .clip_norm = 0};
    config.schedule = {.learning_rate = 0.5, .decay_rate = 0.5, .decay_every = 1};
    return config;
  }
  static ParameterSet& Added(ParameterSet& parameters) {
    parameters.Add("w", 1, 2).value << 1, 2;
    return parameters;
  }
  static Var Sum(Tape& tape, ParameterSet& parameters, float scale) {
    return Scale(tape, SumAll(tape, tape.Use(parameters.all()[0])), scale);
  }
  const Matrix& w() const { return parameters.all()[0].value; }

  ParameterSet parameters;
  LearnerCore core;
};

Matrix Row(float a, float b) {
  Matrix row(1, 2);
  row << a, b;
  return row;
}

TEST_CASE("a step goes down the gradient of the loss and clears the tape") {
  Line line;
  Tape tape;
  const auto info = line.core.Descend(tape, Line::Sum(tape, line.parameters, 2), 0);
  CHECK(line.w() == Row(0, 1));  // 1 - 2 / 2, 2 - 2 / 2
  CHECK(info.learning_rate == 0.5);
  CHECK(info.gradient_norm == doctest::Approx(std::sqrt(8)));
  CHECK(tape.num_nodes() == 0);
  CHECK(line.core.updates() == 0);  // of two steps each
  line.core.Descend(tape, Line::Sum(tape, line.parameters, 4), 0);
  CHECK(line.w() == Row(-1, 0));  // the rate is 1 / 4 by now
  CHECK(line.core.updates() == 1);
}

TEST_CASE("a loss that is not finite ends the search by the number of its update") {
  Line line;
  Tape tape;
  const Var loss = Line::Sum(tape, line.parameters, kInfinity);
  CHECK(MessageOf<RunError>([&] { line.core.Descend(tape, loss, 17); }) ==
        "update 17: not finite: scale [1, 1]: value");
  CHECK(line.w() == Row(1, 2));
}

TEST_CASE("problems together go down the mean of their gradients, with any number of threads") {
  for (int threads : {1, 3}) {
    Line line;
    std::vector<ParameterSet> copies(3);
    for (ParameterSet& copy : copies) {
      copy.Add("w", 1, 2);
      line.core.AddCopy(copy);
      CHECK(copy.all()[0].value == Row(1, 2));
    }
    for (int step = 0; step < 2; ++step) {
      line.core.DescendTogether(threads, 0, 3, [&](int i) {
        Tape tape;
        tape.Backward(Line::Sum(tape, copies[i], static_cast<float>(2 * i)));  // 0, 2, 4
      });
    }
    CHECK(line.w() == Row(-0.5F, 0.5F));  // less 2 / 2, less 2 / 4
    for (const ParameterSet& copy : copies) CHECK(copy.all()[0].value == line.w());
    const auto failing = [&] {
      line.core.DescendTogether(threads, 17, 1, [&](int i) {
        copies[i].all()[0].gradient.setConstant(i == 1 ? kInfinity : 1);
      });
    };
    CHECK(MessageOf<RunError>(failing) == "update 17: not finite: the sum of the gradients");
    CHECK(line.w() == Row(-0.5F, 0.5F));
  }
}

TEST_CASE("a restart begins schedules and PPO's weight anew and shows copies new parameters") {
  Line line;
  ParameterSet copy;
  copy.Add("w", 1, 2);
  line.core.AddCopy(copy);
  Tape tape;
  for (int i = 0; i < 2; ++i) line.core.Descend(tape, Line::Sum(tape, line.parameters, 1), 0);
  line.core.ppo().Observe(1e3);
  CHECK(line.core.ppo().kl_weight() == 6);
  line.parameters.all()[0].value = Row(5, 6);
  line.core.Restart();
  CHECK(line.core.updates() == 0);
  CHECK(line.core.ppo().kl_weight() == 3);
  CHECK(copy.all()[0].value == Row(5, 6));
  CHECK(line.core.Descend(tape, Line::Sum(tape, line.parameters, 1), 0).learning_rate == 0.5);
}

TEST_CASE("what is not finite is named with the update, the operation and the graph") {
  Tape tape;
  const Var zero = tape.Constant(Matrix::Zero(2, 3));
  const auto message = [&](const std::string& graph) {
    return MessageOf<RunError>([&] { ThrowNotFinite(17, tape, graph); });
  };
  CHECK(message("") == "update 17: not finite: the loss");
  CHECK(message("nmt") == "update 17: graph \"nmt\": not finite: the loss");
  Scale(tape, AddScalar(tape, zero, 1), kInfinity);
  CHECK(message("") == "update 17: not finite: scale [2, 3]: value");
  CHECK(message("nmt") == "update 17: graph \"nmt\": not finite: scale [2, 3]: value");
}

TEST_CASE("fields make columns, then rows, and no others than these") {
  UpdateTable table = MakeUpdateTable({{"loss", 5}, {"entropy", 6}});
  CHECK(table.columns == std::vector<std::string>{"loss", "entropy"});
  CHECK(table.num_rows() == 0);
  AddRow(table, {{"loss", 1}, {"entropy", 2}});
  AddRow(table, {{"loss", 3}, {"entropy", 4}});
  CHECK(table.values == std::vector<double>{1, 2, 3, 4});
  const auto dies_of = [&](const UpdateFields& fields) {
    return MessageOfAbort([&] { AddRow(table, fields); });
  };
  CHECK(dies_of({{"entropy", 2}, {"loss", 1}}).find("entropy") != std::string::npos);
  CHECK(dies_of({{"loss", 1}}) != "");
  CHECK(dies_of({{"loss", 1}, {"entropy", 2}}) == "");
}

}  // namespace
