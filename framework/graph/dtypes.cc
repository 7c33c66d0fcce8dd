#include "framework/graph/dtypes.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>
#include <utility>

namespace emplace {
namespace {

// Prefixes of families whose members all have the same size: "float8_e4m3fn", "F8_E5M2",
// "f8e4m3b11fnuz".
constexpr std::pair<std::string_view, std::string_view> kDtypeFamilies[] = {{"float8", "f8"},
                                                                            {"f8_e", "f8"},
                                                                            {"f8e", "f8"},
                                                                            {"float4", "f4"},
                                                                            {"f4e", "f4"}};

constexpr std::string_view kDtypePrefixes[] =
    {"torch.", "tf.", "np.", "numpy.", "jnp.", "jax.numpy.", "ml_dtypes.", "dt_", "c10::"};

}  // namespace

std::span<const Dtype> Dtypes() {
  static const std::vector<Dtype> kDtypes = {
      {"f64", 64, {"float64", "double", "fp64"}},
      {"f32", 32, {"float32", "float", "single", "fp32"}},
      {"bf16", 16, {"bfloat16", "bfloat"}},
      {"f16", 16, {"float16", "half", "fp16"}},
      {"f8", 8, {"fp8"}},
      {"f4", 4, {"fp4"}},
      {"i64", 64, {"int64", "long", "s64"}},
      {"i32", 32, {"int32", "int", "s32", "qint32"}},
      {"i16", 16, {"int16", "short", "s16", "qint16"}},
      {"i8", 8, {"int8", "char", "s8", "qint8"}},
      {"i4", 4, {"int4", "s4"}},
      {"i2", 2, {"int2", "s2"}},
      {"u64", 64, {"uint64"}},
      {"u32", 32, {"uint32"}},
      {"u16", 16, {"uint16", "quint16"}},
      {"u8", 8, {"uint8", "byte", "quint8"}},
      {"u4", 4, {"uint4"}},
      {"u2", 2, {"uint2"}},
      {"bool", 8, {"boolean", "bool_", "pred", "i1"}},
      {"c64", 64, {"complex64", "cfloat"}},
      {"c128", 128, {"complex128", "cdouble"}},
      {"str", 0, {"string"}},
      {"key", 0},
      {"float0", 0},
  };
  return kDtypes;
}

const Dtype* DtypeByName(std::string_view text) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const Dtype*> by_name;
    for (const Dtype& dtype : Dtypes()) {
      by_name[dtype.name] = &dtype;
      for (const std::string_view alias : dtype.aliases) by_name[alias] = &dtype;
    }
    return by_name;
  }();
  const auto find = [](std::string_view name) {
    const auto found = kByName.find(name);
    return found == kByName.end() ? nullptr : found->second;
  };
  if (const Dtype* dtype = find(text)) return dtype;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string_view name = lower;
  for (const std::string_view prefix : kDtypePrefixes) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  if (const Dtype* dtype = find(name)) return dtype;
  for (const auto& [family, member] : kDtypeFamilies) {
    if (name.starts_with(family)) return find(member);
  }
  return nullptr;
}

}  // namespace emplace
