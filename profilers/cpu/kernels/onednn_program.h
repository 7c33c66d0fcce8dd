#pragma once

// A kernel as a sequence of oneDNN primitives. Their memory objects are made beforehand, so that
// running the kernel only sets pointers.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {

inline constexpr auto kOnednnF32 = dnnl::memory::data_type::f32;

const dnnl::engine& OnednnEngine();  ///< oneDNN on the CPU, one for the whole process

/// Attributes of all our primitives: their scratchpad is memory of the caller.
dnnl::primitive_attr OnednnAttributes();

/// oneDNN's description of a view. Strides are as they are; those of dimensions of size 1 become
/// what a dense tensor has there, because oneDNN looks at them.
/// @param view  f32, no stride 0 (IsInjective)
dnnl::memory::desc OnednnDesc(const TensorView& view);
dnnl::memory::desc OnednnDesc(const std::vector<std::int64_t>& shape,
                              const std::vector<std::int64_t>& strides);

/// Where a memory's bytes are at run time.
struct Place {
  enum Base { kInput, kOutput, kScratch } base;
  std::int64_t index = 0;  ///< of the call's input or output; in scratch the first byte
};

/// Built by Import / Target / Append / Export in the order in which they shall run.
class OnednnProgram : public ViewKernel {
 public:
  OnednnProgram();

  /// A new area in scratch of so many bytes.
  Place Reserve(std::int64_t bytes);
  /// A new area in scratch as large as `desc` needs.
  Place Reserve(const dnnl::memory::desc& desc);

  using Bindings = std::vector<std::pair<int, std::pair<dnnl::memory::desc, Place>>>;
  /// Appends a primitive; its scratchpad is reserved.
  /// @param bindings  DNNL_ARG_* -> descriptor, place
  void Append(const dnnl::primitive& primitive,
              const dnnl::primitive_desc_base& desc,
              const Bindings& bindings);
  /// Appends a reorder from one layout to another.
  void AppendReorder(const dnnl::memory::desc& from_desc,
                     Place from,
                     const dnnl::memory::desc& to_desc,
                     Place to);
  /// Where the data at `place`, which lies as `desc`, can be read as `chosen`: `place` itself if
  /// the two are equal, else an area in scratch, and a reorder into it is appended.
  Place Import(const dnnl::memory::desc& desc, Place place, const dnnl::memory::desc& chosen);
  /// Where a primitive shall write a result that lies as `chosen` and is wanted at `place` as
  /// `desc`: `place` itself if the two are equal, else an area in scratch, from which Export()
  /// reorders it.
  Place Target(const dnnl::memory::desc& desc, Place place, const dnnl::memory::desc& chosen);
  /// Appends the reorder from `from`, which Target() gave, to `place`, unless they are the same.
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
