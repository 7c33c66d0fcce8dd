#include "framework/config/fields.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

constexpr const char* kNone = "none";  // an optional number without a value

// Returns "of at least 1" or "from 1 to 10".
std::string InWords(const NumberRange& range) {
  return range.high == std::numeric_limits<double>::infinity()
             ? fmt::format("of at least {}", range.low)
             : fmt::format("from {} to {}", range.low, range.high);
}

template <class T>
void ReadValue(const ConfigNode& node, T& value) {
  if constexpr (std::is_same_v<T, bool>) value = node.AsBool();
  if constexpr (std::is_same_v<T, std::int64_t>) value = node.AsInt();
  if constexpr (std::is_same_v<T, double>) value = node.AsDouble();
  if constexpr (std::is_same_v<T, std::string>) value = node.AsString();
  if constexpr (std::is_same_v<T, ConfigNode>) value = node;
  if constexpr (std::is_same_v<T, int>) {
    const std::int64_t number = node.AsInt();
    using Limits = std::numeric_limits<int>;
    if (number < Limits::min() || number > Limits::max()) {
      node.Fail(fmt::format(
          "expected a whole number from {} to {}, got {}", Limits::min(), Limits::max(), number));
    }
    value = static_cast<int>(number);
  }
}

template <class T>
void ReadValue(const ConfigNode& node, std::vector<T>& values) {
  values.clear();
  for (const ConfigNode& element : node.Elements()) ReadValue(element, values.emplace_back());
}

template <class T>
void ReadValue(const ConfigNode& node, std::optional<T>& value) {
  value.reset();
  if (node.IsScalar() && node.AsString() == kNone) return;
  ReadValue(node, value.emplace());
}

class Reader : public FieldVisitor {
 public:
  /// @param prefix  of the keys, for messages about values that the node does not set
  explicit Reader(const ConfigNode& node, std::string prefix = "")
      : node_(node), prefix_(std::move(prefix)) {
    if (!node.IsMap()) node.Keys();  // throws
  }

  void Group(const char* key,
             const char*,
             const std::function<void(FieldVisitor&)>& visit) override {
    Reader nested(Take(key) ? node_.At(key) : ConfigNode(), prefix_ + key + ".");
    visit(nested);
    nested.Finish();
  }

  void Finish() const { node_.RequireKnownKeys(known_); }

 private:
  void Value(const char* key, FieldValue value, const char*) override {
    if (!Take(key)) return;
    std::visit([&](auto* target) { ReadValue(node_.At(key), *target); }, value);
  }
  void Bound(const char* key, double value, const NumberRange& range) override {
    Check(key, value, range, "");
  }
  void OptionalBound(const char* key,
                     std::optional<double> value,
                     const NumberRange& range) override {
    if (value) Check(key, *value, range, " or none");
  }
  void Check(const char* key, double value, const NumberRange& range, const char* alternative) {
    if (value >= range.low && value <= range.high) return;
    const std::string wrong =
        fmt::format("expected a number {}{}, got {}", InWords(range), alternative, value);
    if (node_.Has(key)) node_.At(key).Fail(wrong);
    throw SettingError(prefix_ + key, wrong);
  }
  // Registers the key. @return whether the node has it
  bool Take(const char* key) {
    EMPLACE_CHECK(std::find(known_.begin(), known_.end(), key) == known_.end(), key);
    known_.push_back(key);
    return node_.Has(key);
  }

  ConfigNode node_;
  std::string prefix_;
  std::vector<std::string> known_;
};

// Returns a double-quoted YAML scalar, or the plain text if it can only be read as a text.
std::string FormatText(const std::string& text) {
  static const std::set<std::string, std::less<>> kSpecial{
      "true", "false", "yes", "no", "null", "Null", "NULL", "on", "off", "nan", "inf"};
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/' || c == '.' || c == '-';
  };
  const bool starts_plain = !text.empty() &&
                            (is_plain(text[0]) && !(text[0] >= '0' && text[0] <= '9')) &&
                            text[0] != '-' && text[0] != '.';
  if (starts_plain && std::all_of(text.begin(), text.end(), is_plain) && !kSpecial.count(text)) {
    return text;
  }
  return QuoteYaml(text);
}

template <class T>
std::string TextOf(const T& value) {
  return fmt::to_string(value);
}
template <class T>
std::string TextOf(const std::optional<T>& value) {
  return value ? TextOf(*value) : kNone;
}
std::string TextOf(const std::string& value) {
  return FormatText(value);
}
std::string TextOf(const ConfigNode& value) {
  std::string text = value.Dump();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}
template <class T>
std::string TextOf(const std::vector<T>& values) {
  std::vector<std::string> texts;
  for (const T& value : values) texts.push_back(TextOf(value));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// Visits every leaf of a config as YAML text. The writer and the help use the text differently.
class TextVisitor : public FieldVisitor {
 protected:
  /// @param text  YAML of one line
  virtual void Leaf(const char* key, const std::string& text, const char* help) = 0;
  /// @param text  block style YAML of a map or list that is not empty
  virtual void Block(const char* key, const std::string& text, const char* help) = 0;

 private:
  void Value(const char* key, FieldValue value, const char* help) override {
    const std::string text = std::visit([](auto* of) { return TextOf(*of); }, value);
    const auto* const node = std::get_if<ConfigNode*>(&value);
    const bool is_tree = node != nullptr && ((*node)->IsMap() || (*node)->IsSequence());
    if (is_tree && text != "{}" && text != "[]") {
      Block(key, text, help);
    } else {
      Leaf(key, text, help);
    }
  }
};

class Writer : public TextVisitor {
 public:
  Writer(int indent, bool whole) : indent_(indent), whole_(whole) {}

  bool IsWritten(bool differs) const override { return whole_ || differs; }

  void Group(const char* key,
             const char*,
             const std::function<void(FieldVisitor&)>& visit) override {
    Writer nested(indent_ + 2, whole_);
    visit(nested);
    Line(key, nested.text_.empty() ? " {}\n" : "\n" + nested.text_);
  }

  std::string TakeText() { return text_.empty() ? "{}\n" : std::move(text_); }

 private:
  void Leaf(const char* key, const std::string& text, const char*) override {
    Line(key, " " + text + "\n");
  }
  void Block(const char* key, const std::string& text, const char*) override {
    Line(key, "\n" + IndentLines(text, indent_ + 2));
  }

  void Line(const char* key, const std::string& rest) {
    text_ += std::string(indent_, ' ') + key + ":" + rest;
  }

  int indent_;
  bool whole_;
  std::string text_;
};

class Helper : public TextVisitor {
 public:
  explicit Helper(std::string prefix, std::vector<FieldHelp>& fields)
      : prefix_(std::move(prefix)), fields_(fields) {}

  void Group(const char* key,
             const char* help,
             const std::function<void(FieldVisitor&)>& visit) override {
    fields_.push_back({prefix_ + key, "", help});
    Helper nested(prefix_ + key + ".", fields_);
    visit(nested);
  }

 private:
  void Leaf(const char* key, const std::string& text, const char* help) override {
    fields_.push_back({prefix_ + key, text, help});
  }
  void Bound(const char*, double, const NumberRange& range) override {
    fields_.back().help += fmt::format("; a number {}", InWords(range));
    fields_.back().range = range;
  }
  void OptionalBound(const char* key, std::optional<double>, const NumberRange& range) override {
    Bound(key, 0, range);
    fields_.back().help += " or none";
  }
  void Block(const char* key, const std::string& text, const char* help) override {
    Leaf(key, text, help);
  }

  std::string prefix_;
  std::vector<FieldHelp>& fields_;
};

}  // namespace

namespace internal {

void ReadInto(const ConfigNode& node, const std::function<void(FieldVisitor&)>& visit) {
  Reader reader(node);
  visit(reader);
  reader.Finish();
}

std::string WriteFrom(const std::function<void(FieldVisitor&)>& visit, bool whole) {
  Writer writer(0, whole);
  visit(writer);
  return writer.TakeText();
}

std::vector<FieldHelp> HelpFrom(const std::function<void(FieldVisitor&)>& visit) {
  std::vector<FieldHelp> fields;
  Helper helper("", fields);
  visit(helper);
  return fields;
}

}  // namespace internal

std::string IndentLines(const std::string& text, std::size_t margin) {
  std::string indented;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    indented += std::string(margin, ' ') + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return indented;
}

}  // namespace emplace
