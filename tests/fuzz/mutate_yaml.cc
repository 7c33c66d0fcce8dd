#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/config/config_node.h"
#include "tests/fuzz/json_tree.h"
#include "tests/fuzz/mutators.h"

namespace emplace::fuzz {
namespace {

// Texts stay plain where YAML allows it, so that they are numbers and units.
Json TreeOf(const ConfigNode& node, int depth) {
  if (depth > 60) return nullptr;
  if (node.IsMap()) {
    Json map = Json::object();
    for (const std::string& key : node.Keys()) map[key] = TreeOf(node.At(key), depth + 1);
    return map;
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const ConfigNode& element : node.Elements()) list.push_back(TreeOf(element, depth + 1));
    return list;
  }
  return node.IsScalar() ? Json(node.AsString()) : Json(nullptr);
}

bool IsPlain(const std::string& text) {
  if (text.empty() || text.front() == '-' || text.front() == ' ' || text.back() == ' ')
    return false;
  for (const char c : text) {
    const bool is_letter =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && std::string_view("._/+-% ").find(c) == std::string_view::npos) return false;
  }
  return true;
}

class Writer {
 public:
  explicit Writer(Rng& rng) : rng_(rng) {}

  std::string Write(const Json& tree) {
    Node(tree, 0, OneIn(3, rng_));
    return std::move(text_);
  }

 private:
  void Scalar(const Json& value) {
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      IsPlain(text) && !OneIn(30, rng_)
          ? void(text_ += text)
          : void(text_ += value.dump(-1, ' ', true, Json::error_handler_t::replace));
    } else {
      text_ += value.is_null() ? OneIn(2, rng_) ? "~" : "" : value.dump();
    }
  }

  // Sometimes an anchor before the value, or an alias in its place. @return is it an alias?
  bool Anchor() {
    if (!anchored_.empty() && OneIn(60, rng_)) {
      text_ += "*" + std::string(OneOf(anchored_, rng_)) + " ";
      return true;
    }
    if (OneIn(60, rng_)) {
      static const std::array<std::string, 3> kNames = {"a", "b", "c"};
      anchored_.push_back(OneOf(kNames, rng_));
      text_ += "&" + anchored_.back() + " ";
    }
    return false;
  }

  void Node(const Json& value, int indent, bool flow) {
    if (Anchor()) return;
    if (!value.is_structured() || value.empty()) {
      return value.is_structured() ? void(text_ += value.is_array() ? "[]" : "{}") : Scalar(value);
    }
    flow = flow || OneIn(6, rng_) || indent > 40;
    if (flow) return Flow(value, indent);
    const std::string margin = "\n" + std::string(static_cast<std::size_t>(indent), ' ');
    if (value.is_array()) {
      for (const Json& element : value) {
        text_ += margin + "- ";
        Node(element, indent + 2, false);
      }
      return;
    }
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      text_ += margin;
      Scalar(Json(key));
      text_ += ": ";
      Node(member, indent + 2, false);
    }
  }

  void Flow(const Json& value, int indent) {
    text_ += value.is_array() ? "[" : "{";
    bool first = true;
    const auto separate = [&] {
      if (!first) text_ += ", ";
      first = false;
    };
    if (value.is_array()) {
      for (const Json& element : value) {
        separate();
        Node(element, indent, true);
      }
    } else {
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        separate();
        Scalar(Json(key));
        text_ += ": ";
        Node(member, indent, true);
      }
    }
    text_ += value.is_array() ? "]" : "}";
  }

  Rng& rng_;
  std::string text_;
  std::vector<std::string> anchored_;
};

// Signs of YAML's own, somewhere; or whole lines.
std::string ChangeLines(std::string text, Rng& rng) {
  static const std::array<std::string, 27> kSigns = {
      "&a ", "*a", "!!binary ",    "? ",   "- ",    "---\n", "...\n", "|\n",      ">-\n",
      "\"",  "'",  "%YAML 1.2",    "<<: ", "#",     "\t",    "{",     "[",        "]",
      "}",   ": ", "\xef\xbb\xbf", ",",    "!<x> ", "\\",    "\r",    "- - - - ", "? ? ? "};
  const auto place = [&] {
    return static_cast<std::size_t>(UniformInt(rng, static_cast<int>(text.size()) + 1));
  };
  const std::size_t begin = text.rfind('\n', place()) + 1;  // npos + 1 == 0
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  switch (UniformInt(rng, 6)) {
    case 0:
      text.erase(begin, end - begin + 1);
      return text;
    case 1:
      return text.insert(begin, text.substr(begin, end - begin) + "\n");
    case 2:
      return text.insert(begin, static_cast<std::size_t>(UniformInt(rng, 6)), ' ');
    case 3: {
      std::string nest;
      const std::string& sign = OneOf(kSigns, rng);
      for (int i = 0; i < 1500; ++i) nest += sign;
      return text.insert(place(), nest);
    }
    default:
      return text.insert(place(), OneOf(kSigns, rng));
  }
}

}  // namespace

std::string MutateYaml(std::string_view input, const Mutation& mutation) {
  Rng& rng = mutation.rng;
  if (OneIn(10, rng)) return mutation.bytes(input, mutation.most);
  if (OneIn(5, rng)) return ChangeLines(std::string(input), rng);
  Json tree;
  if (!Reads([&] { tree = TreeOf(ConfigNode::FromString(std::string(input), "mutated"), 0); })) {
    return OneIn(2, rng) ? ChangeLines(std::string(input), rng)
                         : mutation.bytes(input, mutation.most);
  }
  ChangeTree(tree, rng);
  return Writer(rng).Write(tree);
}

}  // namespace emplace::fuzz
