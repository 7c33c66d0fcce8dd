#pragma once

// The notation of kernel_table.h for the arguments of a kernel.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace emplace {

/// The dtypes that an argument may have.
enum class TypeRule : std::uint8_t {
  kF32,    ///< no word
  kBool,   ///< "bool"
  kI64,    ///< "i64"
  kIndex,  ///< "index": i32 or i64
  kSame,   ///< "same": any, but equal for all arguments of the call with this rule
  kAny,    ///< "any"
};

/// One argument of a kernel, or a sequence of arguments.
struct ArgumentRule {
  enum class Count : std::uint8_t { kOne, kOptional, kSome, kAny };  ///< 1; 0 or 1; >= 1; >= 0
  enum class Shape : std::uint8_t {
    kSizes,   ///< one axis per letter of `sizes`; equal letters in a call are equal sizes
    kShared,  ///< any, but equal for all arguments of the call with this rule
    kAny,
  };
  std::string_view name;
  Count count = Count::kOne;
  TypeRule type = TypeRule::kF32;
  Shape shape = Shape::kAny;
  std::string_view sizes;
};

/// The inputs or the outputs of a kernel, parsed from a text like "x[nw] labels:index[n] bias?[w]".
/// Each argument has a name; ? (optional), + (one or more) or * (any number); the dtype, f32 if
/// none is given; and in brackets one letter per axis. [*] is any shape, equal for all arguments
/// with [*]; without brackets, any shape is allowed. Malformed texts do not compile.
class Signature {
 public:
  static constexpr int kMaxRules = 5;
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  consteval Signature(std::string_view text);  // NOLINT: made from texts in the table
  consteval Signature(const char* text) : Signature(std::string_view(text)) {}

  constexpr std::span<const ArgumentRule> rules() const { return {rules_.data(), num_rules_}; }
  /// The smallest and the largest number of arguments.
  constexpr std::size_t least() const { return least_; }
  constexpr std::size_t most() const { return most_; }
  /// Returns the rule of argument `position` of `count`, which lies between the two numbers. If
  /// only some of the optional arguments are present, they are the first ones.
  constexpr const ArgumentRule& RuleOf(std::size_t position, std::size_t count) const {
    std::size_t optional = count - least_, rule = 0;
    if (most_ == kUnlimited) return rules_[0];
    for (;; ++rule) {
      if (rules_[rule].count == ArgumentRule::Count::kOptional) {
        if (optional == 0) continue;
        --optional;
      }
      if (position-- == 0) return rules_[rule];
    }
  }

 private:
  std::array<ArgumentRule, kMaxRules> rules_{};
  std::size_t num_rules_ = 0, least_ = 0, most_ = 0;
};

consteval Signature::Signature(std::string_view text) {
  // The throws below never happen at run time: they only keep a malformed text from compiling.
  const auto take = [&](auto&& is_part) {
    std::size_t n = 0;
    while (n < text.size() && is_part(text[n])) ++n;
    const std::string_view part = text.substr(0, n);
    text.remove_prefix(n);
    return part;
  };
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  const auto take_one = [&](char c) {
    if (text.empty() || text[0] != c) return false;
    text.remove_prefix(1);
    return true;
  };
  while (!text.empty()) {
    if (num_rules_ > 0 && !take_one(' ')) throw "arguments are separated by a space";
    if (num_rules_ == kMaxRules) throw "too many arguments";
    ArgumentRule& rule = rules_[num_rules_++];
    rule.name = take(is_word);
    if (rule.name.empty()) throw "an argument without name";
    using Count = ArgumentRule::Count;
    rule.count = take_one('?')   ? Count::kOptional
                 : take_one('+') ? Count::kSome
                 : take_one('*') ? Count::kAny
                                 : Count::kOne;
    if (rule.count == Count::kOne || rule.count == Count::kSome) ++least_;
    if (rule.count == Count::kSome || rule.count == Count::kAny) {
      if (num_rules_ > 1 || text.find(' ') != text.npos) throw "a run stands alone";
      most_ = kUnlimited;
    } else {
      ++most_;
    }
    if (take_one(':')) {
      const std::string_view type = take(is_word);
      if (type == "bool")
        rule.type = TypeRule::kBool;
      else if (type == "i64")
        rule.type = TypeRule::kI64;
      else if (type == "index")
        rule.type = TypeRule::kIndex;
      else if (type == "same")
        rule.type = TypeRule::kSame;
      else if (type == "any")
        rule.type = TypeRule::kAny;
      else
        throw "no such dtype";
    }
    if (!take_one('[')) continue;
    if (take_one('*')) {
      rule.shape = ArgumentRule::Shape::kShared;
    } else {
      rule.shape = ArgumentRule::Shape::kSizes;
      rule.sizes = take([](char c) { return c >= 'a' && c <= 'z'; });
    }
    if (!take_one(']')) throw "a bracket that is not closed";
  }
}

}  // namespace emplace
