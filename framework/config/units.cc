#include "framework/config/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>

#include <boost/multiprecision/cpp_int.hpp>
#include <fmt/format.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

constexpr int kMaxDigits = 20;    // significant decimal digits of a number
constexpr int kMaxExponent = 38;  // larger ones are refused before they are multiplied in

// The expectation of a parser, for its messages.
struct Expectation {
  const char* what;   // "a time with a unit such as 25us"
  const char* units;  // "ns, us, ms, s"
};

constexpr Expectation kTime{"a time with a unit such as 25us", "ns, us, ms, s"};
constexpr Expectation kBytes{"a number of bytes with a unit such as 11GiB",
                             "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB"};
constexpr Expectation kBandwidth{
    "a bandwidth with a unit such as 7.6GB/s",
    "bytes or bits per time, as in GB/s, GiB/s, B/us, B/ns, Gb/s, Gbit/s, Gbps"};
constexpr Expectation kFlopRate{"a FLOP rate with a unit such as 2.8TFLOP/s",
                                "FLOP/s or FLOPS with k, M, G, T, P, as in GFLOP/s, TFLOPS"};

[[noreturn]] void Refuse(const Expectation& expected,
                         std::string_view text,
                         const std::string& reason) {
  constexpr size_t kShown = 60;
  const std::string shown =
      text.size() > kShown ? std::string(text.substr(0, kShown)) + "..." : std::string(text);
  throw InputError(fmt::format("expected {}, got \"{}\": {}", expected.what, shown, reason));
}

// digits * 10^exponent, and the text after the number.
struct Quantity {
  Integer digits = 0;
  int exponent = 0;
  std::string_view unit;
};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view Trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Removes an exponent such as "e-3" from the front, if present.
int TakeExponent(std::string_view& rest) {
  if (rest.empty() || (rest[0] != 'e' && rest[0] != 'E')) return 0;
  size_t at = 1;
  const bool negative = at < rest.size() && rest[at] == '-';
  if (at < rest.size() && (rest[at] == '-' || rest[at] == '+')) ++at;
  if (at == rest.size() || !IsDigit(rest[at])) return 0;
  int value = 0;
  for (; at < rest.size() && IsDigit(rest[at]); ++at) {
    value = std::min(value * 10 + (rest[at] - '0'), 100'000);
  }
  rest.remove_prefix(at);
  return negative ? -value : value;
}

Quantity Split(std::string_view text, const Expectation& expected) {
  std::string_view rest = Trim(text);
  if (rest.starts_with('-')) Refuse(expected, text, "it is negative");
  if (rest.starts_with('+')) rest.remove_prefix(1);
  Quantity quantity;
  bool any_digit = false;
  bool after_point = false;
  int significant = 0;
  int zeros = 0;  // trailing zeros read but not yet multiplied in
  for (; !rest.empty() && (IsDigit(rest[0]) || (rest[0] == '.' && !after_point));
       rest.remove_prefix(1)) {
    if (rest[0] == '.') {
      after_point = true;
      continue;
    }
    any_digit = true;
    quantity.exponent -= after_point;
    if (rest[0] == '0') {
      zeros += quantity.digits != 0;
      continue;
    }
    for (significant += zeros + 1; zeros >= 0; --zeros) {
      if (significant > kMaxDigits) Refuse(expected, text, "it has more than 20 digits");
      quantity.digits *= 10;
    }
    zeros = 0;
    quantity.digits += rest[0] - '0';
  }
  if (!any_digit) Refuse(expected, text, "it does not start with a number");
  quantity.exponent += zeros + TakeExponent(rest);
  if (quantity.digits == 0) quantity.exponent = 0;
  quantity.unit = Trim(rest);
  return quantity;
}

// Returns quantity * factor; nullopt if its exponent is out of range.
std::optional<Rational> Scale(const Quantity& quantity, const Rational& factor) {
  if (quantity.exponent > kMaxExponent || quantity.exponent < -kMaxExponent) return std::nullopt;
  const Rational power = pow(Integer(10), std::abs(quantity.exponent));
  const Rational scaled = factor * quantity.digits;
  return quantity.exponent < 0 ? Rational(scaled / power) : Rational(scaled * power);
}

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

template <size_t N>
std::optional<std::int64_t> FindUnit(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

// Nanoseconds per unit.
constexpr std::array<Unit, 6> kTimeUnits{{{"ns", 1},
                                          {"us", 1'000},
                                          {"\u00b5s", 1'000},  // micro sign
                                          {"\u03bcs", 1'000},  // Greek mu
                                          {"ms", 1'000'000},
                                          {"s", 1'000'000'000}}};

constexpr std::array<Unit, 6> kSiPrefixes{{{"", 1},
                                           {"k", 1'000},
                                           {"M", 1'000'000},
                                           {"G", 1'000'000'000},
                                           {"T", 1'000'000'000'000},
                                           {"P", 1'000'000'000'000'000}}};

constexpr std::array<Unit, 5> kIecPrefixes{{{"Ki", std::int64_t{1} << 10},
                                            {"Mi", std::int64_t{1} << 20},
                                            {"Gi", std::int64_t{1} << 30},
                                            {"Ti", std::int64_t{1} << 40},
                                            {"Pi", std::int64_t{1} << 50}}};

// Returns the factor of a prefix: "GiB" with suffix "B" -> 2^30.
std::optional<std::int64_t> PrefixBefore(std::string_view unit, std::string_view suffix) {
  if (!unit.ends_with(suffix)) return std::nullopt;
  unit.remove_suffix(suffix.size());
  const auto si = FindUnit(kSiPrefixes, unit);
  return si ? si : FindUnit(kIecPrefixes, unit);
}

[[noreturn]] void RefuseUnit(const Expectation& expected,
                             std::string_view text,
                             std::string_view unit) {
  if (unit.empty()) {
    Refuse(expected, text, fmt::format("the unit is missing; units: {}", expected.units));
  }
  Refuse(expected, text, fmt::format("unknown unit \"{}\"; units: {}", unit, expected.units));
}

// Bytes and bits per unit of time: "GB/s", "Gb/s", "Gbit/s", "Gbps", "B/us", "B/3s".
struct RateUnit {
  std::int64_t prefix;
  int bits_per_unit;       // 8: bytes, 1: bits
  std::int64_t nanos;      // length of the time unit [ns]
  std::int64_t count = 1;  // number of time units
};

std::optional<RateUnit> ParseRateUnit(std::string_view unit) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (const auto prefix = PrefixBefore(unit, "bps")) return RateUnit{*prefix, 1, kSecond};
  const size_t slash = unit.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string_view time = unit.substr(slash + 1);
  std::int64_t count = 1;
  if (!time.empty() && IsDigit(time[0])) {
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), count);
    if (error != std::errc{} || count == 0) return std::nullopt;
    time.remove_prefix(end - time.data());
  }
  const auto nanos = FindUnit(kTimeUnits, time);
  const std::string_view amount = unit.substr(0, slash);
  if (!nanos) return std::nullopt;
  if (const auto prefix = PrefixBefore(amount, "B")) return RateUnit{*prefix, 8, *nanos, count};
  if (const auto prefix = PrefixBefore(amount, "bit")) return RateUnit{*prefix, 1, *nanos, count};
  if (const auto prefix = PrefixBefore(amount, "b")) return RateUnit{*prefix, 1, *nanos, count};
  return std::nullopt;
}

constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

}  // namespace

Nanos ParseTime(std::string_view text) {
  const Quantity quantity = Split(text, kTime);
  if (quantity.unit.empty() && quantity.digits == 0) return 0;
  const auto factor = FindUnit(kTimeUnits, quantity.unit);
  if (!factor) RefuseUnit(kTime, text, quantity.unit);
  const auto exact = Scale(quantity, *factor);
  if (!exact) Refuse(kTime, text, "it is out of range");
  const Integer nanos = (2 * numerator(*exact) + denominator(*exact)) / (2 * denominator(*exact));
  if (nanos >= kMaxNanos) Refuse(kTime, text, "it is out of range");
  return static_cast<Nanos>(nanos);
}

std::int64_t ParseBytes(std::string_view text) {
  const Quantity quantity = Split(text, kBytes);
  if (quantity.unit.empty() && quantity.digits == 0) return 0;
  const auto factor = PrefixBefore(quantity.unit, "B");
  if (!factor) RefuseUnit(kBytes, text, quantity.unit);
  const auto bytes = Scale(quantity, *factor);
  if (!bytes || numerator(*bytes) / denominator(*bytes) > kMaxInt64) {
    Refuse(kBytes, text, "it is out of range");
  }
  if (denominator(*bytes) != 1) Refuse(kBytes, text, "it is not a whole number of bytes");
  return static_cast<std::int64_t>(numerator(*bytes));
}

Bandwidth ParseBandwidth(std::string_view text) {
  const Quantity quantity = Split(text, kBandwidth);
  const auto unit = ParseRateUnit(quantity.unit);
  if (!unit) RefuseUnit(kBandwidth, text, quantity.unit);
  if (quantity.digits == 0) Refuse(kBandwidth, text, "it must be greater than 0");
  const std::int64_t per_second = 1'000'000'000 / unit->nanos;
  const auto rate =
      Scale(quantity,
            Rational(Integer(unit->prefix) * unit->bits_per_unit * per_second, unit->count) / 8);
  if (!rate || numerator(*rate) > kMaxInt64 || denominator(*rate) > kMaxInt64) {
    Refuse(kBandwidth, text, "it is out of range");
  }
  return {static_cast<std::int64_t>(numerator(*rate)),
          static_cast<std::int64_t>(denominator(*rate))};
}

std::string FormatBandwidth(const Bandwidth& bandwidth) {
  return bandwidth.per_seconds == 1
             ? fmt::format("{}B/s", bandwidth.bytes)
             : fmt::format("{}B/{}s", bandwidth.bytes, bandwidth.per_seconds);
}

double ParseFlopRate(std::string_view text) {
  const Quantity quantity = Split(text, kFlopRate);
  int power = -1;
  for (const char* suffix : {"FLOP/s", "FLOPS", "FLOPs", "Flop/s", "flop/s", "flops"}) {
    if (!quantity.unit.ends_with(suffix)) continue;
    const std::string_view prefix =
        quantity.unit.substr(0, quantity.unit.size() - std::string_view(suffix).size());
    for (size_t i = 0; i < kSiPrefixes.size(); ++i) {
      if (kSiPrefixes[i].name == prefix) power = static_cast<int>(3 * i);
    }
  }
  if (power < 0) RefuseUnit(kFlopRate, text, quantity.unit);
  if (quantity.digits == 0) Refuse(kFlopRate, text, "it must be greater than 0");
  // All factors are powers of ten, so the decimal text of the product is parsed and rounded once.
  const std::string decimal =
      fmt::format("{}e{}", quantity.digits.str(), quantity.exponent + power);
  double rate = 0;
  const auto [end, error] = std::from_chars(decimal.data(), decimal.data() + decimal.size(), rate);
  if (error != std::errc{}) Refuse(kFlopRate, text, "it is out of range");
  return rate;
}

}  // namespace emplace
