#include "agents/seq2seq/seq2seq_features.h"

#include <cmath>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

// Groups, in the order of their first ops:  A = {mul0, add0} -> B = {mul1} -> C = {add1},  A -> C.
// B may not run on gpu:1; its output of 100 B is a parameter.
std::shared_ptr<const Problem> FeatureProblem() {
  ProblemBuilder builder = Gpus(2);
  const int mul0 = builder.Op("mul0", {10, 20}, {}, 7);
  const int add0 = builder.Op("add0", {30, 20}, {mul0}, 31);
  const int mul1 = builder.Op("mul1", {0, kMaxNanos}, {add0}, 100);
  const int add1 = builder.Op("add1", {5, 5}, {mul0, mul1}, 0);
  builder.AddOutput(add1, "more", 3);
  for (int op : {mul0, mul1}) builder.op(op).kind = "Mul";
  for (int op : {add0, add1}) builder.op(op).kind = "Add";
  builder.output(mul1).role = TensorRole::kParameter;
  return builder.Build(Grouping(std::vector<int>{0, 0, 1, 2}));
}

Matrix Dense(const SparseMatrix& sparse) {
  return sparse;
}

Seq2SeqFeatures Features(Seq2SeqFeaturesConfig config) {
  const auto problem = FeatureProblem();
  return MakeSeq2SeqFeatures(*problem, MakeSeq2SeqVocabulary({&problem, 1}), config);
}

// Only the sizes, and what the test asks for.
constexpr Seq2SeqFeaturesConfig kBare{.output_sizes = 0,
                                      .adjacency = false,
                                      .device_costs = false,
                                      .resident_bytes = false,
                                      .position = false};

void CheckMatrix(const Matrix& matrix, const std::vector<std::vector<double>>& expected) {
  REQUIRE(matrix.rows() == static_cast<int>(expected.size()));
  REQUIRE(matrix.cols() == static_cast<int>(expected[0].size()));
  for (int i = 0; i < matrix.rows(); ++i) {
    for (int j = 0; j < matrix.cols(); ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK(matrix(i, j) == doctest::Approx(expected[i][j]).epsilon(1e-5));
    }
  }
}

TEST_CASE("kinds are shares of a group's ops") {  // columns: Add, Mul
  CheckMatrix(Dense(*Features(kBare).kinds), {{0.5, 0.5}, {0, 1}, {1, 0}});
}

TEST_CASE("adjacency marks direct inputs, then direct outputs") {
  Seq2SeqFeaturesConfig config = kBare;
  CHECK(Features(config).adjacency->cols() == 0);
  CHECK(Features(config).adjacency->rows() == 3);
  config.adjacency = true;
  CheckMatrix(Dense(*Features(config).adjacency),
              {{0, 0, 0, 0, 1, 1}, {1, 0, 0, 0, 0, 1}, {1, 1, 0, 0, 0, 0}});
}

TEST_CASE("sizes of output tensors: the largest first, then zeros") {
  Seq2SeqFeaturesConfig config = kBare;
  config.output_sizes = 3;
  const double largest = std::log(101);
  CheckMatrix(Features(config).dense,
              {{std::log(32) / largest, std::log(8) / largest, 0},
               {1, 0, 0},
               {std::log(4) / largest, 0, 0}});
  config.output_sizes = 1;
  CheckMatrix(Features(config).dense, {{std::log(32) / largest}, {1}, {std::log(4) / largest}});
}

TEST_CASE("costs per device are logarithms with mean 0 and variance 1, 0 where forbidden") {
  Seq2SeqFeaturesConfig config = kBare;
  config.device_costs = true;
  // A: 40 and 40 ns, B: 0 ns, C: 5 and 5 ns
  const double a = std::log(41), b = 0, c = std::log(6);
  const double mean = (2 * a + b + 2 * c) / 5;
  const double variance =
      (2 * (a - mean) * (a - mean) + b * b + mean * mean + 2 * (c - mean) * (c - mean)) / 5;
  const auto scaled = [&](double x) { return (x - mean) / std::sqrt(variance); };
  CheckMatrix(Features(config).dense,
              {{scaled(a), scaled(a)}, {scaled(b), 0}, {scaled(c), scaled(c)}});
}

TEST_CASE("resident bytes and position") {
  Seq2SeqFeaturesConfig config = kBare;
  config.resident_bytes = true;
  CheckMatrix(Features(config).dense, {{0}, {1}, {0}});
  config.resident_bytes = false;
  config.position = true;
  const Matrix position = Features(config).dense;
  REQUIRE(position.cols() == 9);
  for (int t = 0; t < 3; ++t) {
    CHECK(position(t, 0) == doctest::Approx(t / 3.0));
    for (int i = 0; i < 4; ++i) {
      const double angle = std::acos(-1.0) * std::pow(2, i) * t / 3;
      CHECK(position(t, 1 + 2 * i) == doctest::Approx(std::sin(angle)).epsilon(1e-5));
      CHECK(position(t, 2 + 2 * i) == doctest::Approx(std::cos(angle)).epsilon(1e-5));
    }
  }
}

TEST_CASE("parts stand side by side in the order of their description") {
  const Matrix all = Features({}).dense;
  REQUIRE(all.cols() == 8 + 2 + 1 + 9);
  Seq2SeqFeaturesConfig config = kBare;
  config.device_costs = true;
  CHECK(all.middleCols(8, 2) == Features(config).dense);
  config.device_costs = false;
  config.position = true;
  CHECK(all.rightCols(9) == Features(config).dense);
  CHECK(Features(kBare).dense.cols() == 0);
  CHECK(Features(kBare).dense.rows() == 3);
}

TEST_CASE("nothing is divided by zero when all is equal or empty") {
  ProblemBuilder builder;
  builder.Device("gpu:0");
  builder.Op("a", {4});
  const auto problem = builder.Build();
  const Seq2SeqFeatures features =
      MakeSeq2SeqFeatures(*problem, MakeSeq2SeqVocabulary({&problem, 1}), {});
  CHECK(features.dense.allFinite());
  CHECK(features.dense.leftCols(10).isZero());
}

std::shared_ptr<const Problem> ChainOf(const std::vector<std::string>& kinds, int num_devices) {
  ProblemBuilder builder = Gpus(num_devices);
  for (int i = 0; i < static_cast<int>(kinds.size()); ++i) {
    const std::vector<int> inputs = i > 0 ? std::vector<int>{i - 1} : std::vector<int>{};
    builder.op(builder.Op("op" + std::to_string(i), {5}, inputs, 1)).kind = kinds[i];
  }
  return builder.Build();
}

TEST_CASE("a vocabulary has all types of ops, the most groups and the one number of devices") {
  const std::vector problems = {ChainOf({"c", "a"}, 2), ChainOf({"a", "b", "a"}, 2)};
  const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary(problems);
  CHECK(vocabulary.kinds == std::vector<std::string>{"a", "b", "c"});
  CHECK(vocabulary.num_groups == 3);
  CHECK(vocabulary.num_devices == 2);
  const std::vector differ = {ChainOf({"a"}, 2), ChainOf({"a"}, 3)};
  const std::string message = MessageOf<InputError>([&] { MakeSeq2SeqVocabulary(differ); });
  CAPTURE(message);
  CHECK(message.find("expected problems with one number of devices, got 2 for graph") !=
        std::string::npos);
  CHECK(message.find("and 3 for graph") != std::string::npos);
}

TEST_CASE("in another problem unknown types have no share and groups too far off no column") {
  const auto known = ChainOf({"b", "d"}, 2);
  const Seq2SeqVocabulary vocabulary = MakeSeq2SeqVocabulary({&known, 1});
  const auto other = ChainOf({"d", "a", "b", "e"}, 2);
  const Seq2SeqFeatures features = MakeSeq2SeqFeatures(*other, vocabulary, {});
  CheckMatrix(Dense(*features.kinds), {{0, 1}, {0, 0}, {1, 0}, {0, 0}});
  // Reads from group 0 or 1, is read by group 0 or 1; groups 2 and 3 are nobody's neighbours.
  CheckMatrix(Dense(*features.adjacency), {{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}});
  CHECK(features.dense.rows() == 4);

  const auto shorter = ChainOf({"b"}, 2);
  CheckMatrix(Dense(*MakeSeq2SeqFeatures(*shorter, vocabulary, {}).adjacency), {{0, 0, 0, 0}});
}

TEST_CASE("the width of the dense features is that of its parts") {
  const auto problem = FeatureProblem();
  for (int mask = 0; mask < 8; ++mask) {
    const Seq2SeqFeaturesConfig config{.output_sizes = mask,
                                       .device_costs = (mask & 1) != 0,
                                       .resident_bytes = (mask & 2) != 0,
                                       .position = (mask & 4) != 0};
    CHECK(Features(config).dense.cols() == Seq2SeqDenseWidth(config, 2));
  }
}

}  // namespace
