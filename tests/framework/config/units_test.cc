#include "framework/config/units.h"

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

template <class Parse>
void CheckUnitRefused(Parse parse, const std::string& text, const char* fragment) {
  const std::string message = testing::MessageOf<InputError>([&] { parse(text); });
  INFO("text: \"", text, "\", message: ", message);
  CHECK(message.find(fragment) != std::string::npos);
}

TEST_CASE("times are exact and round to the nearest nanosecond, halves up") {
  CHECK(ParseTime("25us") == 25'000);
  CHECK(ParseTime("5.7us") == 5'700);
  CHECK(ParseTime("0us") == 0);
  CHECK(ParseTime("0") == 0);
  CHECK(ParseTime("0.000") == 0);
  CHECK(ParseTime(" 2 ms ") == 2'000'000);
  CHECK(ParseTime("1.5s") == 1'500'000'000);
  CHECK(ParseTime("3ns") == 3);
  CHECK(ParseTime("+3ns") == 3);
  CHECK(ParseTime("1e3us") == 1'000'000);
  CHECK(ParseTime("1E-3us") == 1);
  CHECK(ParseTime("7\u00b5s") == 7'000);
  CHECK(ParseTime("7\u03bcs") == 7'000);
  CHECK(ParseTime(".5us") == 500);
  CHECK(ParseTime("0.05us") == 50);
  CHECK(ParseTime("0.0050us") == 5);
  CHECK(ParseTime("100.0us") == 100'000);
  CHECK(ParseTime("0.4ns") == 0);
  CHECK(ParseTime("0.5ns") == 1);
  CHECK(ParseTime("1.4999999999ns") == 1);
  CHECK(ParseTime("1.5ns") == 2);
  CHECK(ParseTime(fmt::format("{}ns", kMaxNanos - 1)) == kMaxNanos - 1);
}

TEST_CASE("sizes are whole numbers of bytes") {
  CHECK(ParseBytes("11GiB") == 11LL << 30);
  CHECK(ParseBytes("11GB") == 11'000'000'000);
  CHECK(ParseBytes("1.5KiB") == 1536);
  CHECK(ParseBytes("0.1kB") == 100);
  CHECK(ParseBytes("64 B") == 64);
  CHECK(ParseBytes("0") == 0);
  CHECK(ParseBytes("1PiB") == 1LL << 50);
  CHECK(ParseBytes("9223372036854775807B") == 9223372036854775807LL);
  // 5e-10 TiB = 549.755813888 B; 5^12 of them make whole bytes again: 2^40 / 10^12 * 244140625 =
  // 2^28.
  CHECK(ParseBytes("0.000244140625TiB") == 1LL << 28);
}

TEST_CASE("bandwidths are fractions in lowest terms") {
  CHECK(ParseBandwidth("7.6GB/s") == Bandwidth{7'600'000'000, 1});
  CHECK(ParseBandwidth("7600B/us") == Bandwidth{7'600'000'000, 1});
  CHECK(ParseBandwidth("7.6B/ns") == Bandwidth{7'600'000'000, 1});
  CHECK(ParseBandwidth("1GiB/s") == Bandwidth{1LL << 30, 1});
  CHECK(ParseBandwidth("100Gb/s") == Bandwidth{12'500'000'000, 1});
  CHECK(ParseBandwidth("100Gbit/s") == Bandwidth{12'500'000'000, 1});
  CHECK(ParseBandwidth("100Gbps") == Bandwidth{12'500'000'000, 1});
  CHECK(ParseBandwidth("1b/s") == Bandwidth{1, 8});
  CHECK(ParseBandwidth("0.25B/s") == Bandwidth{1, 4});
  CHECK(ParseBandwidth("4B/6s") == Bandwidth{2, 3});
  CHECK(ParseBandwidth("4.8TB/s").BytesPerSecond() == 4.8e12);
}

TEST_CASE("FLOP rates are the nearest double") {
  CHECK(ParseFlopRate("2.8TFLOP/s") == 2.8e12);
  CHECK(ParseFlopRate("2.8TFLOPS") == 2.8e12);
  CHECK(ParseFlopRate("989.4 TFLOP/s") == 989.4e12);
  CHECK(ParseFlopRate("1e3GFLOP/s") == 1e12);
  CHECK(ParseFlopRate("5FLOP/s") == 5.0);
  CHECK(ParseFlopRate("0.3FLOP/s") == 0.3);
  CHECK(ParseFlopRate("1.2345678901234567PFLOPS") == 1.2345678901234567e15);
}

TEST_CASE("what is wrong is said with an example of what is right") {
  CheckUnitRefused(ParseTime, "25", "expected a time with a unit such as 25us, got \"25\"");
  CheckUnitRefused(ParseTime, "25", "the unit is missing; units: ns, us, ms, s");
  CheckUnitRefused(ParseTime, "25usec", "unknown unit \"usec\"; units: ns, us, ms, s");
  CheckUnitRefused(ParseTime, "-1us", "it is negative");
  CheckUnitRefused(ParseTime, "", "it does not start with a number");
  CheckUnitRefused(ParseTime, ".us", "it does not start with a number");
  CheckUnitRefused(ParseTime, "nanus", "it does not start with a number");
  CheckUnitRefused(ParseTime, "inf", "it does not start with a number");
  CheckUnitRefused(ParseTime, "0x10us", "unknown unit \"x10us\"");
  CheckUnitRefused(ParseTime, "1.2.3us", "unknown unit \".3us\"");
  CheckUnitRefused(ParseTime, fmt::format("{}ns", kMaxNanos), "it is out of range");
  CheckUnitRefused(ParseTime, "1e30s", "it is out of range");
  CheckUnitRefused(ParseTime, "1e999999999999s", "it is out of range");
  CheckUnitRefused(ParseTime, "123456789012345678901us", "it has more than 20 digits");
  CheckUnitRefused(
      ParseBytes, "11", "expected a number of bytes with a unit such as 11GiB, got \"11\"");
  CheckUnitRefused(ParseBytes, "11KB", "unknown unit \"KB\"; units: B, kB, MB");
  CheckUnitRefused(ParseBytes, "0.5B", "it is not a whole number of bytes");
  CheckUnitRefused(ParseBytes, "9223372036854775808B", "it is out of range");
  CheckUnitRefused(ParseBandwidth, "0", "the unit is missing");
  CheckUnitRefused(ParseBandwidth, "0GB/s", "it must be greater than 0");
  CheckUnitRefused(ParseBandwidth, "6GB", "unknown unit \"GB\"");
  CheckUnitRefused(ParseBandwidth, "6GB/h", "expected a bandwidth with a unit such as 7.6GB/s");
  CheckUnitRefused(ParseBandwidth, "6GB/0s", "unknown unit \"GB/0s\"");
  CheckUnitRefused(ParseBandwidth, "1e19B/s", "it is out of range");
  CheckUnitRefused(ParseFlopRate, "0TFLOP/s", "it must be greater than 0");
  CheckUnitRefused(ParseFlopRate, "2.8T", "expected a FLOP rate with a unit such as 2.8TFLOP/s");
  CheckUnitRefused(ParseFlopRate, "2.8TiFLOP/s", "unknown unit \"TiFLOP/s\"");
}

TEST_CASE("a long wrong text is cut in the message") {
  const std::string message =
      testing::MessageOf<InputError>([] { ParseTime(std::string(5000, 'x')); });
  CHECK(message.size() < 250);
}

TEST_CASE("random: decimal nanoseconds read back in every unit") {
  Rng rng(8);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t ns = static_cast<std::int64_t>(Uniform01(rng) * 1e15);
    REQUIRE(ParseTime(fmt::format("{}ns", ns)) == ns);
    REQUIRE(ParseTime(fmt::format("{}.{:03}us", ns / 1000, ns % 1000)) == ns);
    REQUIRE(ParseTime(fmt::format("{}.{:09}s", ns / 1'000'000'000, ns % 1'000'000'000)) == ns);
    REQUIRE(ParseTime(fmt::format("{}e-3us", ns)) == ns);
    REQUIRE(ParseBytes(fmt::format("{}.{:06}MB", ns / 1'000'000, ns % 1'000'000)) == ns);
  }
}

}  // namespace
