#include "profilers/cuda/kernels/arguments.h"

#include <algorithm>
#include <numeric>

#include "framework/base/error.h"

namespace emplace::cuda {

std::int64_t AlignmentOf(const TensorView& view) {
  constexpr std::int64_t kStorage = 256;  // alignment of the tensors' storage
  return std::gcd(kStorage, view.offset * SizeOf(view.dtype));
}

void* LaunchContext::Pointer(const Argument& argument) const {
  void* storage = (argument.is_output ? outputs : inputs)[argument.index];
  return static_cast<char*>(storage) + argument.view.offset * SizeOf(argument.view.dtype);
}

std::int64_t ScratchLayout::Take(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 256;
  const std::int64_t offset = bytes_;
  bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return offset;
}

LaidOutArgument::LaidOutArgument(const Argument& argument,
                                 const TensorView& wanted,
                                 ScratchLayout& scratch,
                                 std::int64_t alignment)
    : argument_(argument) {
  EMPLACE_CHECK(argument.view.shape == wanted.shape && wanted.offset == 0);
  const bool fits = argument.view.num_elements() == 0 || HaveEqualSteps(argument.view, wanted);
  if (fits && AlignmentOf(argument.view) >= alignment) return;
  scratch_offset_ = scratch.Take(wanted.num_elements() * SizeOf(wanted.dtype));
  in_ = PlanCopy(wanted, argument.view);
  out_ = PlanCopy(argument.view, wanted);
}

LaidOutArgument::LaidOutArgument(const Argument& argument, ScratchLayout& scratch)
    : LaidOutArgument(argument, ContiguousView(argument.view.dtype, argument.view.shape), scratch) {
}

void* LaidOutArgument::Pointer(const LaunchContext& context) const {
  return is_copied() ? context.Scratch(scratch_offset_) : context.Pointer(argument_);
}

CopyJob LaidOutArgument::CopyIn(const LaunchContext& context) const {
  CopyJob job = in_;
  job.destination = Pointer(context);
  job.source = context.Pointer(argument_);
  return job;
}

CopyJob LaidOutArgument::CopyOut(const LaunchContext& context) const {
  CopyJob job = out_;
  job.destination = context.Pointer(argument_);
  job.source = Pointer(context);
  return job;
}

DenseArguments::DenseArguments(const KernelCall& call,
                               ScratchLayout& scratch,
                               const Options& options)
    : reads_outputs_(options.reads_outputs) {
  const auto add = [&](const std::vector<Argument>& arguments,
                       const std::vector<int>& strided,
                       std::vector<LaidOutArgument>& to) {
    for (int i = 0; i < static_cast<int>(arguments.size()); ++i) {
      if (std::ranges::count(strided, i) > 0) {
        TensorView as_it_is = arguments[i].view;
        as_it_is.offset = 0;
        to.emplace_back(arguments[i], as_it_is, scratch);
      } else {
        to.emplace_back(arguments[i], scratch);
      }
    }
  };
  add(call.inputs, options.strided_inputs, inputs_);
  add(call.outputs, options.strided_outputs, outputs_);
  jobs_.reserve(inputs_.size() + outputs_.size());
}

void DenseArguments::CopyIn(const LaunchContext& context) {
  jobs_.clear();
  for (const LaidOutArgument& input : inputs_) {
    if (input.is_copied()) jobs_.push_back(input.CopyIn(context));
  }
  for (const LaidOutArgument& output : outputs_) {
    if (reads_outputs_ && output.is_copied()) jobs_.push_back(output.CopyIn(context));
  }
  LaunchCopies(jobs_, context.stream);
}

void DenseArguments::CopyOut(const LaunchContext& context) {
  jobs_.clear();
  for (const LaidOutArgument& output : outputs_) {
    if (output.is_copied()) jobs_.push_back(output.CopyOut(context));
  }
  LaunchCopies(jobs_, context.stream);
}

}  // namespace emplace::cuda
