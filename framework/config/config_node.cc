#include "framework/config/config_node.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/config/yaml_tree.h"

namespace emplace {

using internal::YamlKind;
using internal::YamlValue;
using ValuePtr = std::shared_ptr<const YamlValue>;

// A value of the shared tree and its path of keys.
struct ConfigNode::Impl {
  ValuePtr value;
  std::string path;
};

namespace {

constexpr std::int64_t kMaxConfigBytes = std::int64_t{16} << 20;

std::string JoinPath(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::optional<size_t> ParseIndex(std::string_view text) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return index;
}

// "010" is eight for some readers of YAML and ten for others.
bool HasLeadingZero(std::string_view number) {
  if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

template <class Number>
bool ParseWhole(std::string_view text, Number& number) {
  if (text.starts_with("+-") || HasLeadingZero(text)) return false;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// Parses a scalar with one of the parsers of units.h and puts the place before its message.
template <class Quantity>
Quantity ParseScalar(const ConfigNode& node,
                     const char* what,
                     Quantity (*parse)(std::string_view)) {
  if (!node.IsScalar()) {
    node.Fail(fmt::format("expected a {} with a unit, got {}",
                          what,
                          node.IsMap() ? "a map" : (node.IsNull() ? "nothing" : "a list")));
  }
  return AtPlace(node.Where(), [&] { return parse(node.AsString()); });
}

// Returns a copy of `value` in which `leaf` replaces `path`. Adds missing maps on the path.
ValuePtr Replace(const ValuePtr& value,
                 std::string_view path,
                 const std::string& whole_path,
                 const ValuePtr& leaf) {
  const size_t dot = path.find('.');
  const std::string key(path.substr(0, dot));
  const bool is_last = dot == std::string_view::npos;
  const std::string_view rest = is_last ? std::string_view{} : path.substr(dot + 1);
  const std::string where = fmt::format(
      "{}: {}", internal::FormatPlace(*leaf->file, leaf->line, leaf->column), whole_path);
  if (key.empty()) throw InputError(fmt::format("{}: the path has an empty key", where));

  auto copy = std::make_shared<YamlValue>();
  if (value != nullptr && value->kind != YamlKind::kNull) {
    *copy = *value;
  } else {
    copy->kind = YamlKind::kMap;
    copy->file = leaf->file;
  }
  switch (copy->kind) {
    case YamlKind::kMap: {
      const auto found = std::find_if(
          copy->entries.begin(), copy->entries.end(), [&](const auto& e) { return e.key == key; });
      const ValuePtr old = found != copy->entries.end() ? found->value : nullptr;
      const ValuePtr made = is_last ? leaf : Replace(old, rest, whole_path, leaf);
      if (found != copy->entries.end()) {
        found->value = made;
        if (is_last) {
          found->file = leaf->file;
          found->line = leaf->line;
          found->column = leaf->column;
        }
      } else {
        copy->entries.push_back({key, made, leaf->file, leaf->line, leaf->column});
      }
      break;
    }
    case YamlKind::kSequence: {
      const auto index = ParseIndex(key);
      const size_t size = copy->elements.size();
      if (!index || *index >= size) {
        throw InputError(
            fmt::format("{}: expected an index from 0 to {} into the list, got \"{}\"{}",
                        where,
                        static_cast<std::int64_t>(size) - 1,
                        key,
                        size == 0 ? "; the list is empty" : ""));
      }
      copy->elements[*index] =
          is_last ? leaf : Replace(copy->elements[*index], rest, whole_path, leaf);
      break;
    }
    default:
      throw InputError(fmt::format("{}: found {} instead of a map or a list above \"{}\"",
                                   where,
                                   internal::Describe(*copy),
                                   key));
  }
  return copy;
}

}  // namespace

ConfigNode::ConfigNode() : ConfigNode(nullptr) {
  auto value = std::make_shared<YamlValue>();
  value->kind = YamlKind::kMap;
  value->file = std::make_shared<const std::string>("config");
  impl_ = std::make_shared<const Impl>(Impl{std::move(value), ""});
}

ConfigNode::ConfigNode(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {
}

ConfigNode ConfigNode::FromFile(const std::filesystem::path& path) {
  return FromString(ReadFile(path, kMaxConfigBytes), path.string());
}

ConfigNode ConfigNode::FromString(const std::string& text, const std::string& name) {
  ValuePtr value = internal::ParseYaml(text, name, internal::Places::kKeep);
  if (value->kind == YamlKind::kNull) {  // an empty file: all defaults
    auto empty = std::make_shared<YamlValue>(*value);
    empty->kind = YamlKind::kMap;
    value = std::move(empty);
  }
  return ConfigNode(std::make_shared<const Impl>(Impl{std::move(value), ""}));
}

bool ConfigNode::IsMap() const {
  return impl_->value->kind == YamlKind::kMap;
}
bool ConfigNode::IsSequence() const {
  return impl_->value->kind == YamlKind::kSequence;
}
bool ConfigNode::IsScalar() const {
  return impl_->value->kind == YamlKind::kScalar;
}
bool ConfigNode::IsNull() const {
  return impl_->value->kind == YamlKind::kNull;
}

std::vector<std::string> ConfigNode::Keys() const {
  if (!IsMap()) {
    Fail(fmt::format("expected a map (key: value), got {}", internal::Describe(*impl_->value)));
  }
  std::vector<std::string> keys;
  for (const auto& entry : impl_->value->entries) keys.push_back(entry.key);
  return keys;
}

bool ConfigNode::Has(std::string_view key) const {
  const auto& entries = impl_->value->entries;
  return std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return e.key == key; });
}

ConfigNode ConfigNode::At(std::string_view key) const {
  if (!IsMap()) Keys();  // throws
  for (const auto& entry : impl_->value->entries) {
    if (entry.key == key) {
      return ConfigNode(
          std::make_shared<const Impl>(Impl{entry.value, JoinPath(impl_->path, key)}));
    }
  }
  Fail(fmt::format("the required key \"{}\" is missing", key));
}

std::vector<ConfigNode> ConfigNode::Elements() const {
  if (!IsSequence()) {
    Fail(fmt::format("expected a list, got {}", internal::Describe(*impl_->value)));
  }
  std::vector<ConfigNode> nodes;
  for (const ValuePtr& element : impl_->value->elements) {
    nodes.push_back(ConfigNode(std::make_shared<const Impl>(
        Impl{element, JoinPath(impl_->path, std::to_string(nodes.size()))})));
  }
  return nodes;
}

std::string ConfigNode::AsString() const {
  if (!IsScalar()) Fail(fmt::format("expected a text, got {}", internal::Describe(*impl_->value)));
  return impl_->value->scalar;
}

bool ConfigNode::AsBool() const {
  const YamlValue& value = *impl_->value;
  if (IsScalar() && !value.quoted) {
    if (value.scalar == "true" || value.scalar == "yes") return true;
    if (value.scalar == "false" || value.scalar == "no") return false;
  }
  Fail(fmt::format("expected true or false, got {}", internal::Describe(value)));
}

std::int64_t ConfigNode::AsInt() const {
  const YamlValue& value = *impl_->value;
  std::int64_t number = 0;
  if (IsScalar() && !value.quoted && ParseWhole(value.scalar, number)) return number;
  Fail(fmt::format("expected a whole number (64 bits), got {}", internal::Describe(value)));
}

double ConfigNode::AsDouble() const {
  const YamlValue& value = *impl_->value;
  double number = 0;
  if (IsScalar() && !value.quoted && ParseWhole(value.scalar, number) && std::isfinite(number)) {
    return number;
  }
  Fail(fmt::format("expected a finite number, got {}", internal::Describe(value)));
}

Nanos ConfigNode::AsTime() const {
  return ParseScalar(*this, "time", ParseTime);
}
std::int64_t ConfigNode::AsBytes() const {
  return ParseScalar(*this, "size", ParseBytes);
}
Bandwidth ConfigNode::AsBandwidth() const {
  return ParseScalar(*this, "bandwidth", ParseBandwidth);
}
double ConfigNode::AsFlopRate() const {
  return ParseScalar(*this, "FLOP rate", ParseFlopRate);
}

void ConfigNode::Set(std::string_view path, const std::string& value, const std::string& origin) {
  ValuePtr leaf =
      internal::ParseYaml(value, fmt::format("{}: {}", origin, path), internal::Places::kDrop);
  leaf = internal::WithFile(leaf, origin);
  ValuePtr root = Replace(impl_->value, path, JoinPath(impl_->path, path), leaf);
  impl_ = std::make_shared<const Impl>(Impl{std::move(root), impl_->path});
}

void ConfigNode::Put(std::string_view path, const ConfigNode& value) {
  ValuePtr root = Replace(impl_->value, path, JoinPath(impl_->path, path), value.impl_->value);
  impl_ = std::make_shared<const Impl>(Impl{std::move(root), impl_->path});
}

void ConfigNode::RequireKnownKeys(std::span<const std::string> known) const {
  for (const std::string& key : Keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    for (const auto& entry : impl_->value->entries) {
      if (entry.key != key) continue;
      const std::string place = internal::FormatPlace(*entry.file, entry.line, entry.column);
      ThrowUnknown(impl_->path.empty() ? place : fmt::format("{}: {}", place, impl_->path),
                   "key",
                   key,
                   known);
    }
  }
}

std::string ConfigNode::Where() const {
  const YamlValue& value = *impl_->value;
  const std::string place = internal::FormatPlace(*value.file, value.line, value.column);
  return impl_->path.empty() ? place : fmt::format("{}: {}", place, impl_->path);
}

void ConfigNode::Fail(const std::string& message) const {
  throw InputError(fmt::format("{}: {}", Where(), message));
}

std::string ConfigNode::Dump() const {
  return internal::FormatYaml(*impl_->value);
}

std::string QuoteYaml(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace emplace
