#include "framework/cost/op_kind.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("a name of each class and framework, with versions, overloads and domains") {
  const std::vector<std::pair<const char*, OpClass>> names = {
      {"BatchMatMulV2", OpClass::kMatmul},
      {"aten::mm", OpClass::kMatmul},
      {"aten._scaled_dot_product_flash_attention_for_cpu_backward", OpClass::kMatmul},
      {"onnx.com.microsoft.MultiHeadAttention", OpClass::kMatmul},
      {"jax.dot_general", OpClass::kMatmul},
      {"DepthwiseConv2dNativeBackpropInput", OpClass::kConvolution},
      {"aten.convolution_backward", OpClass::kConvolution},
      {"onnx.com.microsoft.nchwc.Conv", OpClass::kConvolution},
      {"jax.conv_general_dilated", OpClass::kConvolution},
      {"FusedBatchNormGradV3", OpClass::kNormalization},
      {"aten._native_batch_norm_legit_functional", OpClass::kNormalization},
      {"onnx.com.microsoft.SkipLayerNormalization", OpClass::kNormalization},
      {"BiasAdd", OpClass::kElementwise},
      {"aten.add.Tensor", OpClass::kElementwise},
      {"aten.relu_", OpClass::kElementwise},
      {"onnx.DequantizeLinear", OpClass::kElementwise},
      {"jax.add_any", OpClass::kElementwise},
      {"BiasAddGrad", OpClass::kReduction},
      {"aten.sum.dim_IntList", OpClass::kReduction},
      {"onnx.ReduceMean", OpClass::kReduction},
      {"jax.reduce_sum", OpClass::kReduction},
      {"MaxPoolGrad", OpClass::kPooling},
      {"aten.max_pool2d_with_indices_backward", OpClass::kPooling},
      {"onnx.MaxPool", OpClass::kPooling},
      {"jax.select_and_scatter_add", OpClass::kPooling},
      {"ResourceGather", OpClass::kGather},
      {"aten.embedding_dense_backward", OpClass::kGather},
      {"onnx.ScatterND", OpClass::kGather},
      {"jax.scatter-add", OpClass::kGather},
      {"ConcatV2", OpClass::kCopy},
      {"aten.cat", OpClass::kCopy},
      {"onnx.Transpose", OpClass::kCopy},
      {"jax.broadcast_in_dim", OpClass::kCopy},
      {"ResourceSparseApplyAdagradV2", OpClass::kUpdate},
      {"optimizer.adamw", OpClass::kUpdate},
      {"onnx.ai.onnx.preview.training.Adam", OpClass::kUpdate},
      {"parameter", OpClass::kView},
      {"NoOp", OpClass::kView},
      {"aten.t", OpClass::kView},
      {"onnx.Reshape", OpClass::kView},
      {"jax.squeeze", OpClass::kView},
      {"onnx.Loop", OpClass::kUnknown},
      {"jax.scan", OpClass::kUnknown}};
  for (const auto& [kind, op_class] : names) CHECK_MESSAGE(ClassifyOp(kind) == op_class, kind);
}

TEST_CASE("a name never heard of is unknown") {
  for (const std::string kind : {"",
                                 "aten.",
                                 "aten.frobnicate",
                                 "Frobnicate",
                                 "V2",
                                 "matmul",
                                 "mm",
                                 "onnx.",
                                 "onnx.Frobnicate",
                                 "onnx.dot_general",
                                 "jax.",
                                 "jax.frobnicate",
                                 "jax.Conv",
                                 "Gemm"}) {
    INFO(kind);
    CHECK(ClassifyOp(kind) == OpClass::kUnknown);
  }
}

TEST_CASE("a whole name has precedence over a beginning of names") {
  CHECK(ClassifyOp("aten._foreach_add") == OpClass::kUpdate);      // _foreach_*
  CHECK(ClassifyOp("aten._foreach_norm") == OpClass::kReduction);  // a name of its own
}

TEST_CASE("a kind tells its origin, its name and the op of which it is a variant") {
  const auto check =
      [](std::string_view kind, OpOrigin origin, std::string_view name, std::string_view base) {
        INFO(kind);
        const OpName op = ParseOpKind(kind);
        CHECK(op.origin == origin);
        CHECK(op.name == name);
        CHECK(op.base == base);
        CHECK(AtenName(kind) == (origin == OpOrigin::kAten ? name : ""));
      };
  check("aten.add.Tensor", OpOrigin::kAten, "add", "add");
  check("aten::relu_", OpOrigin::kAten, "relu_", "relu");
  check("aten.", OpOrigin::kAten, "", "");
  check("optimizer.adam", OpOrigin::kOptimizer, "optimizer.adam", "optimizer.adam");
  check("AddV2", OpOrigin::kTensorFlow, "AddV2", "Add");
  check("Conv2D", OpOrigin::kTensorFlow, "Conv2D", "Conv2D");
  check("V2", OpOrigin::kTensorFlow, "V2", "V2");
  check("aten", OpOrigin::kTensorFlow, "aten", "aten");
  check("onnx.Conv", OpOrigin::kOnnx, "Conv", "Conv");
  check("onnx.com.microsoft.FusedConv", OpOrigin::kOnnx, "com.microsoft.FusedConv", "FusedConv");
  check("onnx.", OpOrigin::kOnnx, "", "");
  check("onnx", OpOrigin::kTensorFlow, "onnx", "onnx");
  check("jax.scatter-add", OpOrigin::kJax, "scatter-add", "scatter-add");
  check("", OpOrigin::kTensorFlow, "", "");
}

}  // namespace
