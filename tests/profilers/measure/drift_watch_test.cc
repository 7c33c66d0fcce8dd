#include "profilers/measure/drift_watch.h"

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/profilers/measure/virtual_machine.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

using Warnings = std::vector<std::string>;

TEST_CASE("the product: compared with the first check, in both directions") {
  VirtualMachine machine = MakeVirtualMachine(0);
  machine.times.op = [](int, int, const OpWork& work) {
    return ScriptedBackend::IsReferenceProduct(work) ? 200'000 : 1;
  };
  ScriptedBackend backend(machine.Make());
  double factor = 1;
  backend.slowdown = [&](int device) { return device == 1 ? factor : 1.0; };
  DriftWatch watch(backend, {0, 1});
  Warnings warnings;
  const auto check = [&](double next) {
    factor = next;
    warnings.clear();
    watch.Check("then", warnings);
    return warnings;
  };
  CHECK(check(1.0) == Warnings{});
  CHECK(check(1.049) == Warnings{});
  CHECK(
      check(1.2) ==
      Warnings{
          "then: the reference product on cpu:1 takes 240.0 us, +20.0 % compared with the start"});
  CHECK(
      check(0.9) ==
      Warnings{
          "then: the reference product on cpu:1 takes 180.0 us, -10.0 % compared with the start"});
  CHECK(check(0.96) == Warnings{});

  factor = 1.2;
  CHECK(watch.Look("later").change == doctest::Approx(0.2));
  CHECK(watch.Look("later").text ==
        "the reference product on cpu:1 takes 240.0 us, +20.0 % compared with the start");
  // A resumed profile is compared with the first one.
  std::map<std::string, std::string> properties;
  watch.Describe(properties);
  DriftWatch resumed(backend, {0, 1});
  resumed.Resume(properties);
  CHECK(resumed.Check("at the start", warnings).change == doctest::Approx(0.2));
  resumed.Restart();
  CHECK(resumed.Check("at the start", warnings).change == 0);
  CHECK(resumed.Look("later").change == 0);
}

TEST_CASE("clocks: those that cannot be read say nothing") {
  VirtualMachine machine = MakeVirtualMachine(0);
  machine.times.op = [](int, int, const OpWork&) { return 20'000; };
  ScriptedBackend backend(machine.Make());
  double mhz = 0;
  backend.clock_mhz = [&] { return mhz; };
  DriftWatch watch(backend, {0});
  Warnings warnings;
  watch.Check("at the start", warnings);
  mhz = 2000;
  watch.Check("then", warnings);
  CHECK(warnings == Warnings{});
  std::map<std::string, std::string> properties;
  watch.Describe(properties);
  CHECK(properties ==
        std::map<std::string, std::string>{{"clock at start, cpu:0", "clock not readable, 40 C"},
                                           {"clock at start, cpu:1", "clock not readable, 40 C"},
                                           {"clock at end, cpu:0", "2000 MHz, 40 C"},
                                           {"clock at end, cpu:1", "2000 MHz, 40 C"},
                                           {"reference product, cpu:0", "20.0 us"}});
}

TEST_CASE("a broken device says why") {
  ScriptedBackend backend(MakeVirtualMachine(0).Make());
  DriftWatch watch(backend, {0});
  CHECK(watch.WhyBroken(0).empty());
  backend.on_op = [](int device, const OpWork&) {
    if (device == 1) throw RunError("no power");
  };
  CHECK(watch.WhyBroken(0).empty());
  CHECK(watch.WhyBroken(1) == "no power");
  Warnings warnings;
  DriftWatch both(backend, {0, 1});
  CHECK(MessageOf<RunError>([&] { both.Check("at the start", warnings); }) ==
        "at the start: device \"cpu:1\" cannot do the reference product: no power");
}

}  // namespace
