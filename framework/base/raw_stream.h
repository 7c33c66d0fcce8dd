#pragma once

// Writes and reads values in their memory layout, for processes of one build that exchange data.
// This is not a file format: the same program wrote the data a moment before.

#include <cstdint>
#include <ios>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "framework/base/error.h"

namespace emplace {

template <class Value>
concept RawValue = std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value>;

template <RawValue Value>
void WriteRaw(std::ostream& out, const Value& value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Writes the length, then the elements.
template <RawValue Value>
void WriteRawList(std::ostream& out, const std::vector<Value>& values) {
  WriteRaw(out, std::uint64_t{values.size()});
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(Value)));
}
inline void WriteRawText(std::ostream& out, std::string_view text) {
  WriteRaw(out, std::uint64_t{text.size()});
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

namespace internal {
/// @throws RunError if the stream ends too early
inline void ReadRawBytes(std::istream& in, void* to, std::uint64_t size) {
  in.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
  if (static_cast<std::uint64_t>(in.gcount()) == size) return;
  throw RunError("a message of " + std::to_string(size) + " bytes was expected, but it has " +
                 std::to_string(in.gcount()));
}
}  // namespace internal

// Each function reads the output of its counterpart. @throws RunError if the stream ends too early

template <RawValue Value>
Value ReadRaw(std::istream& in) {
  Value value;
  internal::ReadRawBytes(in, &value, sizeof(value));
  return value;
}
template <RawValue Value>
std::vector<Value> ReadRawList(std::istream& in) {
  std::vector<Value> values(ReadRaw<std::uint64_t>(in));
  internal::ReadRawBytes(in, values.data(), values.size() * sizeof(Value));
  return values;
}
inline std::string ReadRawText(std::istream& in) {
  std::string text(ReadRaw<std::uint64_t>(in), '\0');
  internal::ReadRawBytes(in, text.data(), text.size());
  return text;
}

}  // namespace emplace
