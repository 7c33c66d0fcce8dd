// PyTorch's arithmetic, comparisons and activations, element by element.

#include "profilers/kernels/op_reader.h"
#include "profilers/kernels/shared_rules.h"

namespace emplace::internal {
namespace aten {
namespace {

// (a, b), or (a) with the scalar b as attribute "other"
template <Function kFunction>
void Binary(OpReader& r) {
  const Attributes& attributes = r.attributes();
  Require(attributes.Number("alpha", 1) == 1, "a scaled operand");
  Require(!attributes.Has("rounding_mode"), "a rounded division");
  if (r.num_inputs() == 1) {
    r.EmitElementwise(kFunction, {r.In(0)}, r.Out(0), attributes.Number("other"));
  } else {
    r.EmitElementwise(kFunction, {r.In(0), r.In(1)}, r.Out(0));
  }
}

// pow(x, y), or (x) with attribute "exponent"
void Pow(OpReader& r) {
  if (r.num_inputs() == 2) return r.EmitElementwise(Function::kPow, {r.In(0), r.In(1)}, r.Out(0));
  r.EmitElementwise(Function::kPow, {r.In(0)}, r.Out(0), r.attributes().Number("exponent"));
}

// reciprocal(x)
void Reciprocal(OpReader& r) {
  r.EmitElementwise(Function::kPow, {r.In(0)}, r.Out(0), -1);
}

// clamp(x), hardtanh(x): at least "min", at most "max"
void Clamp(OpReader& r) {
  const Attributes& attributes = r.attributes();
  const bool is_hardtanh = r.op().kind.starts_with("aten.hardtanh");
  const auto bound = [&](const char* key, const char* alias, double fallback) {
    if (attributes.Has(alias)) return attributes.Number(alias);
    if (attributes.Has(key) || !is_hardtanh) return attributes.Number(key);
    return fallback;
  };
  const bool has_min = is_hardtanh || attributes.Has("min"),
             has_max = is_hardtanh || attributes.Has("max");
  Require(has_min || has_max, "a clamp without bounds");
  Argument from = r.In(0);
  if (has_min) {
    r.EmitElementwise(Function::kMaximum, {from}, r.Out(0), bound("min", "min_val", -1));
    from = r.Out(0);
  }
  if (has_max) r.EmitElementwise(Function::kMinimum, {from}, r.Out(0), bound("max", "max_val", 1));
}

// hardtanh_backward(dy, x): dy between the bounds
void HardtanhBackward(OpReader& r) {
  const double min = r.attributes().Number("min_val"), max = r.attributes().Number("max_val");
  r.EmitElementwise(Function::kReluGrad, {r.In(0), r.In(1)}, r.Out(0), min);
  r.EmitElementwise(Function::kCapGrad, {r.Out(0), r.In(1)}, r.Out(0), max);
}

// leaky_relu(x)
void LeakyRelu(OpReader& r) {
  r.EmitElementwise(
      Function::kLeakyRelu, {r.In(0)}, r.Out(0), r.attributes().Number("negative_slope", 0.01));
}

// leaky_relu_backward(dy, x or y, which have one sign)
void LeakyReluBackward(OpReader& r) {
  const double slope = r.attributes().Number("negative_slope");
  Require(slope >= 0 || !r.attributes().Bool("self_is_result", false), "a slope below 0");
  r.EmitElementwise(Function::kLeakyReluGrad, {r.In(0), r.In(1)}, r.Out(0), slope);
}

void RequirePlainElu(OpReader& r) {
  Require(r.attributes().Number("scale", 1) == 1 && r.attributes().Number("input_scale", 1) == 1,
          "a scaled ELU");
}

// elu(x)
void Elu(OpReader& r) {
  RequirePlainElu(r);
  r.EmitElementwise(Function::kElu, {r.In(0)}, r.Out(0), r.attributes().Number("alpha", 1));
}

// elu_backward(dy, x)
void EluBackward(OpReader& r) {
  RequirePlainElu(r);
  Require(!r.attributes().Bool("is_result", false), "a gradient from ELU's result");
  r.EmitElementwise(
      Function::kEluGrad, {r.In(0), r.In(1)}, r.Out(0), r.attributes().Number("alpha"));
}

// softplus(x), softplus_backward(dy, x). Above the threshold PyTorch returns x itself, equal in f32
template <Function kFunction>
void Softplus(OpReader& r) {
  Require(r.attributes().Number("beta", 1) == 1 && r.attributes().Number("threshold", 20) >= 15,
          "a softplus of another beta or threshold");
  r.EmitElementwise(kFunction, r.Inputs(0, r.num_inputs()), r.Out(0));
}

// sigmoid_backward(dy, y), tanh_backward(dy, y)
template <Function kFunction>
void GradientOfResult(OpReader& r) {
  r.EmitElementwise(kFunction, {r.In(1), r.In(0)}, r.Out(0));
}

// threshold_backward(dy, y)
void ThresholdBackward(OpReader& r) {
  r.EmitElementwise(
      Function::kReluGrad, {r.In(0), r.In(1)}, r.Out(0), r.attributes().Number("threshold", 0));
}

bool IsTanhGelu(OpReader& r) {
  const std::string how = r.attributes().Text("approximate", "none");
  Require(how == "none" || how == "tanh", "an unknown approximation of GELU");
  return how == "tanh";
}

// gelu(x)
void Gelu(OpReader& r) {
  r.EmitElementwise(IsTanhGelu(r) ? Function::kGeluTanh : Function::kGelu, {r.In(0)}, r.Out(0));
}

// gelu_backward(dy, x)
void GeluBackward(OpReader& r) {
  r.EmitElementwise(
      IsTanhGelu(r) ? Function::kGeluTanhGrad : Function::kGeluGrad, {r.In(0), r.In(1)}, r.Out(0));
}

// _to_copy(x)
void ToCopy(OpReader& r) {
  if (r.In(0).view.dtype == r.Out(0).view.dtype) {
    return r.Emit(KernelKind::kCopy, {r.In(0)}, {r.Out(0)});
  }
  r.EmitElementwise(Function::kCast, {r.In(0)}, r.Out(0));
}

constexpr WorkRule kElementwiseRules[] = {
    {"_to_copy", ToCopy},
    {"abs", Unary<Function::kAbs>},
    {"add", Binary<Function::kAdd>},
    {"bitwise_and", Binary<Function::kAnd>},
    {"bitwise_not", Unary<Function::kNot>},
    {"bitwise_or", Binary<Function::kOr>},
    {"bitwise_xor", Binary<Function::kXor>},
    {"clamp", Clamp},
    {"clamp_max", Clamp},
    {"clamp_min", Clamp},
    {"cos", Unary<Function::kCos>},
    {"div", Binary<Function::kDiv>},
    {"elu", Elu},
    {"elu_backward", EluBackward},
    {"eq", Binary<Function::kEqual>},
    {"erf", Unary<Function::kErf>},
    {"exp", Unary<Function::kExp>},
    {"floor", Unary<Function::kFloor>},
    {"ge", Binary<Function::kGreaterEqual>},
    {"gelu", Gelu},
    {"gelu_backward", GeluBackward},
    {"gt", Binary<Function::kGreater>},
    {"hardsigmoid", Unary<Function::kHardSigmoid>},
    {"hardsigmoid_backward", OfTwo<Function::kHardSigmoidGrad>},
    {"hardswish", Unary<Function::kHardSwish>},
    {"hardswish_backward", OfTwo<Function::kHardSwishGrad>},
    {"hardtanh", Clamp},
    {"hardtanh_backward", HardtanhBackward},
    {"le", Binary<Function::kLessEqual>},
    {"leaky_relu", LeakyRelu},
    {"leaky_relu_backward", LeakyReluBackward},
    {"log", Unary<Function::kLog>},
    {"logical_and", Binary<Function::kAnd>},
    {"logical_not", Unary<Function::kNot>},
    {"logical_or", Binary<Function::kOr>},
    {"logical_xor", Binary<Function::kXor>},
    {"lt", Binary<Function::kLess>},
    {"maximum", Binary<Function::kMaximum>},
    {"minimum", Binary<Function::kMinimum>},
    {"mul", Binary<Function::kMul>},
    {"ne", Binary<Function::kNotEqual>},
    {"neg", Unary<Function::kNeg>},
    {"pow", Pow},
    {"reciprocal", Reciprocal},
    {"relu", Unary<Function::kRelu>},
    {"rsqrt", Unary<Function::kRsqrt>},
    {"rsub", Binary<Function::kReverseSub>},
    {"sigmoid", Unary<Function::kSigmoid>},
    {"sigmoid_backward", GradientOfResult<Function::kSigmoidGrad>},
    {"silu", Unary<Function::kSilu>},
    {"silu_backward", OfTwo<Function::kSiluGrad>},
    {"sin", Unary<Function::kSin>},
    {"softplus", Softplus<Function::kSoftplus>},
    {"softplus_backward", Softplus<Function::kSoftplusGrad>},
    {"sqrt", Unary<Function::kSqrt>},
    {"sub", Binary<Function::kSub>},
    {"tanh", Unary<Function::kTanh>},
    {"tanh_backward", GradientOfResult<Function::kTanhGrad>},
    {"threshold_backward", ThresholdBackward},
};

}  // namespace
}  // namespace aten

std::span<const WorkRule> AtenElementwise() {
  return aten::kElementwiseRules;
}

}  // namespace emplace::internal
