#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Returns the text of RFC 4648, section 4: four characters for three bytes, padded with '='.
std::string EncodeBase64(std::span<const std::byte> bytes);
/// @return nullopt if EncodeBase64() never returns such a text
std::optional<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace emplace
