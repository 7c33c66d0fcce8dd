// What learners save: names, matrices, tables; and what a reader says when it finds another thing.

#include "framework/search/state.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/base64.h"
#include "framework/base/error.h"
#include "framework/search/problem_id.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"
#include "tests/support/states.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

std::shared_ptr<const Problem> OneOp(int num_devices = 1) {
  ProblemBuilder builder = Gpus(num_devices);
  builder.Op("a", {1});
  return builder.Build();
}

std::string Base64Of(const std::string& text) {
  return EncodeBase64(std::as_bytes(std::span(text)));
}

/// The message of a visit that reads `text`.
template <class Visit>
std::string StateRefusal(const std::string& text, const Visit& visit) {
  return MessageOf<InputError>([&] { ReadState(text, visit); });
}

TEST_CASE("base64: the examples of RFC 4648, section 10") {
  CHECK(Base64Of("") == "");
  CHECK(Base64Of("f") == "Zg==");
  CHECK(Base64Of("fo") == "Zm8=");
  CHECK(Base64Of("foo") == "Zm9v");
  CHECK(Base64Of("foob") == "Zm9vYg==");
  CHECK(Base64Of("fooba") == "Zm9vYmE=");
  CHECK(Base64Of("foobar") == "Zm9vYmFy");
}

TEST_CASE("base64: there and back; other texts are refused") {
  Rng rng(1);
  for (int length = 0; length < 100; ++length) {
    std::vector<std::byte> bytes(length);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(UniformInt(rng, 256));
    const std::string text = EncodeBase64(bytes);
    CHECK(DecodeBase64(text) == bytes);
    if (length == 0) continue;
    CHECK_FALSE(DecodeBase64(text.substr(1)));
    std::string spoilt = text;
    spoilt[UniformInt(
        rng, static_cast<int>(text.find('=') == text.npos ? text.size() : text.find('=')))] = '~';
    CHECK_FALSE(DecodeBase64(spoilt));
  }
  for (const char* text : {"Zg=", "Zh==", "Z===", "====", "=Zg=", "Zg==Zg=="}) {
    CHECK_FALSE(DecodeBase64(text));
  }
}

TEST_CASE("state: exact, and refused when it is not what was written") {
  Rng rng(8);
  const auto problem = OneOp(3);
  struct Pieces {
    double x = 0;
    std::int64_t y = 0;
    Placement placement;
    Outcome outcome;
    Score score;
    Rng rng;
    void VisitState(StateVisitor& v, const Problem& of) {
      v.Begin("test", of);
      v.Double("x", x);
      v.Int("y", y);
      v.Devices(placement);
      v.Result(outcome);
      v.Score(score);
      v.Generator(rng);
    }
  };
  Pieces written{0.1, -5, {{2}}, {}, {.deficit = 7, .step_time = 8}, rng}, read;
  written.outcome.step_time = 123;
  written.outcome.feasible = false;
  written.outcome.devices = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  CopyState(written, read, *problem);
  CHECK(read.x == 0.1);
  CHECK(read.y == -5);
  CHECK(read.placement == written.placement);
  CHECK(read.outcome.step_time == 123);
  CHECK_FALSE(read.outcome.feasible);
  CHECK(read.outcome.devices[2].deficit == 9);
  CHECK(read.score == Score{.deficit = 7, .step_time = 8});
  CHECK(read.rng() == rng());

  const auto devices = [&](StateVisitor& v) { v.Devices(read.placement, *problem); };
  CHECK(StateRefusal("3", devices) == "agent state: expected an allowed device for group 0, got 3");
  const auto result = [&](StateVisitor& v) { v.Result(read.outcome, *problem); };
  CHECK(StateRefusal("9 1 2", result) == "agent state: expected 3 devices, got 2");
}

TEST_CASE("state: matrices of all shapes and numbers are restored bit by bit") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {
      0.0F, -0.0F, 0.1F, 1e-45F, 3.4e38F, -kInfinity, std::nanf("7")};
  Rng rng(2);
  for (int round = 0; round < 50; ++round) {
    Matrix matrix(UniformInt(rng, 5), UniformInt(rng, 5));
    for (float& entry : matrix.reshaped()) entry = special[UniformInt(rng, 7)];
    Matrix read = Matrix::Ones(matrix.rows(), matrix.cols());
    ReadState(WrittenState([&](StateVisitor& v) { v.Matrix("m", matrix); }),
              [&](StateVisitor& v) { v.Matrix("m", read); });
    for (Eigen::Index i = 0; i < matrix.size(); ++i) {
      CHECK(std::bit_cast<std::uint32_t>(read.data()[i]) ==
            std::bit_cast<std::uint32_t>(matrix.data()[i]));
    }
  }
}

TEST_CASE("state: a matrix is written as its shape and its bytes") {
  Matrix matrix(2, 1);
  matrix << 1, -2;  // 00 00 80 3f, 00 00 00 c0
  CHECK(WrittenState([&](StateVisitor& v) { v.Matrix("m", matrix); }) == "2x1:AACAPwAAAMA=\n");
}

TEST_CASE("state: lists, sets and values that may be missing") {
  struct Pieces {
    std::vector<int> list;
    std::unordered_set<std::uint64_t> set;
    std::optional<int> there, missing;
    void VisitState(StateVisitor& v) {
      const auto number = [&](int& item) { v.Int("a number", item, 0, 9); };
      v.List("a number of items", list, 1, 3, number);
      v.Set("a number of hashes", set);
      v.Optional(there, number);
      v.Optional(missing, number);
    }
  };
  Pieces written{{7, 5}, {3, ~std::uint64_t{0}, 1}, 4, {}}, read{{1, 2, 3}, {8}, {}, 6};
  // The hash 2^64 - 1 is the largest; its bits are those of -1.
  CHECK(Saved(written) == "2\n7\n5\n3\n1\n3\n-1\n1\n4\n0\n");
  CopyState(written, read);
  CHECK(read.list == written.list);
  CHECK(read.set == written.set);
  CHECK(read.there == 4);
  CHECK_FALSE(read.missing);
  const auto refusal = [&](const std::string& text) {
    return StateRefusal(text, [&](StateVisitor& v) { read.VisitState(v); });
  };
  CHECK(refusal("4") == "agent state: expected a number of items from 1 to 3, got 4");
  CHECK(refusal("1 5 1000000000000000000 1") ==
        "agent state: expected a number, got the end of the text");
}

TEST_CASE("state: a matrix of another shape, or none, is refused") {
  const auto refusal = [](const std::string& text) {
    return StateRefusal(text, [](StateVisitor& v) {
      Matrix matrix(2, 1);
      v.Matrix("encoder.weights", matrix);
    });
  };
  CHECK(refusal("2x1:AACAPwAAAMA=") == "(nothing was thrown)");
  CHECK(refusal("1x2:AACAPwAAAMA=") == "agent state: encoder.weights [2, 1] expected, got [1, 2]");
  CHECK(refusal("2x1:AACAPw==") ==
        "agent state: expected 8 bytes in base64 for encoder.weights, got 4");
  CHECK(refusal("2x1:AACAPwAAAM~=") ==
        "agent state: expected 8 bytes in base64 for encoder.weights, got other characters");
  for (const char* text : {"2", "2x", "2x1", "x1:AA", "-2x1:AA", "2y1:AA", ":", "twoxone:AA"}) {
    CHECK(refusal(text) == "agent state: expected a matrix for encoder.weights");
  }
  CHECK(refusal("") == "agent state: expected encoder.weights, got the end of the text");
}

TEST_CASE("state: integers, counts and flags are refused beyond their range") {
  int number = 0;
  std::int64_t wide = 0;
  bool flag = false;
  const struct {
    std::function<void(StateVisitor&)> visit;
    std::string expected;
    std::vector<std::string> read, refused;
  } rows[] = {
      {[&](StateVisitor& v) { v.Int("a group", number, -1, 3); },
       "a group from -1 to 3",
       {"-1", "0", "3"},
       {"4", "-2", "4294967296"}},
      {[&](StateVisitor& v) { v.Count("a number", wide); },
       "a number",
       {"1152921504606846976", "0"},
       {"1152921504606846977", "-1"}},
      {[&](StateVisitor& v) { v.Amount("a time", wide); },
       "a time",
       {"9223372036854775807"},
       {"-1"}},
      {[&](StateVisitor& v) { v.Count("a number", number); },
       "a number from 0 to 1073741824",
       {"1073741824"},
       {"1073741825", "-1"}},
      {[&](StateVisitor& v) { v.Flag(flag); }, "0 or 1", {"1", "0"}, {"2"}},
  };
  for (const auto& row : rows) {
    for (const std::string& text : row.read) {
      ReadState(text, row.visit);
      CHECK(WrittenState(row.visit) == text + "\n");
    }
    for (const std::string& text : row.refused) {
      CHECK(StateRefusal(text, row.visit) ==
            "agent state: expected " + row.expected + ", got " + text);
    }
  }
  CHECK(StateRefusal("x", rows[0].visit) == "agent state: expected a group, got \"x\"");
}

TEST_CASE("state: names and tables") {
  UpdateTable table{{"loss", "entropy"}, {0.1, std::nan(""), -1e300, 2, 3, 4}};
  UpdateTable read{{"loss", "entropy"}, {1, 2}}, none, empty;
  const auto text = WrittenState([&](StateVisitor& v) {
    v.Name("a parameter", "encoder.weights");
    v.Table(table);
    v.Table(none);
  });
  ReadState(text, [&](StateVisitor& v) {
    v.Name("a parameter", "encoder.weights");
    v.Table(read);
    v.Table(empty);
  });
  REQUIRE(read.values.size() == 6);
  for (int i = 0; i < 6; ++i) {
    CHECK(std::bit_cast<std::uint64_t>(read.values[i]) ==
          std::bit_cast<std::uint64_t>(table.values[i]));
  }
  CHECK(empty.num_rows() == 0);

  CHECK(StateRefusal("bias", [](StateVisitor& v) { v.Name("parameter", "weights"); }) ==
        "agent state: expected parameter weights, got bias");
  const auto refusal = [](const std::string& text) {
    return StateRefusal(text, [](StateVisitor& v) {
      UpdateTable expected{{"loss", "entropy"}, {}};
      v.Table(expected);
    });
  };
  CHECK(refusal("2 loss entropy 0x2:") == "(nothing was thrown)");
  CHECK(refusal("1 loss 0x1:") == "agent state: expected 2 columns, got 1");
  CHECK(refusal("2 loss norm 0x2:") == "agent state: expected a column entropy, got norm");
  CHECK(refusal("2 loss entropy 0x3:") == "agent state: expected a table of 2 columns");
  CHECK(refusal("2 loss entropy 9000000000000000000x2:AAAA") ==
        "agent state: expected a table of 2 columns");
  CHECK(refusal("2 loss entropy 1x2:AAAA") ==
        "agent state: expected 16 bytes in base64 for the table, got 3");
}

TEST_CASE("state: any text is restored byte by byte, other words are refused") {
  for (std::string text : {"", "plain", " two\nlines ", "\xff"}) {
    std::string read = "before";
    ReadState(WrittenState([&](StateVisitor& v) { v.Text("a text", text); }),
              [&](StateVisitor& v) { v.Text("a text", read); });
    CHECK(read == text);
  }
  const auto read = [](StateVisitor& v) {
    std::string text;
    v.Text("a text", text);
  };
  CHECK(StateRefusal("", read) == "agent state: expected a text, got the end of the text");
  for (const std::string word : {"plain", "text:?"}) {
    CHECK(StateRefusal(word, read) ==
          "agent state: expected a text as \"text:\" and base64, got \"" + word + "\"");
  }
}

TEST_CASE("state: another version, agent or problem is refused, naming both") {
  const auto one = OneOp(1), two = OneOp(2);
  const auto saved = WrittenState([&](StateVisitor& v) { v.Begin("seq2seq", *two); });
  const auto refusal =
      [&](const std::string& text, const std::string& agent, const Problem& problem) {
        return StateRefusal(text, [&](StateVisitor& v) { v.Begin(agent, problem); });
      };
  CHECK(refusal("x", "seq2seq", *two) ==
        "agent state: expected \"emplace-agent-state 1 seq2seq\" at the beginning");
  CHECK(refusal(saved, "seq2seq", *two) == "(nothing was thrown)");
  CHECK(refusal(saved, "hierarchical", *two) ==
        "agent state: expected that of agent hierarchical, got that of agent seq2seq");
  CHECK(refusal("emplace-agent-state 2 seq2seq 0", "seq2seq", *two) ==
        "agent state: version: expected at most 1, got 2: made by a newer version of emplace");
  CHECK(refusal("emplace-agent-state 0 seq2seq 0", "seq2seq", *two) ==
        "agent state: version: expected 1, got 0");
  CHECK(refusal("emplace-agent-state x seq2seq 0", "seq2seq", *two).find("a version") !=
        std::string::npos);
  CHECK(refusal(saved, "seq2seq", *one) ==
        fmt::format("agent state: it was saved for another problem: expected {:016x} (graph \"{}\" "
                    "with 1 groups on cluster \"{}\"), got {:016x}",
                    Combined(IdOf(*one)),
                    one->graph().name(),
                    one->cluster().name(),
                    Combined(IdOf(*two))));
}

}  // namespace
