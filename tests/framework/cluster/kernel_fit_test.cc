#include "framework/cluster/kernel_fit.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cluster/device_kind_io.h"
#include "framework/config/config_node.h"
#include "tests/support/paths.h"

using namespace emplace;

namespace {

const std::string kFit =
    "{dtype: f32, watts: 20, tile_start: 10, tiles: [{rows: 64, columns: 64, share: 1}, {rows: 32, "
    "columns: 32, share: 0.25}], bandwidth: {elementwise: 0.8, matmul: 0.5}, start: 2us, error: "
    "0.1}";

// 10 TFLOP/s at 50 W, of which 200 W would be needed: half of the peak is sustained.
std::string KindText(const std::string& fitted, const std::string& power = "50") {
  return "k: {class: gpu, peak: {f32: 10TFLOP/s}, memory_bandwidth: 100GB/s, multiprocessors: 4, "
         "power: " +
         power + ", fitted: " + fitted + "}";
}

DeviceKind Kind(const std::string& fitted, const std::string& power = "50") {
  return ParseDeviceKinds(ConfigNode::FromString(KindText(fitted, power), "kinds")).at("k");
}

std::string Refusal(const std::string& text) {
  return testing::MessageOf<InputError>(
      [&] { ParseDeviceKinds(ConfigNode::FromString(text, "kinds")); });
}

KernelFitEntry Entry(const DeviceKind& kind, const std::string& op_kind, OpClass op_class) {
  return FindKernelFit(kind, "f32", op_kind, op_class);
}

void CheckFitRefused(const std::string& from, const std::string& to, const std::string& message) {
  std::string fit = kFit;
  const size_t place = fit.find(from);
  REQUIRE(place != std::string::npos);
  fit.replace(place, from.size(), to);
  const std::string refusal = Refusal(KindText(fit));
  INFO(refusal);
  CHECK(refusal.find(message) != std::string::npos);
}

}  // namespace

TEST_CASE("a product takes whole waves of the tile that is done first") {
  const DeviceKind kind = Kind(kFit);
  CHECK(SustainedShare(kind, kind.fitted.at(0)) == 0.5);
  const auto time = [&](double batch, double rows, double columns, double depth) {
    const double flops = 2 * batch * rows * columns * depth;
    return FittedKernelTime(kind,
                            Entry(kind, "MatMul", OpClass::kMatmul),
                            OpClass::kMatmul,
                            {batch, rows, columns},
                            flops,
                            1000);
  };
  // 2 * 2 * 1 blocks of 64 x 64 on 4 multiprocessors: one wave of 2 * 4 * 64 * 64 * (990 + 10)
  // FLOP at 5 TFLOP/s. In tiles of 32 x 32: 4 times the waves at a quarter of the rate, but a
  // quarter of the FLOP each.
  CHECK(time(1, 128, 128, 990) == doctest::Approx(2000 + 32768.0 * 1000 / 5e12 * 1e9));
  // 5 blocks need a second wave, and so do 8.
  CHECK(time(5, 64, 64, 990) == doctest::Approx(2000 + 2 * 32768.0 * 1000 / 5e12 * 1e9));
  CHECK(time(8, 64, 64, 990) == time(5, 64, 64, 990));
  // One block of 32 x 32 at a quarter of the rate takes as long as one of 64 x 64; of 33 x 32 the
  // larger tile is done first.
  CHECK(time(1, 33, 32, 990) == time(1, 64, 64, 990));
  // 64 products of [32, 1] and [1, 32]: the start of the tiles, 16 waves of either size.
  CHECK(time(64, 32, 32, 1) == doctest::Approx(2000 + 16 * 32768.0 * 11 / 5e12 * 1e9));
}

TEST_CASE("bytes bound the time of every class, and a kernel without work takes its start") {
  const DeviceKind kind = Kind(kFit);
  const auto time = [&](OpClass op_class, double bytes) {
    return FittedKernelTime(kind, Entry(kind, "Op", op_class), op_class, {1, 1, 1}, 2, bytes);
  };
  CHECK(time(OpClass::kElementwise, 8e6) == doctest::Approx(2000 + 8e6 / 80));  // 100 GB/s * 0.8
  CHECK(time(OpClass::kMatmul, 8e6) == doctest::Approx(2000 + 8e6 / 50));
  CHECK(time(OpClass::kElementwise, 0) == 2000);
}

TEST_CASE("FLOPs bound the time of classes in `compute`, and `starts` replaces the start") {
  const DeviceKind kind = Kind(
      "{dtype: f32, watts: 20, bandwidth: {convolution: 0.8, update: 0.5}, compute: {convolution: "
      "0.4}, starts: {convolution: 30us, update: 0ns}, start: 2us, error: 0.1}");
  const auto time = [&](OpClass op_class, double flops, double bytes) {
    return FittedKernelTime(kind, Entry(kind, "Op", op_class), op_class, {1, 1, 1}, flops, bytes);
  };
  // Half of 10 TFLOP/s is sustained, 0.4 of that is reached; 100 GB/s * 0.8.
  CHECK(time(OpClass::kConvolution, 4e9, 8) == doctest::Approx(30000 + 4e9 / 2e12 * 1e9));
  CHECK(time(OpClass::kConvolution, 4, 8e6) == doctest::Approx(30000 + 8e6 / 80));
  CHECK(time(OpClass::kUpdate, 4e9, 5e6) == doctest::Approx(5e6 / 50));
}

TEST_CASE("products without tiles take the share in `compute`, or their bytes alone") {
  const DeviceKind kind = Kind(
      "{dtype: f32, watts: 20, bandwidth: {matmul: 0.5, aten.bmm: 0.5}, compute: {matmul: 0.4}, "
      "start: 2us, error: 0.1}");
  const auto time = [&](const std::string& op_kind) {
    const KernelFitEntry entry = Entry(kind, op_kind, OpClass::kMatmul);
    return FittedKernelTime(kind, entry, OpClass::kMatmul, {1, 8, 8}, 4e9, 8e6);
  };
  CHECK(time("aten.mm") == doctest::Approx(2000 + 4e9 / 2e12 * 1e9));  // 0.4 of 5 TFLOP/s
  CHECK(time("aten.bmm") == doctest::Approx(2000 + 8e6 / 50));         // 100 GB/s * 0.5
}

TEST_CASE("a kind of op counts before its class, and the first fit with either") {
  const auto fit = [](const std::string& dtype, const std::string& bandwidth) {
    return "{dtype: " + dtype + ", watts: 20, bandwidth: {" + bandwidth +
           "}, start: 0ns, error: 0}";
  };
  DeviceKind kind = Kind("[" + fit("f32", "reduction: 0.1, update: 0.2") + ", " +
                         fit("f32", "aten.sum: 0.3, update: 0.4") + "]");
  REQUIRE(kind.fitted.size() == 2);
  const KernelFitEntry sum = Entry(kind, "aten.sum", OpClass::kReduction);
  CHECK(sum.fit == &kind.fitted[1]);
  CHECK(sum.key == "aten.sum");
  const KernelFitEntry mean = Entry(kind, "aten.mean", OpClass::kReduction);
  CHECK(mean.fit == &kind.fitted[0]);
  CHECK(mean.key == "reduction");
  CHECK(Entry(kind, "optimizer.sgd", OpClass::kUpdate).fit == &kind.fitted[0]);
  CHECK(Entry(kind, "aten.add", OpClass::kElementwise).fit == nullptr);
  CHECK(FindKernelFit(kind, "bf16", "aten.sum", OpClass::kReduction).fit == nullptr);
  const std::string text = "device_kinds:\n" + FormatDeviceKind(kind);
  INFO(text);
  const ConfigNode node = ConfigNode::FromString(text, "again").At("device_kinds");
  CHECK(ParseDeviceKinds(node).at("k").fitted == kind.fitted);
}

TEST_CASE("enough power sustains the peak") {
  for (const char* power : {"200", "1000"}) {
    const DeviceKind kind = Kind(kFit, power);
    CHECK(SustainedShare(kind, kind.fitted.at(0)) == 1);
  }
}

TEST_CASE("a fit reads back equal, in a cluster file as well") {
  const KernelFit fit = Kind(kFit).fitted.at(0);
  CHECK(ParseKernelFit(ConfigNode::FromString(FormatKernelFit(fit), "fit")) == fit);
  const Cluster cluster =
      ParseCluster(ConfigNode::FromString("name: c\ndevice_kinds: {" + KindText(kFit) +
                                              "}\ndevices: [{name: d, kind: k}]\n",
                                          "c.yaml"),
                   {});
  const Cluster again =
      ParseCluster(ConfigNode::FromString(FormatCluster(cluster), "again.yaml"), {});
  CHECK(again.kind_of(0).fitted == std::vector<KernelFit>{fit});
  CHECK(again.kind_of(0).power == 50);
  CHECK(again.kind_of(0).multiprocessors == 4);
}

TEST_CASE("kinds of a folder name fits of any of its files") {
  const testing::TempDir folder;
  const std::string fits = "kernel_fits: {vendor: " + kFit + "}\n";
  std::ofstream(folder / "z.yaml") << fits;
  std::ofstream(folder / "a.yaml") << "device_kinds: {" + KindText("vendor") + "}\n";
  const auto library = ReadDeviceKinds(folder.path());
  KernelFit named = Kind(kFit).fitted.at(0);
  named.name = "vendor";
  CHECK(library.at("k").fitted == std::vector<KernelFit>{named});
  // So do the kinds of a cluster file.
  const auto cluster = [&](const std::string& fitted) {
    return ParseCluster(ConfigNode::FromString("name: c\ndevice_kinds: {" + KindText(fitted) +
                                                   "}\ndevices: [{name: d, kind: k}]\n",
                                               "c.yaml"),
                        library);
  };
  CHECK(cluster("vendor").kind_of(0).fitted == std::vector<KernelFit>{named});
  CHECK(ParseCluster(ConfigNode::FromString(FormatCluster(cluster("vendor")), "again.yaml"), {})
            .kind_of(0)
            .fitted == std::vector<KernelFit>{named});
  CHECK(testing::MessageOf<InputError>([&] {
          cluster("vendors");
        }).find("unknown fit \"vendors\"; did you mean \"vendor\"?") != std::string::npos);
  std::ofstream(folder / "b.yaml") << fits;
  const std::string twice = testing::MessageOf<InputError>([&] { ReadDeviceKinds(folder.path()); });
  CHECK(twice.find("z.yaml:1:23: kernel_fits.vendor: duplicate fit \"vendor\"") !=
        std::string::npos);
}

TEST_CASE("a wrong value of a fit is refused at its place") {
  CHECK(Refusal(KindText("vendor")).find("unknown fit \"vendor\"") != std::string::npos);
  CHECK(
      Refusal("k: {class: gpu, peak: {f32: 1TFLOP/s}, memory_bandwidth: 1GB/s, power: 9, fitted: " +
              kFit + "}")
          .find("k.fitted: expected a kind with peak of f32, memory_bandwidth, multiprocessors "
                "and power") != std::string::npos);
  CHECK(Refusal("k: {class: gpu, multiprocessors: 0}").find("expected a number from 1 to 65536") !=
        std::string::npos);
  CHECK(Refusal("k: {class: gpu, power: 0}").find("expected watts above 0, got 0") !=
        std::string::npos);
  CheckFitRefused("dtype: f32", "dtype: f31", "unknown element type \"f31\"");
  CheckFitRefused("watts: 20", "watts: 0", "fitted.watts: expected at least 0.001, got 0");
  CheckFitRefused("tile_start: 10", "tile_start: -1", "expected at least 0, got -1");
  CheckFitRefused("rows: 64", "rows: 0", "tiles.0.rows: expected a number from 1 to 4096, got 0");
  CheckFitRefused("share: 1}", "share: 1.5}", "expected a share in (0, 1], got 1.5");
  CheckFitRefused("elementwise: 0.8", "views: 0.8", "unknown key \"views\"");
  CheckFitRefused(", start", ", compute: {pooling: 0.5}, start", "unknown key \"pooling\"");
  CheckFitRefused(", start", ", starts: {matmul: 1}, start", "fitted.starts.matmul: ");
  CheckFitRefused("start: 2us, ", "", "the required key \"start\" is missing");
}
