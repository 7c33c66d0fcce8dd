// exp, log, tanh and similar functions of f32 data, by oneDNN's vector mathematics.

#include <algorithm>
#include <iterator>
#include <utility>

#include "profilers/cpu/kernels/loops.h"
#include "profilers/cpu/kernels/onednn_program.h"

namespace emplace::cpu {
namespace {

// oneDNN's `alpha`: for swish the factor in x sigmoid(factor x); the other functions do not use it.
constexpr float kScale = 1;

// oneDNN's vector mathematics on one dense run.
constexpr std::pair<Function, dnnl::algorithm> kAlgorithms[] = {
    {Function::kExp, dnnl::algorithm::eltwise_exp},
    {Function::kLog, dnnl::algorithm::eltwise_log},
    {Function::kSigmoid, dnnl::algorithm::eltwise_logistic},
    {Function::kTanh, dnnl::algorithm::eltwise_tanh},
    {Function::kGelu, dnnl::algorithm::eltwise_gelu_erf},
    {Function::kGeluGrad, dnnl::algorithm::eltwise_gelu_erf},
    {Function::kGeluTanh, dnnl::algorithm::eltwise_gelu_tanh},
    {Function::kGeluTanhGrad, dnnl::algorithm::eltwise_gelu_tanh},
    {Function::kSilu, dnnl::algorithm::eltwise_swish},
    {Function::kSiluGrad, dnnl::algorithm::eltwise_swish},
    {Function::kSoftplus, dnnl::algorithm::eltwise_soft_relu},
    {Function::kSoftplusGrad, dnnl::algorithm::eltwise_soft_relu},
};

std::unique_ptr<ViewKernel> MakeOnednnForward(dnnl::algorithm algorithm, std::int64_t n) {
  const dnnl::memory::desc line({n}, kOnednnF32, dnnl::memory::format_tag::x);
  const dnnl::eltwise_forward::primitive_desc desc(
      {dnnl::prop_kind::forward_inference, algorithm, line, kScale, 0.F},
      OnednnAttributes(),
      OnednnEngine());
  return MakeOnednn<dnnl::eltwise_forward>(desc,
                                           {{DNNL_ARG_SRC, line, {Place::kInput, 0}}},
                                           {{DNNL_ARG_DST, line, {Place::kOutput, 0}}});
}

std::unique_ptr<ViewKernel> MakeOnednnBackward(dnnl::algorithm algorithm, std::int64_t n) {
  const dnnl::memory::desc line({n}, kOnednnF32, dnnl::memory::format_tag::x);
  const dnnl::eltwise_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, line, kScale, 0.F},
      OnednnAttributes(),
      OnednnEngine());
  const dnnl::eltwise_backward::primitive_desc desc(
      {algorithm, line, line, kScale, 0.F}, OnednnAttributes(), OnednnEngine(), forward);
  return MakeOnednn<dnnl::eltwise_backward>(
      desc,
      {{DNNL_ARG_DIFF_DST, line, {Place::kInput, 0}}, {DNNL_ARG_SRC, line, {Place::kInput, 1}}},
      {{DNNL_ARG_DIFF_SRC, line, {Place::kOutput, 0}}});
}

}  // namespace

std::unique_ptr<ViewKernel> MakeMathematics(const KernelCall& call, int threads) {
  const auto known = std::ranges::find(
      kAlgorithms, call.params.function, &std::pair<Function, dnnl::algorithm>::first);
  if (known == std::end(kAlgorithms))
    Refuse(call, "no code for \"" + std::string(ToString(call.params.function)) + "\"");
  const bool is_grad = call.inputs.size() == 2;  // dy, x
  const std::int64_t n = call.outputs[0].view.num_elements();
  // Arguments are packed unless all views are the same dense run, in any order of dimensions.
  std::vector<const TensorView*> views{&call.outputs[0].view};
  for (const Argument& input : call.inputs) views.push_back(&input.view);
  if (!MergeLoops(views).is_one_run())
    return PackUnless(&IsContiguous, &MakeMathematics, call, threads);
  return is_grad ? MakeOnednnBackward(known->second, n) : MakeOnednnForward(known->second, n);
}

}  // namespace emplace::cpu
