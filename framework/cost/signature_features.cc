#include "framework/cost/signature_features.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

namespace emplace {
namespace {

constexpr int kMostWrittenOut = 8;

bool IsDecimalDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Returns `text` as a number if all of it is one.
std::optional<int> AsCount(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 0) return std::nullopt;
  return count;
}

// Returns the position of the bracket that closes the one at `open`; npos without one.
std::size_t FindClose(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (std::string_view("([{").find(text[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[i]) != std::string_view::npos && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// Returns the parts of a list, which are separated by ", " outside of brackets.
std::vector<std::string_view> SplitList(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (std::string_view("([{").find(list[i]) != std::string_view::npos) {
      const std::size_t close = FindClose(list, i);
      if (close == std::string_view::npos) break;
      i = close;
    } else if (list.substr(i, 2) == ", ") {
      parts.push_back(list.substr(begin, i - begin));
      begin = i + 2;
    }
  }
  if (begin < list.size()) parts.push_back(list.substr(begin));
  return parts;
}

void AppendWrittenOut(std::string& text, std::string_view list) {
  std::vector<std::string_view> places;  // the tensor at each place of the list
  bool first = true;
  for (std::string_view part : SplitList(list)) {
    int count = 1;
    if (const std::size_t x = part.rfind(" x"); x != std::string_view::npos) {
      if (const std::optional<int> told = AsCount(part.substr(x + 2))) {
        count = *told;
        part = part.substr(0, x);
      }
    }
    if (part.starts_with('#')) {
      const std::optional<int> place = AsCount(part.substr(1));
      if (place && *place < static_cast<int>(places.size())) part = places[*place];
    }
    places.insert(places.end(), count, part);
    const bool is_written_out = count <= kMostWrittenOut;
    for (int i = 0; i < (is_written_out ? count : 1); ++i) {
      if (!first) text += ", ";
      first = false;
      text += part;
    }
    if (!is_written_out) text += fmt::format(" * {}", count);
  }
}

std::string WriteOut(std::string_view signature) {
  constexpr std::string_view kArrow = ") -> ";
  const std::size_t open = signature.find('(');
  const std::size_t close = open == signature.npos ? open : FindClose(signature, open);
  if (close == signature.npos || signature.substr(close, kArrow.size()) != kArrow) {
    return std::string(signature);
  }
  const std::size_t outputs = close + kArrow.size();
  const std::size_t attributes = signature.find(" {", outputs);
  if (attributes == signature.npos) return std::string(signature);
  std::string text(signature.substr(0, open + 1));
  AppendWrittenOut(text, signature.substr(open + 1, close - open - 1));
  text += kArrow;
  AppendWrittenOut(text, signature.substr(outputs, attributes - outputs));
  text += signature.substr(attributes);
  return text;
}

}  // namespace

SignatureFeatures MakeSignatureFeatures(std::string_view signature) {
  const std::string text = WriteOut(signature);
  SignatureFeatures features;
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < text.size();) {
    const char before = i == 0 ? ' ' : text[i - 1];
    const bool is_inside =
        std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_' || before == '.';
    const std::size_t digit = text[i] == '-' ? i + 1 : i;
    double number = 0;
    if (!is_inside && digit < text.size() && IsDecimalDigit(text[digit])) {
      const auto [next, error] = std::from_chars(text.data() + i, end, number);
      if (error == std::errc()) {
        features.structure += 'n';
        features.numbers.push_back(std::copysign(std::log1p(std::abs(number)), number));
        i = next - text.data();
        continue;
      }
    }
    features.structure += text[i++];
  }
  return features;
}

}  // namespace emplace
