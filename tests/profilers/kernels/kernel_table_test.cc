#include "profilers/kernels/kernel_table.h"

#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "profilers/kernels/call_fields.h"
#include "tests/profilers/reference_kernels.h"
#include "tests/support/sanitizers.h"

namespace emplace::testing {
namespace {

std::set<std::string> WordsOf(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : std::string(text) + " ") {
    if (c != ' ')
      word += c;
    else if (!word.empty())
      words.insert(std::exchange(word, ""));
  }
  return words;
}

TEST_CASE("names are all different") {
  std::set<std::string_view> names;
  for (const KernelDescription& kernel : kKernelTable) {
    CHECK(names.insert(ToString(kernel.kind)).second);
  }
  names.clear();
  for (const FunctionDescription& function : kFunctionTable) {
    CHECK(names.insert(ToString(function.function)).second);
  }
}

TEST_CASE("a signature is read from its text") {
  constexpr Signature kSignature = "x[nw] labels:index[n] bias?[w] mask?:bool[*] y:same";
  CHECK(kSignature.least() == 3);
  CHECK(kSignature.most() == 5);
  REQUIRE(kSignature.rules().size() == 5);
  const ArgumentRule& x = kSignature.rules()[0];
  CHECK(x.name == "x");
  CHECK(x.type == TypeRule::kF32);
  CHECK(x.shape == ArgumentRule::Shape::kSizes);
  CHECK(x.sizes == "nw");
  CHECK(kSignature.rules()[1].type == TypeRule::kIndex);
  CHECK(kSignature.rules()[3].shape == ArgumentRule::Shape::kShared);
  CHECK(kSignature.rules()[4].shape == ArgumentRule::Shape::kAny);
  // Optional arguments are there from the first on.
  CHECK(kSignature.RuleOf(2, 3).name == "y");
  CHECK(kSignature.RuleOf(2, 4).name == "bias");
  CHECK(kSignature.RuleOf(3, 4).name == "y");
  CHECK(kSignature.RuleOf(3, 5).name == "mask");

  constexpr Signature kNothing = "", kMany = "parts+:any", kAny = "parts*";
  CHECK(kNothing.most() == 0);
  CHECK(kMany.least() == 1);
  CHECK(kAny.least() == 0);
  CHECK(kMany.most() == Signature::kUnlimited);
  CHECK(kMany.RuleOf(7, 9).name == "parts");
  constexpr Signature kScalar = "loss[]";
  CHECK(kScalar.rules()[0].shape == ArgumentRule::Shape::kSizes);
  CHECK(kScalar.rules()[0].sizes.empty());
}

TEST_CASE("the letters of products are axes, the parameters are fields") {
  std::set<std::string> fields;
  ForEachField(kParamFields, [&](const auto& field) { fields.insert(std::string(field.name)); });
  for (const KernelDescription& kernel : kKernelTable) {
    CAPTURE(kernel.name);
    std::string letters;
    for (const Signature* signature : {&kernel.inputs, &kernel.outputs}) {
      for (const ArgumentRule& rule : signature->rules()) letters += rule.sizes;
    }
    for (const char letter : kernel.products) {
      CHECK((letter == '+' || letters.find(letter) != letters.npos));
    }
    for (const std::string& word : WordsOf(kernel.parameters)) CHECK(fields.contains(word));
  }
}

// What a kernel writes for a sample, by the reference.
OpBuffers ResultOf(const KernelCall& call, OpBuffers buffers) {
  RunReference(call, buffers);
  return buffers;
}

TEST_CASE("a kernel reads the parameters that its row names, and no others" *
          doctest::skip(kUnderSanitizers)) {
  Rng rng(1);
  std::map<std::string, std::set<std::string>> seen;  // parameters that changed a result, by kernel
  std::vector<SampleCall> samples = SampleCalls(5);
  for (SampleCall& sample : SampleCalls(6)) samples.push_back(std::move(sample));
  for (const SampleCall& sample : samples) {
    if (sample.call.is_proxy()) continue;  // the reference of a proxy computes nothing
    CAPTURE(sample.name);
    const KernelDescription& kernel = DescriptionOf(sample.call.kind);
    const std::set<std::string> named = WordsOf(kernel.parameters);
    const OpBuffers before = RandomBuffers(sample, rng);
    const OpBuffers expected = ResultOf(sample.call, before);
    ForEachField(kParamFields, [&](const auto& field) {
      const std::string name(field.name);
      CAPTURE(name);
      KernelCall changed = sample.call;
      auto& value = changed.params.*field.member;
      using Value = std::remove_reference_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, bool>) {
        value = !value;
      } else if constexpr (std::is_floating_point_v<Value>) {
        value = value * 0.5 + 0.125;
      } else if (named.contains(name)) {
        seen[std::string(kernel.name)].insert(name);  // another window or function is another call
        return;
      } else if constexpr (std::is_same_v<Value, Window>) {
        value.size = {7, 7};
      } else {
        value = static_cast<Value>(static_cast<int>(value) + 1);
      }
      const OpBuffers actual = ResultOf(changed, before);
      const bool same = actual.input_storage == expected.input_storage &&
                        actual.output_storage == expected.output_storage;
      if (!same) seen[std::string(kernel.name)].insert(name);
    });
  }
  for (const KernelDescription& kernel : kKernelTable) {
    if (kernel.kind == KernelKind::kProxy) continue;
    CAPTURE(kernel.name);
    CHECK(seen[std::string(kernel.name)] == WordsOf(kernel.parameters));
  }
}

TEST_CASE("multiply-adds of products and convolutions") {
  const auto argument = [](std::vector<std::int64_t> shape) {
    return Argument{.view = ContiguousView(DType::kF32, std::move(shape))};
  };
  KernelCall call;
  call.kind = KernelKind::kMatmul;
  call.inputs = {argument({2, 3, 4}), argument({2, 4, 5})};
  call.outputs = {argument({2, 3, 5})};
  CHECK(MultiplyAdds(call) == 2 * 3 * 4 * 5);
  // 6 channels in 2 groups: each of 8 x 3 x 3 results is made of 3 channels x 2 x 2.
  call.kind = KernelKind::kConvBackwardFilter;
  call.params.groups = 2;
  call.params.window.size = {2, 2};
  call.inputs = {argument({1, 6, 4, 4}), argument({1, 8, 3, 3})};
  call.outputs = {argument({8, 3, 2, 2})};
  CHECK(MultiplyAdds(call) == 8 * 9 * 3 * 4);
  call.kind = KernelKind::kSoftmax;
  CHECK(MultiplyAdds(call) == 0);
}

}  // namespace
}  // namespace emplace::testing
