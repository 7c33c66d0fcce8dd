#pragma once

// A kernel as a sequence of oneDNN primitives. Their memory objects are made in advance, so that
// Run() only sets pointers.

#include <cstdint>
#include <memory>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {

inline constexpr auto kOnednnF32 = dnnl::memory::data_type::f32;

const dnnl::engine& OnednnEngine();  ///< oneDNN on the CPU, one engine for the whole process

/// Returns the attributes of all primitives of this project: the caller provides the scratchpad.
dnnl::primitive_attr OnednnAttributes();

/// Returns oneDNN's description of a view. Strides are unchanged, except in dimensions of size 1,
/// where they become those of a dense tensor, because oneDNN reads them.
/// @param view  f32, no stride 0 (IsInjective)
dnnl::memory::desc OnednnDesc(const TensorView& view);
dnnl::memory::desc OnednnDesc(const std::vector<std::int64_t>& shape,
                              const std::vector<std::int64_t>& strides);

/// The location of a memory's bytes at run time.
struct Place {
  enum Base { kInput, kOutput, kScratch } base;
  std::int64_t index = 0;  ///< of the call's input or output; for kScratch the first byte
};

/// An argument of a primitive: DNNL_ARG_*, and where the caller has it, in which layout.
struct Operand {
  int argument;
  dnnl::memory::desc desc;
  Place place;
};

/// A kernel built by Append() and AppendReorder(), which are called in the order of execution.
class OnednnProgram : public ViewKernel {
 public:
  OnednnProgram();

  /// Appends a primitive and reserves its scratchpad. An operand whose layout differs from the one
  /// that the primitive has chosen is reordered: an input before it, the output after it.
  void Append(const dnnl::primitive& primitive,
              const dnnl::primitive_desc_base& desc,
              const std::vector<Operand>& inputs,
              const std::vector<Operand>& outputs);
  /// Appends a reorder from one layout to another.
  void AppendReorder(const dnnl::memory::desc& from_desc,
                     Place from,
                     const dnnl::memory::desc& to_desc,
                     Place to);
  std::int64_t scratch_bytes() const override { return scratch_bytes_; }
  void Run(void* const* in, void* const* out, void* scratch) override;

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  struct Bound {
    dnnl::memory memory;
    Place place;
  };
  Place Reserve(const dnnl::memory::desc& desc);
  dnnl::memory Bind(const dnnl::memory::desc& desc, Place place);

  dnnl::stream stream_;
  std::vector<Step> steps_;
  std::vector<Bound> bound_;
  std::int64_t scratch_bytes_ = 0;
};

/// Makes a kernel of one primitive, with inputs and outputs as for OnednnProgram::Append().
template <class Primitive>
std::unique_ptr<ViewKernel> MakeOnednn(const typename Primitive::primitive_desc& desc,
                                       const std::vector<Operand>& inputs,
                                       const std::vector<Operand>& outputs) {
  auto program = std::make_unique<OnednnProgram>();
  program->Append(Primitive(desc), desc, inputs, outputs);
  return program;
}

}  // namespace emplace::cpu
