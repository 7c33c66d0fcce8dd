#include "tests/fuzz/json_tree.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/fuzz/mutators.h"

namespace emplace::fuzz {
namespace {

constexpr int kMostNodes = 5000;  // of a tree that is changed
constexpr std::size_t kPool = 64;

void ListNodes(Json& tree, std::vector<Json*>& nodes) {
  if (nodes.size() >= kMostNodes) return;
  nodes.push_back(&tree);
  if (tree.is_object()) {
    for (auto& [key, value] : tree.get_ref<Json::object_t&>()) ListNodes(value, nodes);
  } else if (tree.is_array()) {
    for (Json& value : tree) ListNodes(value, nodes);
  }
}

std::size_t CountNodes(const Json& tree) {
  std::size_t count = 1;
  if (tree.is_structured()) {
    for (const Json& value : tree) count += CountNodes(value);
  }
  return count;
}

Json OddScalar(Rng& rng) {
  static const std::array<std::int64_t, 17> kNumbers = {
      0,
      1,
      -1,
      2,
      7,
      64,
      255,
      256,
      65536,
      1'000'000'000,
      2147483647,
      2147483648,
      4294967296,
      9007199254740993,
      std::numeric_limits<std::int64_t>::max() - 1,
      std::numeric_limits<std::int64_t>::max(),
      std::numeric_limits<std::int64_t>::min()};
  static const std::array<double, 12> kReals = {
      0.5, -0.0, 1e-320, 1e-9, 1e9, 9.3e18, 1e19, 1e100, 1.7e308, -1e308, 0.1, 3.0};
  static const std::array<std::string, 22> kTexts = {"",          "a",
                                                     "default",   "none",
                                                     "*",         "?",
                                                     "gpu:*",     "../../etc/x",
                                                     "/dev/null", "1us",
                                                     "1e30GB/s",  "-1",
                                                     "0:3",       "nan",
                                                     "inf",       "1e400",
                                                     "0:1000000", "[[[[",
                                                     "{a: *a}",   "\xe2\x80\xa8",
                                                     "0x10",      "9999999999999999999s"};
  switch (UniformInt(rng, 8)) {
    case 0:
      return nullptr;
    case 1:
      return OneIn(2, rng);
    case 2:
      return std::numeric_limits<std::uint64_t>::max();
    case 3:
      return OneOf(kReals, rng);
    case 4:
    case 5:
      return OneOf(kNumbers, rng);
    case 6:
      return std::string(static_cast<std::size_t>(UniformInt(rng, 300)), 'x');
    default:
      return OneOf(kTexts, rng);
  }
}

// Parts of earlier inputs.
std::vector<Json>& Pool() {
  static std::vector<Json> pool;
  return pool;
}

void Remember(const Json& part, Rng& rng) {
  constexpr std::size_t kLargest = 200;
  if (CountNodes(part) > kLargest) return;
  if (Pool().size() < kPool) return Pool().push_back(part);
  Pool()[static_cast<std::size_t>(UniformInt(rng, kPool))] = part;
}

void ChangeObject(Json::object_t& members, Rng& rng) {
  const auto any = [&] {
    return members.begin() + UniformInt(rng, static_cast<int>(members.size()));
  };
  const auto at = any();
  switch (UniformInt(rng, 5)) {
    case 0:
      members.erase(at);
      return;
    case 1: {  // a key twice
      std::string key = at->first;
      Json value = at->second;
      members.push_back({std::move(key), std::move(value)});
      return;
    }
    case 2: {
      std::vector<std::string> keys = {"", "colour", "name", "version", "a.b", "0"};
      for (const Json& part : Pool()) {
        if (!part.is_object()) continue;
        for (const auto& [key, value] : part.items()) keys.push_back(key);
      }
      members.push_back({OneOf(keys, rng), OddScalar(rng)});
      return;
    }
    case 3:
      std::swap(at->second, any()->second);
      return;
    default: {  // the value under another key
      const Json copy = any()->second;
      at->second = copy;
      return;
    }
  }
}

void ChangeArray(Json::array_t& items, Rng& rng) {
  const auto at = static_cast<std::size_t>(UniformInt(rng, static_cast<int>(items.size())));
  switch (UniformInt(rng, 4)) {
    case 0:
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1: {
      const Json copy = items[at];
      items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), copy);
      return;
    }
    case 2:
      std::swap(items[at],
                items[static_cast<std::size_t>(UniformInt(rng, static_cast<int>(items.size())))]);
      return;
    default: {
      const Json copy = items[at];
      const int times = OneIn(4, rng) ? 300 : 5;
      if (CountNodes(copy) > 20) return;
      for (int i = 0; i < times; ++i) items.push_back(copy);
      return;
    }
  }
}

void ChangeNode(Json& node, std::vector<Json*>& nodes, Rng& rng) {
  if (node.is_object() && !node.empty() && !OneIn(4, rng)) {
    return ChangeObject(node.get_ref<Json::object_t&>(), rng);
  }
  if (node.is_array() && !node.empty() && !OneIn(4, rng)) {
    return ChangeArray(node.get_ref<Json::array_t&>(), rng);
  }
  switch (UniformInt(rng, 8)) {
    case 0: {  // deep nesting
      static const std::array<int, 6> kDepths = {1, 2, 99, 100, 101, 1000};
      const int depth = OneOf(kDepths, rng);
      const bool lists = OneIn(2, rng);
      for (int i = 0; i < depth; ++i) {
        Json outer = lists ? Json::array() : Json::object();
        lists ? outer.push_back(std::move(node)) : void(outer["a"] = std::move(node));
        node = std::move(outer);
      }
      return;
    }
    case 1:
      if (!Pool().empty()) node = OneOf(Pool(), rng);
      return;
    case 2: {
      const Json copy = *OneOf(nodes, rng);
      node = copy;
      return;
    }
    case 3:
    case 4:
      if (node.is_number_integer()) {
        const auto step = UniformInt(rng, 2) * 2 - 1;
        node = static_cast<std::int64_t>(static_cast<std::uint64_t>(node.get<std::int64_t>()) +
                                         static_cast<std::uint64_t>(step));
        return;
      }
      if (node.is_string() && !node.get_ref<std::string&>().empty()) {
        auto& text = node.get_ref<std::string&>();
        const auto at = static_cast<std::size_t>(UniformInt(rng, static_cast<int>(text.size())));
        OneIn(2, rng) ? void(text.erase(at, 1))
                      : void(text.insert(at, 1, static_cast<char>(UniformInt(rng, 127))));
        return;
      }
      [[fallthrough]];
    case 5:
      node = OneIn(2, rng) ? Json::array() : Json::object();
      return;
    default:
      node = OddScalar(rng);
  }
}

}  // namespace

void ChangeTree(Json& tree, Rng& rng) {
  std::vector<Json*> nodes;
  ListNodes(tree, nodes);
  if (OneIn(8, rng)) Remember(*OneOf(nodes, rng), rng);
  const int changes = 1 + UniformInt(rng, 3);
  for (int i = 0; i < changes; ++i) {
    nodes.clear();  // a change moves nodes
    ListNodes(tree, nodes);
    ChangeNode(*OneOf(nodes, rng), nodes, rng);
  }
}

}  // namespace emplace::fuzz
