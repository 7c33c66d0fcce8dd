// The committed graphs against published figures, and the table of configs/graphs/README.md against
// the graphs (`scripts/update_golden` rewrites the table).

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/file.h"
#include "framework/cost/op_kind.h"
#include "framework/graph/coarsen.h"
#include "framework/graph/graph_io.h"
#include "tests/support/paths.h"

namespace {

using namespace emplace;
using namespace emplace::testing;

const std::filesystem::path kFolder = SourceDir() / "configs" / "graphs";

struct Figures {
  std::string name, model;
  int batch = 0, ops = 0, tensors = 0, groups = 0;
  double parameters = 0;
  double macs = 0;           // of matrix products and convolutions, forward, per sample
  double forward_flops = 0;  // of everything, forward, whole batch
};

Figures FiguresOf(const Graph& graph) {
  Figures f;
  const auto source = nlohmann::json::parse(graph.source());
  f.name = graph.name();
  f.model = source.at("model");
  f.batch = source.at("batch");
  f.ops = graph.num_ops();
  f.tensors = graph.num_tensors();
  f.groups = ColocateByLabel(graph, Grouping::Identity(graph.num_ops())).num_groups();
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.role != TensorRole::kParameter || tensor.alias_of >= 0) continue;
    double size = 1;
    for (auto extent : tensor.shape) size *= static_cast<double>(extent);
    f.parameters += size;
  }
  for (const Op& op : graph.ops()) {
    if (op.phase != Phase::kForward) continue;
    f.forward_flops += op.flops;
    const OpClass op_class = ClassifyOp(op.kind);
    if (op_class == OpClass::kMatmul || op_class == OpClass::kConvolution) {
      f.macs += op.flops / 2 / f.batch;
    }
  }
  return f;
}

std::vector<std::filesystem::path> GraphFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().string().ends_with(".json.gz")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Graph Read(const std::string& name) {
  return ReadGraph(kFolder / (name + ".json.gz"));
}

// Parameters are exact; multiply-adds per sample within 2 %.
void CheckPublished(const std::string& name, double parameters, double giga_macs) {
  CAPTURE(name);
  const Figures f = FiguresOf(Read(name));
  CHECK(f.parameters == parameters);
  CHECK(f.macs / 1e9 == doctest::Approx(giga_macs).epsilon(0.02));
}

TEST_CASE("image models match their published parameters and multiply-adds") {
  // Szegedy et al. 2016: 5.72 GMAC at 299x299, 23.83 M parameters, with the auxiliary head 27.16 M.
  CheckPublished("inception_v3", 27'161'264, 5.72);
  CheckPublished("inception_v3_torch", 27'161'264, 5.72);
  CheckPublished("inception_v3_b1", 27'161'264, 5.72);
  // He et al. 2016; torchvision's v1.5: 4.09 GMAC at 224x224, 25.557 M parameters.
  CheckPublished("resnet50", 25'557'032, 4.09);
  CheckPublished("resnet50_torch", 25'557'032, 4.09);
  CheckPublished("resnet50_b1_torch", 25'557'032, 4.09);
  // 11.51 GMAC, 60.193 M parameters.
  CheckPublished("resnet152", 60'192'808, 11.51);
  CheckPublished("resnet152_b32", 60'192'808, 11.51);
  // Zoph et al. 2018, NASNet-A (4 @ 1056): 564 MMAC, 5.3 M parameters.
  CheckPublished("nasnet", 5'289'978, 0.564);
}

// Two LSTM layers of (2h x 4h + 4h), embedding, softmax, over `steps` words.
void CheckRnnlm(const std::string& name, double h, double words, double steps) {
  const double layer = 2 * h * 4 * h;
  CheckPublished(name,
                 words * h + 2 * (layer + 4 * h) + h * words + words,
                 steps * (2 * layer + h * words) / 1e9);
}

// Encoder `layers` layers, decoder as many (the first also reads the attention), additive attention
// (memory, query, score), combination of context and output, softmax; width w.
void CheckNmt(const std::string& name, double layers, double w, double words, double steps) {
  const double plain = 2 * w * 4 * w, fed = 3 * w * 4 * w;
  CheckPublished(
      name,
      2 * words * w + (2 * layers - 1) * (plain + 4 * w) + fed + 4 * w + 2 * w * w + 2 * w * w + w +
          (w * words + words),
      steps *
          ((2 * layers - 1) * plain + fed + w * w + w * w + steps * 2 * w + 2 * w * w + w * words) /
          1e9);
}

TEST_CASE("recurrent models match their formulas") {
  CheckRnnlm("rnnlm", 2048, 10'000, 40);
  CheckRnnlm("rnnlm_h384", 384, 10'000, 20);
  CheckNmt("nmt", 2, 1024, 32'000, 40);
  CheckNmt("nmt_h256", 2, 256, 8'000, 12);
  CheckNmt("nmt4", 4, 1024, 32'000, 50);
  CheckNmt("nmt8", 8, 1024, 32'000, 50);
}

// GPT-2 (Radford et al. 2019) of width d with a tied embedding: per token 12 d^2 a layer, attention
// 2 * tokens * d a layer, the head.
double Gpt2Macs(double layers, double d, double tokens, double words) {
  return tokens * (layers * 12 * d * d + layers * 2 * tokens * d + words * d) / 1e9;
}

TEST_CASE("transformers match their formulas") {
  CheckPublished("gpt2_small_torch", 124'439'808, Gpt2Macs(12, 768, 1024, 50'257));
  // Embeddings (8192 + 1024) d, a layer 12 d^2 + 13 d, the last norm 2 d; d = 256.
  CheckPublished("gpt2_mini_torch", 5'518'848, Gpt2Macs(4, 256, 128, 8'192));
  // BERT-base (Devlin et al. 2019), 128 tokens, with the masked-language head (d^2 + 30,522 d).
  const double d = 768, tokens = 128;
  CheckPublished("bert_base_torch",
                 109'514'298,
                 tokens * (12 * 12 * d * d + 12 * 2 * tokens * d + d * d + 30'522 * d) / 1e9);
}

TEST_CASE("every committed graph is small, acyclic, and every op of it has a class") {
  std::uintmax_t total = 0;
  for (const auto& file : GraphFiles()) {
    CAPTURE(file);
    total += std::filesystem::file_size(file);
    int warnings = 0;
    const Graph graph = ReadGraph(file, [&](const std::string&) { ++warnings; });
    CHECK(warnings == 0);
    CHECK(graph.name() + ".json.gz" == file.filename().string());
    int unknown = 0;
    double backward = 0, forward = 0;
    for (const Op& op : graph.ops()) {
      unknown += ClassifyOp(op.kind) == OpClass::kUnknown && !op.IsStorage();
      if (op.phase == Phase::kForward) forward += op.flops;
      if (op.phase == Phase::kBackward) backward += op.flops;
    }
    CHECK(unknown == 0);
    CHECK(backward / forward == doctest::Approx(2).epsilon(0.05));
  }
  CHECK(total < 25'000'000);
}

TEST_CASE("the table in configs/graphs/README.md says what the files hold") {
  std::string table =
      "| graph | model | batch | ops | tensors | groups | parameters | forward FLOPs | GMAC per "
      "sample |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& file : GraphFiles()) {
    const Figures f = FiguresOf(ReadGraph(file));
    table += fmt::format("| `{}` | {} | {} | {} | {} | {} | {:.0f} | {:.4g} G | {:.4g} |\n",
                         f.name,
                         f.model,
                         f.batch,
                         f.ops,
                         f.tensors,
                         f.groups,
                         f.parameters,
                         f.forward_flops / 1e9,
                         f.macs / 1e9);
  }
  const auto path = kFolder / "README.md";
  std::string page = ReadFile(path);
  const std::string begin_mark = "<!-- table -->\n", end_mark = "<!-- end of table -->\n";
  const size_t begin = page.find(begin_mark), end = page.find(end_mark);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const size_t from = begin + begin_mark.size();
  if (std::getenv("EMPLACE_UPDATE_GOLDEN") != nullptr) {
    page.replace(from, end - from, table);
    WriteFileAtomically(path, page);
  } else {
    CHECK(page.substr(from, end - from) == table);
  }
}

}  // namespace
