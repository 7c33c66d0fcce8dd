#include "profilers/cpu/kernels/onednn_program.h"

#include <string>

#include <oneapi/dnnl/dnnl_debug.h>

#include "framework/base/error.h"

namespace emplace::cpu {

const dnnl::engine& OnednnEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr OnednnAttributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory::desc OnednnDesc(const std::vector<std::int64_t>& shape,
                              const std::vector<std::int64_t>& strides) {
  std::vector<std::int64_t> harmless = strides;
  for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d)
    if (shape[d] == 1)
      harmless[d] = d + 1 < static_cast<int>(shape.size()) ? harmless[d + 1] * shape[d + 1] : 1;
  return {shape, kOnednnF32, harmless};
}

dnnl::memory::desc OnednnDesc(const TensorView& view) {
  return OnednnDesc(view.shape, view.strides);
}

OnednnProgram::OnednnProgram() : stream_(OnednnEngine()) {
}

Place OnednnProgram::Reserve(const dnnl::memory::desc& desc) {
  const Place place{Place::kScratch, scratch_bytes_};
  scratch_bytes_ += Aligned(static_cast<std::int64_t>(desc.get_size()));
  return place;
}

dnnl::memory OnednnProgram::Bind(const dnnl::memory::desc& desc, Place place) {
  dnnl::memory memory(desc, OnednnEngine(), DNNL_MEMORY_NONE);
  bound_.push_back({memory, place});
  return memory;
}

void OnednnProgram::Append(const dnnl::primitive& primitive,
                           const dnnl::primitive_desc_base& desc,
                           const std::vector<Operand>& inputs,
                           const std::vector<Operand>& outputs) {
  Step step{primitive, {}};
  const auto chosen = [&](const Operand& operand) {
    return desc.query_md(dnnl::query::exec_arg_md, operand.argument);
  };
  // Returns the place in the chosen layout.
  const auto bind = [&](const Operand& operand) {
    const bool is_same = operand.desc == chosen(operand);
    const Place place = is_same ? operand.place : Reserve(chosen(operand));
    step.arguments.push_back({operand.argument, Bind(chosen(operand), place).get()});
    return place;
  };
  for (const Operand& input : inputs) {
    const Place place = bind(input);
    if (input.desc != chosen(input)) AppendReorder(input.desc, input.place, chosen(input), place);
  }
  std::vector<Place> written;
  for (const Operand& output : outputs) written.push_back(bind(output));
  const dnnl::memory::desc scratchpad = desc.query_md(dnnl::query::scratchpad_md);
  if (scratchpad.get_size() > 0)
    step.arguments.push_back({DNNL_ARG_SCRATCHPAD, Bind(scratchpad, Reserve(scratchpad)).get()});
  steps_.push_back(std::move(step));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Operand& output = outputs[i];
    if (output.desc != chosen(output))
      AppendReorder(chosen(output), written[i], output.desc, output.place);
  }
}

void OnednnProgram::AppendReorder(const dnnl::memory::desc& from_desc,
                                  Place from,
                                  const dnnl::memory::desc& to_desc,
                                  Place to) {
  const dnnl::reorder::primitive_desc desc(
      OnednnEngine(), from_desc, OnednnEngine(), to_desc, OnednnAttributes());
  Append(
      dnnl::reorder(desc), desc, {{DNNL_ARG_FROM, from_desc, from}}, {{DNNL_ARG_TO, to_desc, to}});
}

void OnednnProgram::Run(void* const* in, void* const* out, void* scratch) {
  for (const Bound& bound : bound_) {
    void* pointer = nullptr;
    switch (bound.place.base) {
      case Place::kInput:
        pointer = in[bound.place.index];
        break;
      case Place::kOutput:
        pointer = out[bound.place.index];
        break;
      case Place::kScratch:
        pointer = At(scratch, bound.place.index);
        break;
    }
    // Called without a stream, so that it writes no padding. The reorders and primitives write it.
    dnnl_memory_set_data_handle(bound.memory.get(), pointer);
  }
  for (const Step& step : steps_) {
    const dnnl_status_t status = dnnl_primitive_execute(step.primitive.get(),
                                                        stream_.get(),
                                                        static_cast<int>(step.arguments.size()),
                                                        step.arguments.data());
    if (status != dnnl_success)
      throw RunError("a oneDNN primitive failed: " + std::string(dnnl_status2str(status)));
  }
}

}  // namespace emplace::cpu
