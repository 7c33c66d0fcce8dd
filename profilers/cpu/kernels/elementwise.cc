// Elementwise functions over strided views: own loops for arithmetic, which run at the speed of
// memory; oneDNN's vector mathematics for exp, log, tanh and their like on dense f32 data.

#include <algorithm>
#include <cmath>

#include "profilers/cpu/kernels/loops.h"
#include "profilers/cpu/kernels/onednn_program.h"

namespace emplace::cpu {
namespace {

// y = f(a, b) along a row; broadcast and dense operands have loops of their own.
template <typename A, typename B, typename Y, typename F>
void RunRow(const A* a,
            std::int64_t a_stride,
            const B* b,
            std::int64_t b_stride,
            Y* y,
            std::int64_t y_stride,
            std::int64_t count,
            const F& f) {
  if (y_stride == 1 && a_stride == 1 && b_stride == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
  } else if (y_stride == 1 && a_stride == 1 && b_stride == 0) {
    const B scalar = *b;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i], scalar);
  } else if (y_stride == 1 && a_stride == 0 && b_stride == 1) {
    const A scalar = *a;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(scalar, b[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i * y_stride] = f(a[i * a_stride], b[i * b_stride]);
  }
}

// The kernel y = f(a, b) with `alpha` for a missing b.
template <typename A, typename B, typename Y, typename F>
std::unique_ptr<ViewKernel> MakeLoops(const KernelCall& call, int threads, F f) {
  const TensorView& y = call.outputs[0].view;
  const TensorView& a = call.inputs[0].view;
  const bool is_binary = call.inputs.size() > 1;
  const B alpha = static_cast<B>(call.params.alpha);
  if (!is_binary) {
    const TensorView* const views[] = {&y, &a};
    return MakeKernel([loops = MergeLoops(views), alpha, threads, f](
                          void* const* in, void* const* out, void*) {
      const std::int64_t y_stride = loops.row_stride(0), a_stride = loops.row_stride(1);
      ForEachRow<2>(loops, threads, [&](const auto& at, std::int64_t count) {
        RunRow(
            As<A>(in[0]) + at[1], a_stride, &alpha, 0, As<Y>(out[0]) + at[0], y_stride, count, f);
      });
    });
  }
  const TensorView* const views[] = {&y, &a, &call.inputs[1].view};
  return MakeKernel(
      [loops = MergeLoops(views), threads, f](void* const* in, void* const* out, void*) {
        const std::int64_t y_stride = loops.row_stride(0), a_stride = loops.row_stride(1),
                           b_stride = loops.row_stride(2);
        ForEachRow<3>(loops, threads, [&](const auto& at, std::int64_t count) {
          RunRow(As<A>(in[0]) + at[1],
                 a_stride,
                 As<B>(in[1]) + at[2],
                 b_stride,
                 As<Y>(out[0]) + at[0],
                 y_stride,
                 count,
                 f);
        });
      });
}

// Calls f with a value of the C++ type of `dtype`.
template <typename F>
std::unique_ptr<ViewKernel> WithType(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kI32:
      return f(std::int32_t{});
    case DType::kI64:
      return f(std::int64_t{});
    case DType::kBool:
      return f(std::uint8_t{});
  }
  return nullptr;
}

void RequireOneType(const KernelCall& call) {
  for (const Argument& input : call.inputs)
    if (input.view.dtype != call.inputs[0].view.dtype) Refuse(call, "inputs of different types");
}

void RequireNumbers(const KernelCall& call) {
  RequireOneType(call);
  const DType dtype = call.outputs[0].view.dtype;
  Require(call, dtype == call.inputs[0].view.dtype, "expected an output of the inputs' type");
  Require(call, dtype != DType::kBool, "no arithmetic on bool");
}

template <typename F>
std::unique_ptr<ViewKernel> MakeArithmetic(const KernelCall& call, int threads, F f) {
  RequireNumbers(call);
  return WithType(call.inputs[0].view.dtype,
                  [&]<typename T>(T) { return MakeLoops<T, T, T>(call, threads, f); });
}

template <typename F>
std::unique_ptr<ViewKernel> MakeF32(const KernelCall& call, int threads, F f) {
  RequireF32(call);
  return MakeLoops<float, float, float>(call, threads, f);
}

std::unique_ptr<ViewKernel> MakeCast(const KernelCall& call, int threads) {
  return WithType(call.inputs[0].view.dtype, [&]<typename A>(A) {
    if (call.outputs[0].view.dtype == DType::kBool)
      return MakeLoops<A, A, std::uint8_t>(
          call, threads, [](A a, A) { return static_cast<std::uint8_t>(a != A{0}); });
    return WithType(call.outputs[0].view.dtype, [&]<typename Y>(Y) {
      return MakeLoops<A, A, Y>(call, threads, [](A a, A) { return static_cast<Y>(a); });
    });
  });
}

// Sum of three or more inputs, in pieces that stay in the cache: an output may be any of the
// inputs.
template <typename T>
std::unique_ptr<ViewKernel> MakeSumOfDense(const KernelCall& call, int threads) {
  const std::size_t terms = call.inputs.size();
  const std::int64_t n = call.outputs[0].view.num_elements();
  return MakeKernel([=](void* const* in, void* const* out, void*) {
    constexpr std::int64_t kPiece = 1024;
    ParallelPieces(threads, n, kPiece, [&](std::int64_t begin, std::int64_t end) {
      T sums[kPiece];
      const std::int64_t count = end - begin;
      const T *first = As<T>(in[0]) + begin, *second = As<T>(in[1]) + begin;
      for (std::int64_t i = 0; i < count; ++i) sums[i] = first[i] + second[i];
      for (std::size_t k = 2; k < terms; ++k) {
        const T* term = As<T>(in[k]) + begin;
        for (std::int64_t i = 0; i < count; ++i) sums[i] += term[i];
      }
      std::copy_n(sums, count, As<T>(out[0]) + begin);
    });
  });
}

std::unique_ptr<ViewKernel> MakeSum(const KernelCall& call, int threads) {
  if (auto packed = PackUnless(&IsContiguous, &MakeSum, call, threads)) return packed;
  RequireNumbers(call);
  return WithType(call.inputs[0].view.dtype,
                  [&]<typename T>(T) { return MakeSumOfDense<T>(call, threads); });
}

// oneDNN's vector mathematics on one dense run.
dnnl::algorithm OnednnAlgorithm(Function function) {
  switch (function) {
    case Function::kExp:
      return dnnl::algorithm::eltwise_exp;
    case Function::kLog:
      return dnnl::algorithm::eltwise_log;
    case Function::kSigmoid:
      return dnnl::algorithm::eltwise_logistic;
    case Function::kTanh:
      return dnnl::algorithm::eltwise_tanh;
    case Function::kGelu:
    case Function::kGeluGrad:
      return dnnl::algorithm::eltwise_gelu_erf;
    case Function::kGeluTanh:
    case Function::kGeluTanhGrad:
      return dnnl::algorithm::eltwise_gelu_tanh;
    default:
      return dnnl::algorithm::undef;
  }
}

std::unique_ptr<ViewKernel> MakeOnednnForward(dnnl::algorithm algorithm, std::int64_t n) {
  const dnnl::memory::desc line({n}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::x);
  const dnnl::eltwise_forward::primitive_desc desc(
      {dnnl::prop_kind::forward_inference, algorithm, line, 0.F, 0.F},
      OnednnAttributes(),
      OnednnEngine());
  auto program = std::make_unique<OnednnProgram>();
  program->Append(
      dnnl::eltwise_forward(desc),
      desc,
      {{DNNL_ARG_SRC, {line, {Place::kInput, 0}}}, {DNNL_ARG_DST, {line, {Place::kOutput, 0}}}});
  return program;
}

std::unique_ptr<ViewKernel> MakeOnednnBackward(dnnl::algorithm algorithm, std::int64_t n) {
  const dnnl::memory::desc line({n}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::x);
  const dnnl::eltwise_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, line, 0.F, 0.F},
      OnednnAttributes(),
      OnednnEngine());
  const dnnl::eltwise_backward::primitive_desc desc(
      {algorithm, line, line, 0.F, 0.F}, OnednnAttributes(), OnednnEngine(), forward);
  auto program = std::make_unique<OnednnProgram>();
  program->Append(dnnl::eltwise_backward(desc),
                  desc,
                  {{DNNL_ARG_DIFF_DST, {line, {Place::kInput, 0}}},
                   {DNNL_ARG_SRC, {line, {Place::kInput, 1}}},
                   {DNNL_ARG_DIFF_SRC, {line, {Place::kOutput, 0}}}});
  return program;
}

std::unique_ptr<ViewKernel> MakeMathematics(const KernelCall& call, int threads) {
  RequireF32(call);
  const bool is_grad = call.params.function == Function::kGeluGrad ||
                       call.params.function == Function::kGeluTanhGrad;
  if (is_grad) Require(call, call.inputs.size() == 2, "expected dy and x");
  const std::int64_t n = call.outputs[0].view.num_elements();
  if (n == 0) return MakeKernel([](auto, auto, auto) {});
  // Packed unless all views are one and the same dense run, in whatever order.
  std::vector<const TensorView*> views{&call.outputs[0].view};
  for (const Argument& input : call.inputs) views.push_back(&input.view);
  if (!MergeLoops(views).is_one_run())
    return PackUnless(&IsContiguous, &MakeMathematics, call, threads);
  const dnnl::algorithm algorithm = OnednnAlgorithm(call.params.function);
  return is_grad ? MakeOnednnBackward(algorithm, n) : MakeOnednnForward(algorithm, n);
}

}  // namespace

std::unique_ptr<ViewKernel> MakeElementwise(const KernelCall& call, int threads) {
  const Function function = call.params.function;
  Require(call,
          call.inputs.size() <= 2 || function == Function::kAdd,
          "only add takes more than two inputs");
  for (const Argument& input : call.inputs)
    RequireSameShape(call, input.view, call.outputs[0].view);
  switch (function) {
    case Function::kAdd:
      if (call.inputs.size() > 2) return MakeSum(call, threads);
      return MakeArithmetic(call, threads, [](auto a, auto b) { return a + b; });
    case Function::kSub:
      return MakeArithmetic(call, threads, [](auto a, auto b) { return a - b; });
    case Function::kReverseSub:
      return MakeArithmetic(call, threads, [](auto a, auto b) { return b - a; });
    case Function::kMul:
      return MakeArithmetic(call, threads, [](auto a, auto b) { return a * b; });
    case Function::kDiv:
      return MakeF32(call, threads, [](float a, float b) { return a / b; });
    case Function::kMinimum:
      return MakeArithmetic(call, threads, [](auto a, auto b) { return b < a ? b : a; });
    case Function::kMaximum:
      return MakeArithmetic(call, threads, [](auto a, auto b) { return a < b ? b : a; });
    case Function::kNeg:
      return MakeArithmetic(call, threads, [](auto a, auto) { return -a; });
    case Function::kGreaterEqual:
      RequireOneType(call);
      Require(call, call.outputs[0].view.dtype == DType::kBool, "expected a bool output");
      return WithType(call.inputs[0].view.dtype, [&]<typename T>(T) {
        return MakeLoops<T, T, std::uint8_t>(
            call, threads, [](T a, T b) { return static_cast<std::uint8_t>(a >= b); });
      });
    case Function::kSqrt:
      return MakeF32(call, threads, [](float a, float) { return std::sqrt(a); });
    case Function::kCast:
      return MakeCast(call, threads);
    case Function::kRelu:
      return MakeF32(call, threads, [](float a, float) { return a > 0 ? a : 0; });
    case Function::kReluGrad:
      return MakeF32(
          call, threads, [threshold = static_cast<float>(call.params.alpha)](float dy, float b) {
            return b > threshold ? dy : 0;
          });
    case Function::kSigmoidGrad:
      return MakeF32(call, threads, [](float y, float dy) { return dy * y * (1 - y); });
    case Function::kTanhGrad:
      return MakeF32(call, threads, [](float y, float dy) { return dy * (1 - y * y); });
    case Function::kExp:
    case Function::kLog:
    case Function::kSigmoid:
    case Function::kTanh:
    case Function::kGelu:
    case Function::kGeluGrad:
    case Function::kGeluTanh:
    case Function::kGeluTanhGrad:
      return MakeMathematics(call, threads);
    case Function::kNone:
    case Function::kSum:
    case Function::kMean:
    case Function::kHalfSumOfSquares:
      break;
  }
  Refuse(call, "\"" + std::string(ToString(function)) + "\" is no elementwise function");
}

std::unique_ptr<ViewKernel> MakeSelect(const KernelCall& call, int threads) {
  const TensorView& y = call.outputs[0].view;
  const TensorView& condition = call.inputs[0].view;
  const TensorView& b = call.inputs.back().view;
  Require(call, condition.dtype == DType::kBool, "expected a bool condition");
  for (const Argument& input : call.inputs) {
    RequireSameShape(call, input.view, y);
    if (&input != &call.inputs[0])
      Require(call, input.view.dtype == y.dtype, "expected choices of the output's type");
  }
  return WithType(y.dtype, [&]<typename T>(T) -> std::unique_ptr<ViewKernel> {
    if (call.inputs.size() == 2)
      return MakeLoops<std::uint8_t, T, T>(
          call, threads, [alpha = static_cast<T>(call.params.alpha)](std::uint8_t c, T other) {
            return c != 0 ? alpha : other;
          });
    const TensorView* const views[] = {&y, &condition, &call.inputs[1].view, &b};
    return MakeKernel([loops = MergeLoops(views), threads](
                          void* const* in, void* const* out, void*) {
      const std::int64_t y_stride = loops.row_stride(0), c_stride = loops.row_stride(1),
                         a_stride = loops.row_stride(2), b_stride = loops.row_stride(3);
      ForEachRow<4>(loops, threads, [&](const auto& at, std::int64_t count) {
        T* target = As<T>(out[0]) + at[0];
        const auto* choice = As<std::uint8_t>(in[0]) + at[1];
        const T *yes = As<T>(in[1]) + at[2], *no = As<T>(in[2]) + at[3];
        if (y_stride == 1 && c_stride == 1 && a_stride == 1 && b_stride == 1) {
#pragma omp simd
          for (std::int64_t i = 0; i < count; ++i) target[i] = choice[i] != 0 ? yes[i] : no[i];
        } else {
          for (std::int64_t i = 0; i < count; ++i)
            target[i * y_stride] = choice[i * c_stride] != 0 ? yes[i * a_stride] : no[i * b_stride];
        }
      });
    });
  });
}

}  // namespace emplace::cpu
