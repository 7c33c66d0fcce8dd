#include <array>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/fuzz/json_tree.h"
#include "tests/fuzz/mutators.h"

namespace emplace::fuzz {
namespace {

// Puts what a tree cannot hold in the place of a number, or anywhere.
void BreakText(std::string& text, Rng& rng) {
  static const std::array<std::string, 12> kOdd = {"NaN",
                                                   "-Infinity",
                                                   "1e999",
                                                   "-0",
                                                   "01",
                                                   "1e-999",
                                                   "123456789012345678901234567890",
                                                   "\"\\ud800\"",
                                                   "\"\xff\"",
                                                   "// x\n",
                                                   std::string(3000, '['),
                                                   std::string("\"\0\"", 3)};
  const std::size_t at = text.find_first_of(
      "0123456789", static_cast<std::size_t>(UniformInt(rng, static_cast<int>(text.size()))));
  if (at == std::string::npos) return;
  const std::size_t end = text.find_first_not_of("0123456789", at);
  text.replace(at, end - at, OneOf(kOdd, rng));
}

}  // namespace

std::string MutateJson(std::string_view input, const Mutation& mutation) {
  Rng& rng = mutation.rng;
  if (OneIn(10, rng)) return mutation.bytes(input, mutation.most);
  Json tree = Json::parse(input, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (tree.is_discarded()) return mutation.bytes(input, mutation.most);
  ChangeTree(tree, rng);
  std::string text = tree.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (OneIn(16, rng) && !text.empty()) BreakText(text, rng);
  return text;
}

}  // namespace emplace::fuzz
