// Operations and optimisers against PyTorch's numbers: tests/golden/learn_reference.py.

#include <fstream>
#include <functional>
#include <map>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "framework/learn/ops.h"
#include "framework/learn/optimizer.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using nlohmann::json;

constexpr float kTolerance = 1e-5F;

const json& Reference() {
  static const json reference = [] {
    std::ifstream in(testing::SourceDir() / "tests/golden/learn_reference.json");
    return json::parse(in);
  }();
  return reference;
}

Matrix FromJson(const json& rows) {
  Matrix matrix(rows.size(), rows.at(0).size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t col = 0; col < rows[row].size(); ++col) {
      matrix(row, col) = rows[row][col].get<float>();
    }
  }
  return matrix;
}

// Difference relative to the largest entry.
void CheckNear(const Matrix& found, const json& expected) {
  const Matrix numbers = FromJson(expected);
  REQUIRE(found.rows() == numbers.rows());
  REQUIRE(found.cols() == numbers.cols());
  CHECK((found - numbers).cwiseAbs().maxCoeff() <= kTolerance * numbers.cwiseAbs().maxCoeff());
}

using Vars = std::map<std::string, Var>;

// Computes a case's outputs from its inputs, and compares them and the inputs' gradients.
void CheckCase(const std::string& name, const std::function<Vars(Tape&, Vars)>& function) {
  CAPTURE(name);
  const json& reference = Reference().at("cases").at(name);
  ParameterSet parameters;
  Tape tape;
  Vars inputs;
  for (const auto& [input, value] : reference.at("inputs").items()) {
    const Matrix matrix = FromJson(value);
    Parameter& parameter = parameters.Add(input, matrix.rows(), matrix.cols());
    parameter.value = matrix;
    inputs[input] = tape.Use(parameter);
  }
  const Vars outputs = function(tape, inputs);
  Var loss = tape.Constant(Matrix::Zero(1, 1));
  REQUIRE(outputs.size() == reference.at("outputs").size());
  for (const auto& [output, var] : outputs) {
    CAPTURE(output);
    CheckNear(tape.value(var), reference.at("outputs").at(output));
    const Var weights = tape.Constant(FromJson(reference.at("weights").at(output)));
    loss = Add(tape, loss, SumAll(tape, Multiply(tape, var, weights)));
  }
  tape.Backward(loss);
  for (const Parameter& parameter : parameters.all()) {
    CAPTURE(parameter.name);
    CheckNear(parameter.gradient, reference.at("gradients").at(parameter.name));
  }
}

TEST_CASE("lstm: a step of a batch") {
  CheckCase("lstm_cell", [](Tape& tape, Vars in) -> Vars {
    const Var gates = Add(tape,
                          Affine(tape, in["x"], in["weights"], in["bias"]),
                          MatMul(tape, in["hidden"], in["recurrent"]));
    const LstmState state = LstmCell(tape, gates, in["cell"]);
    return {{"hidden", state.hidden}, {"cell", state.cell}};
  });
}

TEST_CASE("lstm: a sequence, in both directions") {
  for (const bool backward : {false, true}) {
    CheckCase(backward ? "lstm_backward" : "lstm_forward", [&](Tape& tape, Vars in) -> Vars {
      const Var gates = Affine(tape, in["x"], in["weights"], in["bias"]);
      const Var y = LstmSequence(tape, gates, in["recurrent"], backward);
      const int hidden = tape.rows(in["recurrent"]);
      const Var last = SliceRows(tape, y, backward ? 0 : tape.rows(y) - 1, 1);
      return {{"hidden", SliceCols(tape, y, 0, hidden)},
              {"last_cell", SliceCols(tape, last, hidden, hidden)}};
    });
  }
}

TEST_CASE("additive attention") {
  CheckCase("additive_attention", [](Tape& tape, Vars in) -> Vars {
    return {{"attention", AdditiveAttention(tape, in["query"], {tape, in["keys"]}, in["v"])}};
  });
}

TEST_CASE("distribution: log-probabilities and entropy") {
  const std::vector<int> columns = {0, 1, 2, 0};
  CheckCase("distribution", [&](Tape& tape, Vars in) -> Vars {
    const Var log_probabilities = LogSoftmax(tape, in["logits"]);
    return {{"log_probabilities", log_probabilities},
            {"picked", Pick(tape, log_probabilities, columns)},
            {"entropy", Entropy(tape, log_probabilities)}};
  });
}

TEST_CASE("optimizers: several steps") {
  const std::map<std::string, OptimizerConfig> configs = {
      {"adam",
       {.method = "adam",
        .schedule = {.learning_rate = 0.05},
        .beta1 = 0.8,
        .beta2 = 0.95,
        .epsilon = 1e-3,
        .clip_norm = 0}},
      {"rmsprop",
       {.method = "rmsprop",
        .schedule = {.learning_rate = 0.02},
        .beta2 = 0.9,
        .epsilon = 1e-3,
        .clip_norm = 0}},
      {"momentum",
       {.method = "sgd", .schedule = {.learning_rate = 0.1}, .momentum = 0.7, .clip_norm = 0}},
      {"clipped", {.method = "sgd", .schedule = {.learning_rate = 0.5}, .clip_norm = 1.5}},
  };
  REQUIRE(Reference().at("optimizers").size() == configs.size());
  for (const auto& [name, config] : configs) {
    CAPTURE(name);
    const json& reference = Reference().at("optimizers").at(name);
    ParameterSet parameters;
    for (const json& start : reference.at("start")) {
      const Matrix value = FromJson(start);
      parameters.Add(std::to_string(parameters.all().size()), value.rows(), value.cols()).value =
          value;
    }
    Optimizer optimizer(config, parameters, "optimizer");
    const std::size_t steps = reference.at("gradients").size();
    REQUIRE(steps == 5);
    for (std::size_t step = 0; step < steps; ++step) {
      CAPTURE(step);
      for (std::size_t i = 0; i < parameters.all().size(); ++i) {
        parameters.all()[i].gradient = FromJson(reference.at("gradients")[step][i]);
      }
      optimizer.Step();
      for (std::size_t i = 0; i < parameters.all().size(); ++i) {
        CheckNear(parameters.all()[i].value, reference.at("values")[step][i]);
      }
    }
  }
}

}  // namespace
