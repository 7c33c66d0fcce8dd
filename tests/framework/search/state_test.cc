// What learners save: names, matrices, tables; and what a reader says when it finds another thing.

#include "framework/search/state.h"

#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/base64.h"
#include "framework/base/error.h"
#include "tests/support/paths.h"
#include "tests/support/problems.h"

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

/// What is said to a read of `text`, which follows the header.
template <class Read>
std::string StateRefusal(const std::string& text, const Read& read) {
  const auto problem = OneOp();
  std::ostringstream header;
  StateWriter(header, "test", *problem);
  return MessageOf<InputError>([&] {
    std::istringstream in(header.str() + text);
    StateReader reader(in, "test", *problem);
    read(reader);
  });
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

TEST_CASE("state: matrices of all shapes and numbers are restored bit by bit") {
  const auto problem = OneOp();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {
      0.0F, -0.0F, 0.1F, 1e-45F, 3.4e38F, -kInfinity, std::nanf("7")};
  Rng rng(2);
  for (int round = 0; round < 50; ++round) {
    Matrix matrix(UniformInt(rng, 5), UniformInt(rng, 5));
    for (float& entry : matrix.reshaped()) entry = special[UniformInt(rng, 7)];
    std::stringstream text;
    StateWriter writer(text, "test", *problem);
    writer.Matrix(matrix);
    writer.Int(17);
    StateReader reader(text, "test", *problem);
    Matrix read = Matrix::Ones(matrix.rows(), matrix.cols());
    reader.Matrix("m", read);
    for (Eigen::Index i = 0; i < matrix.size(); ++i) {
      CHECK(std::bit_cast<std::uint32_t>(read.data()[i]) ==
            std::bit_cast<std::uint32_t>(matrix.data()[i]));
    }
    CHECK(reader.Int("a number") == 17);
  }
}

TEST_CASE("state: a matrix is written as its shape and its bytes") {
  std::ostringstream out;
  StateWriter writer(out, "test", *OneOp());
  Matrix matrix(2, 1);
  matrix << 1, -2;  // 00 00 80 3f, 00 00 00 c0
  writer.Matrix(matrix);
  CHECK(out.str().substr(out.str().find('\n')) == "\n2x1:AACAPwAAAMA=\n");
}

TEST_CASE("state: a matrix of another shape, or none, is refused") {
  const auto refusal = [](const std::string& text) {
    return StateRefusal(text, [](StateReader& reader) {
      Matrix matrix(2, 1);
      reader.Matrix("encoder.weights", matrix);
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
  CHECK(refusal("") == "agent state: expected encoder.weights, it ends there");
}

TEST_CASE("state: integers, counts and flags are refused beyond their range") {
  std::int64_t read = 0;
  const auto within = [&](const std::string& text) {
    return StateRefusal(text, [&](StateReader& reader) { read = reader.Int("a group", -1, 3); });
  };
  for (const int value : {-1, 0, 3}) {
    CHECK(within(std::to_string(value)) == "(nothing was thrown)");
    CHECK(read == value);
  }
  CHECK(within("4") == "agent state: expected a group from -1 to 3, got 4");
  CHECK(within("-2") == "agent state: expected a group from -1 to 3, got -2");
  CHECK(within("4294967296") == "agent state: expected a group from -1 to 3, got 4294967296");
  CHECK(within("x") == "agent state: expected a group, got \"x\"");

  const auto count = [&](const std::string& text) {
    return StateRefusal(text, [&](StateReader& reader) { read = reader.Count("a number"); });
  };
  CHECK(count("9223372036854775807") == "(nothing was thrown)");
  CHECK(read == std::numeric_limits<std::int64_t>::max());
  CHECK(count("0") == "(nothing was thrown)");
  CHECK(read == 0);
  CHECK(count("-1") == "agent state: expected a number, got -1");

  const auto counter = [&](const std::string& text) {
    return StateRefusal(text, [&](StateReader& reader) { read = reader.Counter("a number"); });
  };
  CHECK(counter("1073741824") == "(nothing was thrown)");
  CHECK(read == 1073741824);
  CHECK(counter("1073741825") ==
        "agent state: expected a number from 0 to 1073741824, got 1073741825");
  CHECK(counter("-1") == "agent state: expected a number from 0 to 1073741824, got -1");

  const auto flag = [&](const std::string& text) {
    return StateRefusal(text, [&](StateReader& reader) { read = reader.Flag(); });
  };
  CHECK(flag("1") == "(nothing was thrown)");
  CHECK(read == 1);
  CHECK(flag("0") == "(nothing was thrown)");
  CHECK(read == 0);
  CHECK(flag("2") == "agent state: expected 0 or 1, got 2");
}

TEST_CASE("state: names and tables") {
  const auto problem = OneOp();
  const UpdateTable table{{"loss", "entropy"}, {0.1, std::nan(""), -1e300, 2, 3, 4}};
  std::ostringstream out;
  StateWriter writer(out, "test", *problem);
  writer.Name("encoder.weights");
  writer.Table(table);
  writer.Table({});
  std::istringstream in(out.str());
  StateReader reader(in, "test", *problem);
  reader.Name("a parameter", "encoder.weights");
  UpdateTable read{{"loss", "entropy"}, {1, 2}}, empty;
  reader.Table(read);
  reader.Table(empty);
  REQUIRE(read.values.size() == 6);
  for (int i = 0; i < 6; ++i) {
    CHECK(std::bit_cast<std::uint64_t>(read.values[i]) ==
          std::bit_cast<std::uint64_t>(table.values[i]));
  }
  CHECK(empty.num_rows() == 0);

  CHECK(StateRefusal("bias", [](StateReader& r) { r.Name("parameter", "weights"); }) ==
        "agent state: expected parameter weights, got bias");
  const auto refusal = [](const std::string& text) {
    return StateRefusal(text, [](StateReader& r) {
      UpdateTable expected{{"loss", "entropy"}, {}};
      r.Table(expected);
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
  const auto problem = OneOp();
  const std::vector<std::string> texts = {"", "plain", " two\nlines ", std::string("\0\xff", 2)};
  std::stringstream state;
  StateWriter writer(state, "test", *problem);
  for (const std::string& text : texts) writer.Text(text);
  StateReader reader(state, "test", *problem);
  for (const std::string& text : texts) CHECK(reader.Text("a text") == text);
  const auto read = [](StateReader& r) { r.Text("a text"); };
  CHECK(StateRefusal("", read) == "agent state: expected a text, it ends there");
  for (const std::string word : {"plain", "text:?"}) {
    CHECK(StateRefusal(word, read) ==
          "agent state: expected a text as \"text:\" and base64, got \"" + word + "\"");
  }
}

TEST_CASE("state: another version, agent or problem is refused, naming both") {
  const auto one = OneOp(1), two = OneOp(2);
  std::ostringstream out;
  StateWriter(out, "seq2seq", *two);
  const auto refusal =
      [&](const std::string& text, const std::string& agent, const Problem& problem) {
        return MessageOf<InputError>([&] {
          std::istringstream in(text);
          StateReader(in, agent, problem);
        });
      };
  CHECK(refusal(out.str(), "seq2seq", *two) == "(nothing was thrown)");
  CHECK(refusal(out.str(), "hierarchical", *two) ==
        "agent state: expected that of agent hierarchical, got that of agent seq2seq");
  CHECK(refusal("emplace-agent-state 2 seq2seq 0", "seq2seq", *two) ==
        "agent state: version: expected at most 1, got 2: made by a newer version of emplace");
  CHECK(refusal("emplace-agent-state 0 seq2seq 0", "seq2seq", *two) ==
        "agent state: version: expected 1, got 0");
  CHECK(refusal("emplace-agent-state x seq2seq 0", "seq2seq", *two).find("a version") !=
        std::string::npos);
  CHECK(refusal(out.str(), "seq2seq", *one) ==
        fmt::format("agent state: it was saved for another problem: expected {:016x} (graph \"{}\" "
                    "with 1 groups on cluster \"{}\"), got {:016x}",
                    Fingerprint(*one),
                    one->graph().name(),
                    one->cluster().name(),
                    Fingerprint(*two)));
}

}  // namespace
