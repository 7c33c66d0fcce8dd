#pragma once

// A kernel as a sequence of oneDNN primitives whose memories are bound beforehand, so that running
// it only sets pointers.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "profilers/cpu/kernels/view_kernel.h"

namespace emplace::cpu {

inline constexpr auto kOnednnF32 = dnnl::memory::data_type::f32;

const dnnl::engine& OnednnEngine();

/// Attributes of all our primitives: scratch is the caller's.
dnnl::primitive_attr OnednnAttributes();

/// The view's strides as they are, those of dimensions of size 1 made harmless.
/// @param view  f32, no stride 0 (IsInjective)
dnnl::memory::desc OnednnDesc(const TensorView& view);
dnnl::memory::desc OnednnDesc(const std::vector<std::int64_t>& shape,
                              const std::vector<std::int64_t>& strides);

/// Where a memory's bytes are at run time.
struct Place {
  enum Base { kInput, kOutput, kScratch } base;
  std::int64_t index = 0;  ///< of the call's input or output; in scratch the first byte
};

class OnednnProgram : public ViewKernel {
 public:
  OnednnProgram();

  /// A new area in scratch.
  Place Reserve(std::int64_t bytes);
  /// Takes the size from `desc`.
  Place Reserve(const dnnl::memory::desc& desc);

  using Bindings = std::initializer_list<std::pair<int, std::pair<dnnl::memory::desc, Place>>>;
  /// Appends a primitive; its scratchpad is reserved.
  /// @param bindings  DNNL_ARG_* -> descriptor, place
  void Append(const dnnl::primitive& primitive,
              const dnnl::primitive_desc_base& desc,
              Bindings bindings);
  /// Appends a reorder from one layout to another.
  void AppendReorder(const dnnl::memory::desc& from_desc,
                     Place from,
                     const dnnl::memory::desc& to_desc,
                     Place to);
  /// Where `chosen`'s layout of the data at `place` can be read: `place` itself if the layouts are
  /// equal, else a reorder into scratch is appended.
  Place Import(const dnnl::memory::desc& desc, Place place, const dnnl::memory::desc& chosen);
  /// Where to write `chosen`: `place` itself or an area in scratch, for Export() to reorder.
  Place Target(const dnnl::memory::desc& desc, Place place, const dnnl::memory::desc& chosen);
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
