#include "framework/base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace emplace {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> kValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}();

}  // namespace

std::string EncodeBase64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < count; ++k) {
      bits |= std::to_integer<std::uint32_t>(bytes[i + k]) << (16 - 8 * k);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kAlphabet[(bits >> (18 - 6 * k)) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::size_t length = text.size() - padding;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::int8_t value = i < length ? kValues[static_cast<unsigned char>(text[i])] : 0;
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 != 3) continue;
    for (int shift : {16, 8, 0}) bytes.push_back(static_cast<std::byte>(bits >> shift & 255));
    bits = 0;
  }
  for (std::size_t i = 0; i < padding; ++i) {
    if (bytes.back() != std::byte{0}) return std::nullopt;
    bytes.pop_back();
  }
  return bytes;
}

}  // namespace emplace
