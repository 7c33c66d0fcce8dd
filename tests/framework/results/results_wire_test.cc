#include "framework/results/results_wire.h"

#include <doctest/doctest.h>

#include "framework/base/random.h"

namespace emplace::internal {
namespace {

using Objects = std::vector<StoredObject>;

// One of each kind of attribute.
Objects ExampleObjects() {
  return {{"/", StoredKind::kGroup, {{"i", std::int64_t{-7}}, {"x", 0.1}, {"t", std::string("é")}}},
          {"/ints", StoredKind::kInts, {{"foreign", std::monostate()}}}};
}

std::vector<StoredValues> ExampleValues() {
  return {std::vector<std::int64_t>{1, -2},
          std::vector<double>{0.5},
          std::vector<std::string>{"", "text"},
          IntMatrix{2, {1, 2, 3, 4}},
          std::vector<TableColumn>{{"i", std::vector<std::int64_t>{3}},
                                   {"x", std::vector<double>{1e300}}}};
}

TEST_CASE("what is written is read back") {
  const std::string bytes = ToWire(ExampleObjects());
  const auto objects = FromWire<Objects>(bytes);
  REQUIRE(objects);
  REQUIRE(objects->size() == 2);
  CHECK((*objects)[0].path == "/");
  CHECK((*objects)[0].kind == StoredKind::kGroup);
  CHECK((*objects)[0].attributes[0].name == "i");
  CHECK(std::get<0>((*objects)[0].attributes[0].value) == -7);
  CHECK(std::get<1>((*objects)[0].attributes[1].value) == 0.1);
  CHECK(std::get<2>((*objects)[0].attributes[2].value) == "é");
  CHECK((*objects)[1].attributes[0].value.index() == 3);
  for (const StoredValues& values : ExampleValues()) {
    const auto read = FromWire<StoredValues>(ToWire(values));
    REQUIRE(read);
    CHECK(read->index() == values.index());
    CHECK(ToWire(*read) == ToWire(values));
  }
}

TEST_CASE("bytes that are missing, too many or wrong are no value") {
  for (const StoredValues& values : ExampleValues()) {
    const std::string bytes = ToWire(values);
    for (size_t size = 0; size < bytes.size(); ++size) {
      CHECK_FALSE(FromWire<StoredValues>(bytes.substr(0, size)));
    }
    CHECK_FALSE(FromWire<StoredValues>(bytes + "x"));
    std::string other = bytes;
    other[0] = 5;  // there are five kinds of values
    CHECK_FALSE(FromWire<StoredValues>(other));
    other = bytes;
    other.replace(1, 8, 8, '\xff');  // 2^64 - 1 elements, or columns
    if (values.index() != 3) CHECK_FALSE(FromWire<StoredValues>(other));
  }
}

TEST_CASE("any bytes are read or refused") {
  const std::string sound = ToWire(ExampleObjects());
  Rng rng(1);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = sound;
    for (int change = 0; change <= i % 3; ++change) {
      bytes[static_cast<size_t>(UniformInt(rng, static_cast<int>(bytes.size())))] =
          static_cast<char>(UniformInt(rng, 256));
    }
    refused += !FromWire<Objects>(bytes);
  }
  CHECK(refused > 1000);
  CHECK(refused < 20'000);  // other numbers and letters are as good as the first ones
}

}  // namespace
}  // namespace emplace::internal
