#pragma once

// A small training step of real ops, and this machine's profile of it: what the commands that
// execute placements are tested with. Devices are CPU cores: two, or one where there is only one.

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "framework/cost/cost_table.h"
#include "framework/graph/graph_io.h"
#include "profilers/cpu/cpu_backend.h"
#include "profilers/measure/profile.h"
#include "tests/experiments/program_files.h"
#include "tests/support/words.h"

namespace emplace::testing {

/// Forward, backward and update of a perceptron of three layers without biases, as the PyTorch
/// exporter writes it.
class Perceptron {
 public:
  Perceptron() {
    const std::vector<int> widths = {16, 48, 32, 8};
    int x = AddTensor("x", {kBatch, widths[0]}, TensorRole::kInput);
    for (int layer = 0; layer < 3; ++layer) {
      const std::string name = "fc" + std::to_string(layer);
      const int w = AddOp(name + ".weight", "parameter", {}, {widths[layer + 1], widths[layer]});
      tensors_[w].role = TensorRole::kParameter;
      ops_.back().colocate = name;
      const int t = AddView(name + "/t", w, {widths[layer], widths[layer + 1]});
      const int h = AddOp(name + "/mm", "aten.mm", {x, t}, {kBatch, widths[layer + 1]});
      const int y = AddOp(name + "/relu", "aten.relu", {h}, {kBatch, widths[layer + 1]});
      layers_.push_back({name, x, w, t, y});
      x = y;
    }
    int gradient = AddOp("loss", "aten.ones_like", {x}, tensors_[x].shape);
    for (int layer = 2; layer >= 0; --layer) gradient = AddBackward(layers_[layer], gradient);
  }

  Graph Build(const std::string& name = "perceptron") const { return {name, tensors_, ops_}; }
  std::string Json(const std::string& name = "perceptron") const {
    return FormatGraph(Build(name));
  }

 private:
  static constexpr std::int64_t kBatch = 8;
  struct Layer {
    std::string name;
    int x, w, t, y;
  };

  int AddTensor(const std::string& name,
                std::vector<std::int64_t> shape,
                TensorRole role = TensorRole::kActivation) {
    std::int64_t bytes = 4;
    for (const std::int64_t size : shape) bytes *= size;
    Tensor tensor{.name = name, .shape = std::move(shape), .dtype = "f32", .bytes = bytes};
    tensor.role = role;
    tensors_.push_back(std::move(tensor));
    return static_cast<int>(tensors_.size()) - 1;
  }

  // @return its output
  int AddOp(const std::string& name,
            const std::string& kind,
            std::vector<int> inputs,
            std::vector<std::int64_t> shape) {
    const int output = AddTensor(name, std::move(shape));
    Op op{.name = name, .kind = kind, .inputs = std::move(inputs), .outputs = {output}};
    if (kind == "aten.mm") {
      const std::int64_t inner = tensors_[op.inputs[0]].shape[1];
      op.flops = 2.0 * static_cast<double>(tensors_[output].bytes / 4 * inner);
    }
    ops_.push_back(std::move(op));
    return output;
  }

  int AddView(const std::string& name, int of, std::vector<std::int64_t> shape) {
    const int view = AddOp(name, "aten.t", {of}, std::move(shape));
    tensors_[view].alias_of = of;
    ops_.back().bytes_accessed = 0;
    return view;
  }

  // @return the gradient of the layer's input
  int AddBackward(const Layer& layer, int gradient) {
    const std::string name = layer.name + "/backward/";
    const auto& out = tensors_[layer.y].shape;
    const int dh = AddOp(name + "threshold", "aten.threshold_backward", {gradient, layer.y}, out);
    ops_.back().attributes = R"({"threshold": 0})";
    const int dt = AddView(name + "t", dh, {out[1], out[0]});
    const int dw = AddOp(name + "dw", "aten.mm", {dt, layer.x}, tensors_[layer.w].shape);
    const int dx = AddOp(name + "dx", "aten.mm", {dh, layer.w}, tensors_[layer.x].shape);
    const int updated =
        AddOp(layer.name + ".weight/sgd", "optimizer.sgd", {layer.w, dw}, tensors_[layer.w].shape);
    tensors_[updated].role = TensorRole::kParameter;
    tensors_[updated].alias_of = layer.w;
    ops_.back().attributes = R"({"lr": 0.001})";
    ops_.back().colocate = layer.name;
    ops_.back().phase = Phase::kUpdate;
    return dx;
  }

  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<Layer> layers_;
};

/// A folder with g.json and, measured by `emplace profile`, costs.json and costs.cluster.yaml.
struct MeasuredMachine {
  TempDir folder;
  ProcessResult profile;

  explicit MeasuredMachine(std::vector<std::string> more = {"--quiet"}) {
    WriteText(folder / "g.json", Perceptron().Json());
    profile = Profile(std::move(more));
    if (std::filesystem::exists(folder / "costs.json")) ForgetDrift();
  }

  /// Removes from the costs that the machine drifted, which is up to whatever else it does:
  /// commands that read them would warn.
  void ForgetDrift() const {
    CostTable costs = ReadCostTable(folder / "costs.json");
    costs.properties.erase(kDriftProperty);
    WriteText(folder / "costs.json", FormatCostTable(costs));
  }

  /// The CPU devices of this machine that tests use.
  static std::vector<std::string> Devices() {
    std::vector<std::string> names = {"cpu:0"};
    if (AllowedCores().size() > 1) names.emplace_back("cpu:1");
    return names;
  }
  static std::string DeviceList() { return Devices().size() == 2 ? "cpu:0,cpu:1" : "cpu:0"; }

  ProcessResult Run(std::vector<std::string> arguments) const {
    return RunEmplace(std::move(arguments), {.folder = folder.path()});
  }

  /// As short as a profile can be, whatever else the machine does.
  ProcessResult Profile(std::vector<std::string> more) const {
    std::vector<std::string> arguments =
        Words("profile --graph g.json --seconds 0.002 --no-links --no-interference --allow-drift");
    arguments.insert(arguments.end(), {"--devices", DeviceList()});
    if (std::ranges::find(more, "--in-situ") == more.end()) {
      arguments.insert(arguments.end(), {"--in-situ", "4"});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments));
  }

  /// `emplace run` with these costs. @param output  results file
  ProcessResult Search(const std::string& output, std::vector<std::string> more = {}) const {
    WriteText(folder / "run.yaml",
              "graph: g.json\ncluster: costs.cluster.yaml\ncosts: costs.json\nsemantics: stream\n"
              "agents:\n  - heft\n  - {name: etf, devices: all}\n"
              "  - {name: contiguous, devices: all}\n  - hill_climb\nseeds: [0, 1]\n"
              "budget: {evaluations: 200}\n");
    std::vector<std::string> arguments = {"run", "run.yaml", "-o", output, "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments));
  }
};

}  // namespace emplace::testing
