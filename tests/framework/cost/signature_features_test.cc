#include "framework/cost/signature_features.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/base/random.h"

using namespace emplace;

namespace {

// log(1 + |x|) of each, with its sign.
std::vector<double> Logs(const std::vector<double>& numbers) {
  std::vector<double> logs;
  for (const double x : numbers) logs.push_back(std::copysign(std::log(1 + std::abs(x)), x));
  return logs;
}

void CheckFeatures(const std::string& signature,
                   const std::string& structure,
                   const std::vector<double>& numbers) {
  CAPTURE(signature);
  const SignatureFeatures features = MakeSignatureFeatures(signature);
  CHECK(features.structure == structure);
  const std::vector<double> logs = Logs(numbers);
  REQUIRE(features.numbers.size() == logs.size());
  for (size_t i = 0; i < logs.size(); ++i) CHECK(features.numbers[i] == doctest::Approx(logs[i]));
}

TEST_CASE("dimensions and attributes are numbers, those of names are none") {
  CheckFeatures("aten.mm(f32[128,768], f32[768,3072]:aten.t) -> f32[128,3072] {}",
                "aten.mm(f32[n,n], f32[n,n]:aten.t) -> f32[n,n] {}",
                {128, 768, 768, 3072, 128, 3072});
  CheckFeatures("Conv2D(f32[1,8,8,3], f32[3,3,3,4]) -> f32[1,8,8,4] {padding=SAME, strides=[1,2]}",
                "Conv2D(f32[n,n,n,n], f32[n,n,n,n]) -> f32[n,n,n,n] {padding=SAME, strides=[n,n]}",
                {1, 8, 8, 3, 3, 3, 3, 4, 1, 8, 8, 4, 1, 2});
  CheckFeatures(
      "k(f32[8]:aten.split{dim=1}[8,2]) -> () {a=-100, b=0.01, c=1e-05, d_2=true} 3 FLOP, 4 B",
      "k(f32[n]:aten.split{dim=n}[n,n]) -> () {a=n, b=n, c=n, d_2=true} n FLOP, n B",
      {8, 1, 8, 2, -100, 0.01, 1e-5, 3, 4});
  CheckFeatures("k(?[4096B]) -> f32[] {}", "k(?[nB]) -> f32[] {}", {4096});
}

TEST_CASE("tensors that stand there in short are written out") {
  CheckFeatures("AddN(f32[5] x3, f32[], #0) -> f32[5] x2 {}",
                "AddN(f32[n], f32[n], f32[n], f32[], f32[n]) -> f32[n], f32[n] {}",
                {5, 5, 5, 5, 5, 5});
  // Place 3 is the scalar: the three before it are counted.
  CheckFeatures("k(f32[5] x3, i64[], #3 x2) -> f32[] {}",
                "k(f32[n], f32[n], f32[n], i64[], i64[], i64[]) -> f32[] {}",
                {5, 5, 5});
  // The example of FORMAT.md.
  CheckFeatures("aten.cat(f32[8,512] x2, f32[8,64], #0) -> f32[8,1600] {dim=-1}",
                "aten.cat(f32[n,n], f32[n,n], f32[n,n], f32[n,n]) -> f32[n,n] {dim=n}",
                {8, 512, 8, 512, 8, 64, 8, 512, 8, 1600, -1});
  // The same op, whether its tensors happen to be equal or not.
  CHECK(MakeSignatureFeatures("k(f32[2,3] x2) -> f32[2,3] {}").structure ==
        MakeSignatureFeatures("k(f32[2,3], f32[4,3]) -> f32[2,3] {}").structure);
}

TEST_CASE("of more than eight equal tensors the number is told") {
  CheckFeatures("AddN(f32[5] x9, f32[7]) -> f32[5] {}",
                "AddN(f32[n] * n, f32[n]) -> f32[n] {}",
                {5, 9, 7, 5});
  CheckFeatures("AddN(f32[5] x9, i8[7], #9) -> f32[5] {}",
                "AddN(f32[n] * n, i8[n], i8[n]) -> f32[n] {}",
                {5, 9, 7, 7, 5});
}

TEST_CASE("what is no signature is taken as it stands") {
  CheckFeatures("", "", {});
  CheckFeatures("op000012", "op000012", {});
  CheckFeatures("k(f32[5] x3", "k(f32[n] x3", {5});
  CheckFeatures("k(f32[5] x3) -> f32[5]", "k(f32[n] x3) -> f32[n]", {5, 5});
  CheckFeatures("k(#7) -> #0 {}", "k(#n) -> #n {}", {7, 0});
}

TEST_CASE("any text is taken apart: no structure has a number left, and it is its own") {
  Rng rng(3);
  const std::string alphabet = "k(){}[],#x 019.-_e:>B";
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int n = UniformInt(rng, 40); n > 0; --n) {
      text += alphabet[UniformInt(rng, static_cast<int>(alphabet.size()))];
    }
    CAPTURE(text);
    const SignatureFeatures features = MakeSignatureFeatures(text);
    for (const double number : features.numbers) CHECK(std::isfinite(number));
    // Without lists to write out: "n" stands for each number, and nothing else was changed.
    if (text.find('(') != text.npos) continue;
    CHECK(MakeSignatureFeatures(features.structure).structure == features.structure);
    CHECK(features.numbers.size() <= text.size());
  }
}

}  // namespace
