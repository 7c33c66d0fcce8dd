// Composed kernels: their parts, each by the reference, compute what the reference of the whole
// does.

#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "profilers/kernels/kernel_table.h"
#include "tests/profilers/reference_kernels.h"

namespace emplace::testing {
namespace {

OpBuffers RunParts(const Composition& composition, const OpBuffers& before) {
  OpBuffers buffers = before;
  std::vector<Buffer> temporaries;
  for (const std::int64_t bytes : composition.temporary_bytes) {
    temporaries.emplace_back(bytes, std::byte{0xFF});  // not a number
  }
  std::vector<void*> outputs = buffers.outputs();
  outputs.resize(composition.first_temporary);
  for (Buffer& temporary : temporaries) outputs.push_back(temporary.data());
  for (const KernelCall& part : composition.parts) {
    CHECK_EQ(WhyMalformed(part), "");
    const bool is_composed = DescriptionOf(part.kind).compose != nullptr;
    CHECK_FALSE(is_composed);
    for (const auto* arguments : {&part.inputs, &part.outputs}) {
      for (const Argument& argument : *arguments) {
        if (!argument.is_output || argument.index < composition.first_temporary) continue;
        const size_t temporary = argument.index - composition.first_temporary;
        REQUIRE(temporary < temporaries.size());
        CHECK(argument.view.end_bytes() <= composition.temporary_bytes[temporary]);
      }
    }
    RunReference(part, buffers.inputs().data(), outputs.data());
  }
  return buffers;
}

TEST_CASE("the parts of composed kernels compute the whole, and do its multiply-adds") {
  Rng rng(4);
  std::set<KernelKind> kinds;
  for (std::uint64_t seed = 1; seed <= 5 * EMPLACE_TEST_SCALE; ++seed) {
    for (const SampleCall& sample : SampleCalls(seed)) {
      const KernelDescription& kernel = DescriptionOf(sample.call.kind);
      if (kernel.compose == nullptr) continue;
      CAPTURE(sample.name);
      kinds.insert(sample.call.kind);
      const OpBuffers before = RandomBuffers(sample, rng);
      OpBuffers expected = before;
      RunReference(sample.call, expected);
      const Composition composition = kernel.compose(sample.call);
      CHECK_EQ(CompareOutputs(sample.call, before, expected, RunParts(composition, before)), "");
      double multiply_adds = 0;
      for (const KernelCall& part : composition.parts) multiply_adds += MultiplyAdds(part);
      CHECK(multiply_adds == MultiplyAdds(sample.call));
    }
  }
  CHECK(kinds.size() == 5);
}

}  // namespace
}  // namespace emplace::testing
