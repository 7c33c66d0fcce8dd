#include "profilers/kernels/call_key.h"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace {

std::string CallKey(const KernelCall& call) {
  fmt::memory_buffer key;
  const auto out = std::back_inserter(key);
  const KernelParams& p = call.params;
  const Window& w = p.window;
  fmt::format_to(out,
                 "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                 static_cast<int>(call.kind),
                 static_cast<int>(p.function),
                 fmt::join(w.size, ","),
                 fmt::join(w.stride, ","),
                 fmt::join(w.pad_begin, ","),
                 fmt::join(w.pad_end, ","),
                 fmt::join(w.dilation, ","),
                 w.count_include_pad,
                 p.groups,
                 p.alpha,
                 p.epsilon,
                 p.momentum,
                 p.saves_inverse_std,
                 p.zero_output,
                 p.learning_rate,
                 p.beta1,
                 p.beta2,
                 p.weight_decay);
  for (const std::vector<Argument>* arguments : {&call.inputs, &call.outputs}) {
    fmt::format_to(out, "|");
    for (const Argument& a : *arguments) {
      fmt::format_to(out,
                     " {}{} {} {};{};{}",
                     a.is_output ? 'o' : 'i',
                     a.index,
                     static_cast<int>(a.view.dtype),
                     fmt::join(a.view.shape, ","),
                     fmt::join(a.view.strides, ","),
                     a.view.offset);
    }
  }
  return fmt::to_string(key);
}

}  // namespace emplace
