
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/base/error.h"
#include "profilers/kernels/kernel_table.h"

namespace emplace {
namespace {

using std::int64_t;
using Shape = std::vector<int64_t>;

std::string_view TextOf(TypeRule rule, std::optional<DType> same) {
  switch (rule) {
    case TypeRule::kF32:
      return "f32";
    case TypeRule::kBool:
      return "bool";
    case TypeRule::kI64:
      return "i64";
    case TypeRule::kIndex:
      return "i32 or i64";
    case TypeRule::kSame:
      return ToString(*same);
    case TypeRule::kAny:
      break;
  }
  return "any";
}

// Checks a call's arguments against the two signatures of its kernel, inputs first.
class Binding {
 public:
  explicit Binding(const KernelCall& call) : call_(call) {}

  // Returns the first mismatch; empty if there is none.
  std::string Run() {
    const KernelDescription& kernel = DescriptionOf(call_.kind);
    const auto fits = [](const Signature& signature, size_t count) {
      return count >= signature.least() && count <= signature.most();
    };
    const auto range = [](const Signature& signature) {
      return signature.most() == Signature::kUnlimited
                 ? fmt::format("at least {}", signature.least())
             : signature.least() == signature.most()
                 ? fmt::to_string(signature.least())
                 : fmt::format("{} to {}", signature.least(), signature.most());
    };
    if (!fits(kernel.inputs, call_.inputs.size()) || !fits(kernel.outputs, call_.outputs.size())) {
      return fmt::format("{} inputs and {} outputs; expected {} and {}",
                         call_.inputs.size(),
                         call_.outputs.size(),
                         range(kernel.inputs),
                         range(kernel.outputs));
    }
    std::string error = Bind(kernel.inputs, call_.inputs);
    return error.empty() ? Bind(kernel.outputs, call_.outputs) : error;
  }

  int64_t SizeOfLetter(char letter) const { return sizes_.at(letter); }

 private:
  std::string Bind(const Signature& signature, const std::vector<Argument>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::string error = BindOne(signature.RuleOf(i, arguments.size()), arguments[i].view);
      if (!error.empty()) return error;
    }
    return "";
  }

  std::string BindOne(const ArgumentRule& rule, const TensorView& view) {
    if (!FitsType(rule.type, view.dtype)) {
      return fmt::format(
          "{} is {}; expected {}", rule.name, ToString(view.dtype), TextOf(rule.type, same_));
    }
    switch (rule.shape) {
      case ArgumentRule::Shape::kAny:
        return "";
      case ArgumentRule::Shape::kShared:
        if (!shared_) shared_ = &view.shape;
        return view.shape == *shared_
                   ? ""
                   : WrongShape(rule, view, fmt::format("{}", fmt::join(*shared_, ", ")));
      case ArgumentRule::Shape::kSizes:
        break;
    }
    bool fits = view.shape.size() == rule.sizes.size();
    std::vector<std::string> expected;  // the known sizes; letters for the others
    for (size_t i = 0; i < rule.sizes.size(); ++i) {
      const auto known = sizes_.find(rule.sizes[i]);
      expected.push_back(known == sizes_.end() ? std::string(1, rule.sizes[i])
                                               : fmt::to_string(known->second));
      if (!fits) continue;
      fits = known == sizes_.end() || known->second == view.shape[i];
      sizes_.try_emplace(rule.sizes[i], view.shape[i]);
    }
    return fits ? "" : WrongShape(rule, view, fmt::format("{}", fmt::join(expected, ", ")));
  }

  static std::string WrongShape(const ArgumentRule& rule,
                                const TensorView& view,
                                const std::string& expected) {
    return fmt::format(
        "{} is [{}]; expected [{}]", rule.name, fmt::join(view.shape, ", "), expected);
  }

  bool FitsType(TypeRule rule, DType dtype) {
    switch (rule) {
      case TypeRule::kF32:
        return dtype == DType::kF32;
      case TypeRule::kBool:
        return dtype == DType::kBool;
      case TypeRule::kI64:
        return dtype == DType::kI64;
      case TypeRule::kIndex:
        return dtype == DType::kI32 || dtype == DType::kI64;
      case TypeRule::kSame:
        if (!same_) same_ = dtype;
        return dtype == *same_;
      case TypeRule::kAny:
        return true;
    }
    return false;
  }

  const KernelCall& call_;
  std::map<char, int64_t> sizes_;
  const Shape* shared_ = nullptr;
  std::optional<DType> same_;
};

std::string WhyNoViews(const KernelCall& call) {
  for (const auto* arguments : {&call.inputs, &call.outputs}) {
    for (const Argument& argument : *arguments) {
      const TensorView& view = argument.view;
      if (view.shape.size() != view.strides.size() || view.offset < 0 ||
          std::ranges::any_of(view.strides, [](int64_t s) { return s < 0; })) {
        return "a view without stride for each axis";
      }
      if (!call.is_proxy() && std::ranges::any_of(view.shape, [](int64_t s) { return s <= 0; })) {
        return "a view without elements";
      }
    }
  }
  return "";
}

std::string TextOf(const std::vector<Argument>& arguments) {
  std::vector<std::string> texts;
  for (const Argument& argument : arguments) {
    texts.push_back(fmt::format(
        "{} [{}]", ToString(argument.view.dtype), fmt::join(argument.view.shape, ", ")));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string WhyMalformed(const KernelCall& call) {
  std::string error = WhyNoViews(call);
  if (error.empty()) error = Binding(call).Run();
  CallRule* const rule = DescriptionOf(call.kind).rule;
  if (error.empty() && rule != nullptr) error = rule(call);
  return error;
}

std::string Describe(const KernelCall& call) {
  return fmt::format("{} {} -> {}", ToString(call.kind), TextOf(call.inputs), TextOf(call.outputs));
}

double MultiplyAdds(const KernelCall& call) {
  const std::string_view products = DescriptionOf(call.kind).products;
  if (products.empty()) return 0;
  Binding binding(call);
  EMPLACE_CHECK(binding.Run().empty());
  double sum = 0, product = 1;
  for (const char letter : products) {
    if (letter == '+') {
      sum += std::exchange(product, 1);
    } else {
      product *= static_cast<double>(binding.SizeOfLetter(letter));
    }
  }
  return sum + product;
}

}  // namespace emplace
