#include "framework/cost/op_kind.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace emplace;

namespace {

TEST_CASE("TensorFlow names, with and without a version") {
  CHECK(ClassifyOp("MatMul") == OpClass::kMatmul);
  CHECK(ClassifyOp("BatchMatMulV2") == OpClass::kMatmul);
  CHECK(ClassifyOp("Conv2D") == OpClass::kConvolution);
  CHECK(ClassifyOp("Conv2DBackpropFilter") == OpClass::kConvolution);
  CHECK(ClassifyOp("DepthwiseConv2dNativeBackpropInput") == OpClass::kConvolution);
  CHECK(ClassifyOp("FusedBatchNormV3") == OpClass::kNormalization);
  CHECK(ClassifyOp("FusedBatchNormGradV3") == OpClass::kNormalization);
  CHECK(ClassifyOp("SparseSoftmaxCrossEntropyWithLogits") == OpClass::kNormalization);
  CHECK(ClassifyOp("AddV2") == OpClass::kElementwise);
  CHECK(ClassifyOp("ReluGrad") == OpClass::kElementwise);
  CHECK(ClassifyOp("BiasAdd") == OpClass::kElementwise);
  CHECK(ClassifyOp("BiasAddGrad") == OpClass::kReduction);
  CHECK(ClassifyOp("UnsortedSegmentSum") == OpClass::kReduction);
  CHECK(ClassifyOp("MaxPoolGrad") == OpClass::kPooling);
  CHECK(ClassifyOp("GatherV2") == OpClass::kGather);
  CHECK(ClassifyOp("ResourceGather") == OpClass::kGather);
  CHECK(ClassifyOp("ConcatV2") == OpClass::kCopy);
  CHECK(ClassifyOp("StridedSliceGrad") == OpClass::kCopy);
  CHECK(ClassifyOp("ApplyAdam") == OpClass::kUpdate);
  CHECK(ClassifyOp("ResourceSparseApplyAdagradV2") == OpClass::kUpdate);
  CHECK(ClassifyOp("AssignSubVariableOp") == OpClass::kUpdate);
  CHECK(ClassifyOp("Reshape") == OpClass::kView);
  CHECK(ClassifyOp("NoOp") == OpClass::kView);
  CHECK(ClassifyOp("parameter") == OpClass::kView);
  CHECK(ClassifyOp("constant") == OpClass::kView);
}

TEST_CASE("ATen names, with and without overload and underscore") {
  CHECK(ClassifyOp("aten.addmm") == OpClass::kMatmul);
  CHECK(ClassifyOp("aten::mm") == OpClass::kMatmul);
  CHECK(ClassifyOp("aten._scaled_dot_product_flash_attention_for_cpu_backward") ==
        OpClass::kMatmul);
  CHECK(ClassifyOp("aten.convolution_backward") == OpClass::kConvolution);
  CHECK(ClassifyOp("aten.add.Tensor") == OpClass::kElementwise);
  CHECK(ClassifyOp("aten.relu_") == OpClass::kElementwise);
  CHECK(ClassifyOp("aten.sum.dim_IntList") == OpClass::kReduction);
  CHECK(ClassifyOp("aten._native_batch_norm_legit_functional") == OpClass::kNormalization);
  CHECK(ClassifyOp("aten.native_layer_norm_backward") == OpClass::kNormalization);
  CHECK(ClassifyOp("aten._softmax") == OpClass::kNormalization);
  CHECK(ClassifyOp("aten.max_pool2d_with_indices_backward") == OpClass::kPooling);
  CHECK(ClassifyOp("aten.embedding_dense_backward") == OpClass::kGather);
  CHECK(ClassifyOp("aten.cat") == OpClass::kCopy);
  CHECK(ClassifyOp("optimizer.adamw") == OpClass::kUpdate);
  CHECK(ClassifyOp("aten.view") == OpClass::kView);
  CHECK(ClassifyOp("aten.t") == OpClass::kView);
}

TEST_CASE("ONNX names, with and without a domain") {
  CHECK(ClassifyOp("onnx.Conv") == OpClass::kConvolution);
  CHECK(ClassifyOp("onnx.QLinearConv") == OpClass::kConvolution);
  CHECK(ClassifyOp("onnx.MatMul") == OpClass::kMatmul);
  CHECK(ClassifyOp("onnx.MatMulInteger") == OpClass::kMatmul);
  CHECK(ClassifyOp("onnx.com.microsoft.MultiHeadAttention") == OpClass::kMatmul);
  CHECK(ClassifyOp("onnx.com.microsoft.nchwc.Conv") == OpClass::kConvolution);
  CHECK(ClassifyOp("onnx.Relu") == OpClass::kElementwise);
  CHECK(ClassifyOp("onnx.DequantizeLinear") == OpClass::kElementwise);
  CHECK(ClassifyOp("onnx.ReduceMean") == OpClass::kReduction);
  CHECK(ClassifyOp("onnx.LayerNormalization") == OpClass::kNormalization);
  CHECK(ClassifyOp("onnx.com.microsoft.SkipLayerNormalization") == OpClass::kNormalization);
  CHECK(ClassifyOp("onnx.MaxPool") == OpClass::kPooling);
  CHECK(ClassifyOp("onnx.GatherElements") == OpClass::kGather);
  CHECK(ClassifyOp("onnx.ScatterND") == OpClass::kGather);
  CHECK(ClassifyOp("onnx.Transpose") == OpClass::kCopy);
  CHECK(ClassifyOp("onnx.ai.onnx.preview.training.Adam") == OpClass::kUpdate);
  CHECK(ClassifyOp("onnx.Reshape") == OpClass::kView);
  CHECK(ClassifyOp("onnx.Loop") == OpClass::kUnknown);
}

TEST_CASE("names of JAX's primitives") {
  CHECK(ClassifyOp("jax.dot_general") == OpClass::kMatmul);
  CHECK(ClassifyOp("jax.conv_general_dilated") == OpClass::kConvolution);
  CHECK(ClassifyOp("jax.add_any") == OpClass::kElementwise);
  CHECK(ClassifyOp("jax.reduce_sum") == OpClass::kReduction);
  CHECK(ClassifyOp("jax.reduce_window_max") == OpClass::kPooling);
  CHECK(ClassifyOp("jax.select_and_scatter_add") == OpClass::kPooling);
  CHECK(ClassifyOp("jax.scatter-add") == OpClass::kGather);
  CHECK(ClassifyOp("jax.broadcast_in_dim") == OpClass::kCopy);
  CHECK(ClassifyOp("jax.squeeze") == OpClass::kView);
  CHECK(ClassifyOp("jax.scan") == OpClass::kUnknown);
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
