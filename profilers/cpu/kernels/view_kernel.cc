#include "profilers/cpu/kernels/view_kernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "profilers/kernels/kernel_table.h"

namespace emplace::cpu {
namespace {

// Runs a kernel on packed copies of some of its arguments. Scratch holds the copies, followed by
// the kernel's own scratch.
class PackedKernel : public ViewKernel {
 public:
  PackedKernel(bool (*suits)(const TensorView&), Factory make, const KernelCall& call, int threads)
      : in_(call.inputs.size()), out_(call.outputs.size()) {
    KernelCall inner = call;
    const auto pack = [&](Argument& argument, int index, bool is_output) {
      if (suits(argument.view)) return;
      const TensorView packed = ContiguousView(argument.view.dtype, argument.view.shape);
      const KernelCall copy = PartCall(KernelKind::kCopy,
                                       {is_output ? packed : argument.view},
                                       {is_output ? argument.view : packed});
      copies_.push_back({MakeCopy(copy, threads), index, is_output, scratch_bytes_});
      scratch_bytes_ += Aligned(packed.num_elements() * SizeOf(packed.dtype));
      argument.view = packed;
    };
    for (std::size_t i = 0; i < inner.inputs.size(); ++i)
      pack(inner.inputs[i], static_cast<int>(i), false);
    for (std::size_t i = 0; i < inner.outputs.size(); ++i)
      pack(inner.outputs[i], static_cast<int>(i), true);
    kernel_ = make(inner, threads);
    own_scratch_ = scratch_bytes_;
    scratch_bytes_ += kernel_->scratch_bytes();
    for (const Copy& copy : copies_)  // a copy may need scratch of its own, one copy at a time
      copy_scratch_ = std::max(copy_scratch_, copy.kernel->scratch_bytes());
    scratch_bytes_ = Aligned(scratch_bytes_);
  }

  std::int64_t scratch_bytes() const override { return scratch_bytes_ + copy_scratch_; }

  void Run(void* const* in, void* const* out, void* scratch) override {
    std::copy_n(in, in_.size(), in_.begin());
    std::copy_n(out, out_.size(), out_.begin());
    for (const Copy& copy : copies_) {
      void* packed = At(scratch, copy.offset);
      (copy.is_output ? out_ : in_)[copy.index] = packed;
      if (!copy.is_output) copy.kernel->Run(&in[copy.index], &packed, At(scratch, scratch_bytes_));
    }
    kernel_->Run(in_.data(), out_.data(), At(scratch, own_scratch_));
    for (const Copy& copy : copies_) {
      void* packed = At(scratch, copy.offset);
      if (copy.is_output) copy.kernel->Run(&packed, &out[copy.index], At(scratch, scratch_bytes_));
    }
  }

 private:
  struct Copy {
    std::unique_ptr<ViewKernel> kernel;
    int index;
    bool is_output;
    std::int64_t offset;  // of the packed copy in scratch [B]
  };
  std::vector<Copy> copies_;
  std::unique_ptr<ViewKernel> kernel_;
  std::int64_t scratch_bytes_ = 0, own_scratch_ = 0, copy_scratch_ = 0;
  std::vector<void*> in_, out_;
};

}  // namespace

void Refuse(const KernelCall& call, std::string_view why) {
  throw RunError(fmt::format("no CPU kernel for {}: {}", Describe(call), why));
}

KernelCall PartCall(KernelKind kind,
                    const std::vector<TensorView>& inputs,
                    const std::vector<TensorView>& outputs,
                    Function function) {
  KernelCall call;
  call.kind = kind;
  call.params.function = function;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    call.inputs.push_back({false, static_cast<int>(i), inputs[i]});
  for (std::size_t i = 0; i < outputs.size(); ++i)
    call.outputs.push_back({true, static_cast<int>(i), outputs[i]});
  return call;
}

std::unique_ptr<ViewKernel> PackUnless(bool (*suits)(const TensorView&),
                                       Factory make,
                                       const KernelCall& call,
                                       int threads) {
  const auto fits = [&](const Argument& argument) { return suits(argument.view); };
  if (std::ranges::all_of(call.inputs, fits) && std::ranges::all_of(call.outputs, fits))
    return nullptr;
  return std::make_unique<PackedKernel>(suits, make, call, threads);
}

bool HasDenseRows(const TensorView& view) {
  return view.shape.empty() || view.shape.back() <= 1 || view.strides.back() == 1;
}

bool IsInjective(const TensorView& view) {
  for (std::size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] > 1 && view.strides[d] == 0) return false;
  return true;
}

bool IsContiguous(const TensorView& view) {
  return view.is_contiguous();
}

}  // namespace emplace::cpu
