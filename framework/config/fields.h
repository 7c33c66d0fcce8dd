#pragma once

// A config is a plain struct with defaults beside its fields and one function that visits each
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
// A number that may not be any number has its range beside it: reading refuses one outside, and the
// help shows the range.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// The values that a number may have, both ends included.
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
  /// A number within a range.
  template <class Number>
  void Field(const char* key,
             Number& value,
             const NumberRange& range,
             const char* help) requires std::is_arithmetic_v<Number> {
    Field(key, value, help);
    Bound(key, static_cast<double>(value), range);
  }
  virtual void Field(const char* key, bool& value, const char* help) = 0;
  virtual void Field(const char* key, int& value, const char* help) = 0;
  virtual void Field(const char* key, std::int64_t& value, const char* help) = 0;
  virtual void Field(const char* key, double& value, const char* help) = 0;
  virtual void Field(const char* key, std::string& value, const char* help) = 0;
  /// A key that was added to a config: WriteFields() leaves it out where it has its default, so
  /// that the text is the one that earlier versions wrote, and what they began can be resumed.
  virtual void AddedField(const char* key,
                          std::string& value,
                          std::string_view,  // the default
                          const char* help) {
    Field(key, value, help);
  }
  /// The same for numbers. @param standard  the default
  template <class Number>
  void AddedField(const char* key,
                  Number& value,
                  Number standard,
                  const char* help) requires std::is_arithmetic_v<Number> {
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
  virtual void Field(const char* key, std::vector<std::string>& value, const char* help) = 0;
  /// A list that was added, empty by default.
  virtual void AddedField(const char* key, std::vector<std::string>& value, const char* help) {
    Field(key, value, help);
  }
  virtual void Field(const char* key, std::vector<double>& value, const char* help) = 0;
  /// A value whose form the owner checks itself (rules, lists of maps).
  virtual void Field(const char* key, ConfigNode& value, const char* help) = 0;
  /// A nested struct: `visit` visits its fields.
  virtual void Group(const char* key,
                     const char* help,
                     const std::function<void(FieldVisitor&)>& visit) = 0;

 protected:
  /// Visits the range of the number that was visited last.
  virtual void Bound(const char*, double /*value*/, const NumberRange&) {}
  /// Whether an added field is visited. @param differs  from its default
  virtual bool IsWritten(bool) const { return true; }
};

/// One documented key of a config struct.
struct FieldHelp {
  std::string key;            ///< dotted path
  std::string default_value;  ///< YAML text
  std::string help;           ///< the sentence, with the range
  std::optional<NumberRange> range = {};
};

// What the templates below do for one struct, given as the function that visits its fields.
namespace internal {
void ReadInto(const ConfigNode& node, const std::function<void(FieldVisitor&)>& visit);
std::string WriteFrom(const std::function<void(FieldVisitor&)>& visit);
std::vector<FieldHelp> HelpFrom(const std::function<void(FieldVisitor&)>& visit);
}  // namespace internal

/// Reads the map `node` over `config`: a field without a key keeps its value.
/// @throws InputError for an unknown key, a value of the wrong form or a number out of its range;
/// SettingError for one of `config` that the node leaves out of its range
template <class Config>
Config ReadFields(const ConfigNode& node, Config config = {}) {
  internal::ReadInto(node, [&](FieldVisitor& v) { config.Visit(v); });
  return config;
}

/// YAML text with every field, but for added ones (AddedField()) at their default; ReadFields() of
/// it gives an equal struct.
template <class Config>
std::string WriteFields(Config config) {
  return internal::WriteFrom([&](FieldVisitor& v) { config.Visit(v); });
}

/// Every key in the order of the visit, with its value in `config` as the default.
template <class Config>
std::vector<FieldHelp> DescribeFields(Config config = {}) {
  return internal::HelpFrom([&](FieldVisitor& v) { config.Visit(v); });
}

}  // namespace emplace
