#include "profilers/kernels/call_key.h"

#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "profilers/kernels/call_fields.h"

namespace emplace {
namespace {

// Writes values one after another, each with a terminator, and lists and structs in brackets, so
// that texts are equal only for equal calls.
class KeyWriter {
 public:
  template <class T>
  void Write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      Write(static_cast<int>(value));
    } else {
      fmt::format_to(std::back_inserter(key_), "{},", value);
    }
  }
  template <class T>
  void Write(const std::vector<T>& values) {
    key_.push_back('[');
    for (const T& value : values) Write(value);
    key_.push_back(']');
  }
  void Write(const Window& window) { WriteAll(kWindowFields, window); }
  void Write(const KernelParams& params) { WriteAll(kParamFields, params); }
  void Write(const TensorView& view) { WriteAll(kViewFields, view); }
  void Write(const Argument& argument) { WriteAll(kArgumentFields, argument); }
  void Write(const KernelCall& call) { WriteAll(kCallFields, call); }

  std::string Text() const { return fmt::to_string(key_); }

 private:
  template <class Fields, class Owner>
  void WriteAll(const Fields& fields, const Owner& owner) {
    key_.push_back('{');
    ForEachField(fields, [&](const auto& field) { Write(owner.*field.member); });
    key_.push_back('}');
  }

  fmt::memory_buffer key_;
};

}  // namespace

std::string CallKey(const KernelCall& call) {
  KeyWriter key;
  key.Write(call);
  return key.Text();
}

}  // namespace emplace
