#pragma once

// A config is a plain struct with defaults next to its fields and one function that visits each
// field once. The same visit reads YAML, writes it, lists the keys with their sentences for --help,
// and finds unknown keys:
//
//   struct AnnealingConfig {
//     double cooling = 0.95;
//     void Visit(FieldVisitor& v) {
//       v.Field("cooling", cooling, Between(0, 1), "temperature factor per sweep");
//     }
//   };
//   const auto config = ReadFields<AnnealingConfig>(node);
//
// A number with a limited range declares the range next to it. Reading refuses a number outside of
// the range, and the help shows the range. An optional number is the word `none` without a value.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// The allowed values of a number, both ends included.
struct NumberRange {
  double low = 0, high = 0;
};
constexpr NumberRange AtLeast(double low) {
  return {low, std::numeric_limits<double>::infinity()};
}
constexpr NumberRange Between(double low, double high) {
  return {low, high};
}

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  /// Visits a truth value, a number, a text, a list of texts or of numbers, or a ConfigNode: a
  /// value whose form the owner checks (rules, lists of maps).
  template <class T>
  void Field(const char* key, T& value, const char* help) {
    Value(key, &value, help);
  }
  /// Visits a number within a range.
  template <class Number>
  void Field(const char* key,
             Number& value,
             const NumberRange& range,
             const char* help) requires std::is_arithmetic_v<Number> {
    Field(key, value, help);
    Bound(key, static_cast<double>(value), range);
  }
  /// Visits a number within a range, or the word `none`.
  template <class Number>
  void Field(const char* key,
             std::optional<Number>& value,
             const NumberRange& range,
             const char* help) {
    Value(key, &value, help);
    OptionalBound(key, value ? std::optional<double>(*value) : std::nullopt, range);
  }
  /// Visits a key that was added to a config later. WriteFields() omits the key at its default
  /// value, so that the text equals the text of earlier versions and their runs can be resumed.
  /// @param standard  the default
  template <class T>
  void AddedField(const char* key,
                  T& value,
                  const std::type_identity_t<T>& standard,
                  const char* help) {
    if (IsWritten(value != standard)) Field(key, value, help);
  }
  template <class Number>
  void AddedField(const char* key,
                  Number& value,
                  Number standard,
                  const NumberRange& range,
                  const char* help) requires std::is_arithmetic_v<Number> {
    if (IsWritten(value != standard)) Field(key, value, range, help);
  }
  /// Visits a list that was added later; the default is empty.
  void AddedField(const char* key, std::vector<std::string>& value, const char* help) {
    AddedField(key, value, {}, help);
  }
  /// Visits a nested struct that was added later. @param standard  whether it is at its default
  void AddedGroup(const char* key,
                  bool standard,
                  const char* help,
                  const std::function<void(FieldVisitor&)>& visit) {
    if (IsWritten(!standard)) Group(key, help, visit);
  }
  /// Visits a nested struct: `visit` visits its fields.
  virtual void Group(const char* key,
                     const char* help,
                     const std::function<void(FieldVisitor&)>& visit) = 0;

 protected:
  using FieldValue = std::variant<bool*,
                                  int*,
                                  std::int64_t*,
                                  double*,
                                  std::optional<int>*,
                                  std::optional<std::int64_t>*,
                                  std::optional<double>*,
                                  std::string*,
                                  std::vector<std::string>*,
                                  std::vector<double>*,
                                  ConfigNode*>;
  virtual void Value(const char* key, FieldValue value, const char* help) = 0;
  /// Visits the range of the last visited number.
  virtual void Bound(const char*, double /*value*/, const NumberRange&) {}
  virtual void OptionalBound(const char*, std::optional<double> /*value*/, const NumberRange&) {}
  /// Returns whether an added field is visited. @param differs  whether it differs from its default
  virtual bool IsWritten(bool) const { return true; }
};

/// One documented key of a config struct.
struct FieldHelp {
  std::string key;            ///< dotted path
  std::string default_value;  ///< YAML text
  std::string help;           ///< the sentence, with the range
  std::optional<NumberRange> range = {};
};

// Implementations of the templates below for one struct, given as a function that visits its
// fields.
namespace internal {
void ReadInto(const ConfigNode& node, const std::function<void(FieldVisitor&)>& visit);
std::string WriteFrom(const std::function<void(FieldVisitor&)>& visit, bool whole);
std::vector<FieldHelp> HelpFrom(const std::function<void(FieldVisitor&)>& visit);
}  // namespace internal

/// Returns `config` with the values of the map `node`. A field without a key keeps its value.
/// @throws InputError for an unknown key, a value of the wrong form or a number out of its range;
///   SettingError if a value of `config` that the node does not set is out of its range
template <class Config>
Config ReadFields(const ConfigNode& node, Config config = {}) {
  internal::ReadInto(node, [&](FieldVisitor& v) { config.Visit(v); });
  return config;
}

/// Returns YAML text with every field, except for added fields (AddedField()) at their default.
/// ReadFields() of the text returns an equal struct.
/// @param whole  writes these fields as well
template <class Config>
std::string WriteFields(Config config, bool whole = false) {
  return internal::WriteFrom([&](FieldVisitor& v) { config.Visit(v); }, whole);
}

/// Returns every key in the order of the visit, with its value in `config` as the default.
template <class Config>
std::vector<FieldHelp> DescribeFields(Config config = {}) {
  return internal::HelpFrom([&](FieldVisitor& v) { config.Visit(v); });
}

/// Puts a margin before each line of a text; the last line also ends with a newline.
std::string IndentLines(const std::string& text, std::size_t margin);

}  // namespace emplace
