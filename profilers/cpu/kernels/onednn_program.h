#pragma once

// A kernel as a sequence of oneDNN primitives. Their memory objects are made in advance, so that
// Run() only sets pointers.

#include <cstdint>
#include <memory>
#include <utility>
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

/// A kernel built by Import, Target, Append and Export, which are called in the order of execution.
class OnednnProgram : public ViewKernel {
 public:
  OnednnProgram();

  /// Reserves a new area of `bytes` bytes in scratch.
  Place Reserve(std::int64_t bytes);
  /// Reserves a new area in scratch of the size of `desc`.
  Place Reserve(const dnnl::memory::desc& desc);

  using Bindings = std::vector<std::pair<int, std::pair<dnnl::memory::desc, Place>>>;
  /// Appends a primitive and reserves its scratchpad.
  /// @param bindings  DNNL_ARG_* -> descriptor, place
  void Append(const dnnl::primitive& primitive,
              const dnnl::primitive_desc_base& desc,
              const Bindings& bindings);
  /// Appends a reorder from one layout to another.
  void AppendReorder(const dnnl::memory::desc& from_desc,
                     Place from,
                     const dnnl::memory::desc& to_desc,
                     Place to);
  /// Returns a place where the data at `place`, with layout `desc`, can be read with layout
  /// `chosen`. That is `place` itself if the layouts are equal, else an area in scratch, and a
  /// reorder into it is appended.
  Place Import(const dnnl::memory::desc& desc, Place place, const dnnl::memory::desc& chosen);
  /// Returns a place to which a primitive writes a result with layout `chosen` that is wanted at
  /// `place` with layout `desc`. That is `place` itself if the layouts are equal, else an area in
  /// scratch, from which Export() reorders it.
  Place Target(const dnnl::memory::desc& desc, Place place, const dnnl::memory::desc& chosen);
  /// Appends the reorder from `from`, the result of Target(), to `place`, if layouts differ.
  void Export(const dnnl::memory::desc& chosen,
              Place from,
              const dnnl::memory::desc& desc,
              Place place);

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
  dnnl::memory Bind(const dnnl::memory::desc& desc, Place place);

  dnnl::stream stream_;
  std::vector<Step> steps_;
  std::vector<Bound> bound_;
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace emplace::cpu
