// clang-format off
#include "tests/profilers/cuda/kernels/on_host.h"  // the own kernels of the other tests
// clang-format on
#include <filesystem>

#include <doctest/doctest.h>

#include "framework/graph/graph_io.h"
#include "profilers/cuda/kernels/own_kernels.h"
#include "profilers/kernels/op_work.h"
#include "tests/support/paths.h"

#undef cuda  // the layouts for the libraries are plain C++
#include "profilers/cuda/kernels/conv_layout.h"
#include "profilers/cuda/kernels/gemm_layout.h"

using namespace emplace;

namespace {

// Whatever stands between a call and its kernel, short of the libraries themselves.
void Plan(const KernelCall& call) {
  const auto view = [&](bool of_outputs, int i) -> const TensorView& {
    return (of_outputs ? call.outputs : call.inputs)[i].view;
  };
  const auto plan = [&](const TensorView& x, const TensorView& w, const TensorView& y) {
    cuda::PlanConvolution(x, w, y, call.params, cuda::PrefersChannelsLast(x, y));
  };
  switch (call.kind) {
    case KernelKind::kMatmul:
      cuda::PlanGemm(view(false, 0),
                     view(false, 1),
                     view(true, 0),
                     call.inputs.size() > 2 ? &view(false, 2) : nullptr);
      break;
    case KernelKind::kConvForward:
      plan(view(false, 0), view(false, 1), view(true, 0));
      break;
    case KernelKind::kConvBackwardData:
      plan(view(true, 0), view(false, 1), view(false, 0));
      break;
    case KernelKind::kConvBackwardFilter:
      plan(view(false, 0), view(true, 0), view(false, 1));
      break;
    default:
      cuda_on_host::PrepareOwnKernel(call);
  }
}

TEST_CASE("every call of the committed graphs is planned") {
  int calls = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(testing::SourceDir() / "configs/graphs")) {
    if (file.path().extension() != ".gz") continue;
    CAPTURE(file.path().filename().string());
    const Graph graph = ReadGraph(file.path());
    for (int op = 0; op < graph.num_ops(); ++op) {
      for (const KernelCall& call : WorkOf(graph, op).calls) {
        CAPTURE(graph.op(op).name);
        CHECK_NOTHROW(Plan(call));
        ++calls;
      }
    }
  }
  CHECK(calls > 10000);
}

}  // namespace
