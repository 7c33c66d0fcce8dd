#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "profilers/kernels/op_reader.h"

namespace emplace::internal {
namespace {

[[noreturn]] void ThrowWrong(std::string_view key, const Json& value, std::string_view expected) {
  throw NoKernel{
      fmt::format("attribute \"{}\": got {}; expected {}", key, ClippedJson(value), expected)};
}

std::int64_t Integer(std::string_view key, const Json& value) {
  if (!value.is_number_integer()) ThrowWrong(key, value, "an integer");
  // PyTorch writes 2^63 - 1 for "to the end". kFar is also beyond every end, and arithmetic with it
  // does not overflow.
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > kFar) return kFar;
  return std::clamp(value.get<std::int64_t>(), -kFar, kFar);
}

Attributes::Ints Integers(std::string_view key, const Json& value) {
  if (value.is_number_integer()) return {Integer(key, value)};
  if (!value.is_array()) ThrowWrong(key, value, "a list of integers");
  Attributes::Ints integers;
  for (const Json& element : value) integers.push_back(Integer(key, element));
  return integers;
}

}  // namespace

Attributes::Attributes(const std::string& json)
    : values_(std::make_shared<const Json>(json.empty() ? Json::object() : Json::parse(json))) {
}

bool Attributes::Has(std::string_view key) const {
  return values_->contains(key) && !(*values_)[std::string(key)].is_null();
}

const Json& Attributes::Get(std::string_view key) const {
  if (!Has(key)) throw NoKernel{fmt::format("attribute \"{}\" is missing", key)};
  return (*values_)[std::string(key)];
}

std::int64_t Attributes::Int(std::string_view key, std::optional<std::int64_t> fallback) const {
  return fallback && !Has(key) ? *fallback : Integer(key, Get(key));
}

bool Attributes::Bool(std::string_view key, bool fallback) const {
  if (!Has(key)) return fallback;
  const Json& value = Get(key);
  if (!value.is_boolean()) ThrowWrong(key, value, "true or false");
  return value.get<bool>();
}

std::vector<bool> Attributes::Flags(std::string_view key, const std::vector<bool>& fallback) const {
  if (!Has(key)) return fallback;
  const Json& value = Get(key);
  std::vector<bool> flags;
  for (const Json& element : value) {
    if (!value.is_array() || !element.is_boolean()) ThrowWrong(key, value, "a list of booleans");
    flags.push_back(element.get<bool>());
  }
  return flags;
}

double Attributes::Number(std::string_view key, std::optional<double> fallback) const {
  if (fallback && !Has(key)) return *fallback;
  const Json& value = Get(key);
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  ThrowWrong(key, value, "a number");
}

std::string Attributes::Text(std::string_view key, std::optional<std::string> fallback) const {
  if (fallback && !Has(key)) return *fallback;
  const Json& value = Get(key);
  if (!value.is_string()) ThrowWrong(key, value, "a text");
  return value.get<std::string>();
}

Attributes::Ints Attributes::List(std::string_view key, std::optional<Ints> fallback) const {
  return fallback && !Has(key) ? *fallback : Integers(key, Get(key));
}

Attributes::Ints Attributes::Pair(std::string_view key, std::optional<Ints> fallback) const {
  Ints values = List(key, std::move(fallback));
  if (values.size() == 1) values.push_back(values[0]);
  if (values.size() != 2) ThrowWrong(key, Get(key), "one or two integers");
  return values;
}

std::vector<Attributes::Ints> Attributes::Pairs(std::string_view key) const {
  const Json& value = Get(key);
  if (!value.is_array()) ThrowWrong(key, value, "a list of pairs");
  std::vector<Ints> pairs;
  for (const Json& element : value) {
    pairs.push_back(Integers(key, element));
    if (pairs.back().size() != 2) ThrowWrong(key, value, "a list of pairs");
  }
  return pairs;
}

}  // namespace emplace::internal
