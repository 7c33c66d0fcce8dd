#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "framework/base/base64.h"
#include "tests/fuzz/mutators.h"

namespace emplace::fuzz {
namespace {

// Words, each with the white space behind it.
std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto space = std::find_if(text.begin(), text.end(), [](char c) { return c <= ' '; });
    const auto end = static_cast<std::size_t>(space - text.begin()) + (space != text.end());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

// "8x32:AACA": other numbers, or another shape.
void ChangePacked(std::string& word, std::size_t colon, const Mutation& mutation) {
  Rng& rng = mutation.rng;
  if (OneIn(4, rng)) {
    static const std::array<std::string, 5> kShapes = {
        "0x0", "1x1", "-1x-1", "9223372036854775807x2", "4294967296x4294967296"};
    word.replace(0, colon, OneOf(kShapes, rng));
    return;
  }
  const bool ends_line = word.ends_with('\n');
  const std::string base64 = word.substr(colon + 1, word.size() - colon - 1 - (ends_line ? 1 : 0));
  const auto bytes = DecodeBase64(base64);
  if (!bytes || bytes->empty()) return;
  std::vector<std::byte> changed = *bytes;
  static const std::array<float, 7> kNumbers = {
      0, -1e38F, 1e38F, 1e-38F, 3, -2, std::numeric_limits<float>::quiet_NaN()};
  const float number = OneOf(kNumbers, rng);
  const std::size_t place =
      static_cast<std::size_t>(UniformInt(rng, static_cast<int>(changed.size()))) / 4 * 4;
  if (place + sizeof number > changed.size()) return;
  std::memcpy(&changed[place], &number, sizeof number);
  if (OneIn(6, rng)) changed.pop_back();
  word = word.substr(0, colon + 1) + EncodeBase64(changed) + (ends_line ? "\n" : "");
}

void ChangeWord(std::string& word, const Mutation& mutation) {
  static const std::array<std::string, 22> kWords = {"0",
                                                     "1",
                                                     "-1",
                                                     "2",
                                                     "3",
                                                     "16",
                                                     "255",
                                                     "256",
                                                     "1000000000",
                                                     "2147483647",
                                                     "2147483648",
                                                     "-2147483648",
                                                     "4294967296",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "18446744073709551615",
                                                     "7ff8000000000000",
                                                     "7ff0000000000000",
                                                     "fff0000000000000",
                                                     "text:",
                                                     "score",
                                                     "text:e30="};
  Rng& rng = mutation.rng;
  const std::size_t colon = word.find(':');
  if (colon != std::string::npos && !OneIn(6, rng)) return ChangePacked(word, colon, mutation);
  const char space = word.empty() ? ' ' : word.back();
  if (OneIn(8, rng)) {
    word = mutation.bytes(word, 200);
  } else {
    word = OneOf(kWords, rng);
  }
  word += space == '\n' ? '\n' : ' ';
}

}  // namespace

std::string MutateWords(std::string_view input, const Mutation& mutation) {
  Rng& rng = mutation.rng;
  if (OneIn(12, rng)) return mutation.bytes(input, mutation.most);
  std::vector<std::string> words = Split(input);
  if (words.size() < 5) return mutation.bytes(input, mutation.most);
  const int changes = 1 + UniformInt(rng, 3);
  for (int i = 0; i < changes; ++i) {
    // The first words say what it is.
    constexpr int kHead = 3;
    const int first = OneIn(30, rng) ? 0 : kHead;
    if (static_cast<int>(words.size()) <= kHead + 1) break;
    const int at = first + UniformInt(rng, static_cast<int>(words.size()) - first);
    switch (UniformInt(rng, 10)) {
      case 0:
        words.erase(words.begin() + at);
        break;
      case 1: {
        const std::string copy = words[static_cast<std::size_t>(at)];
        words.insert(words.begin() + at, copy);
        break;
      }
      case 2:
        words[static_cast<std::size_t>(at)] = OneOf(words, rng);
        break;
      case 3:
        words.resize(static_cast<std::size_t>(at));
        break;
      default:
        ChangeWord(words[static_cast<std::size_t>(at)], mutation);
    }
  }
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

}  // namespace emplace::fuzz
