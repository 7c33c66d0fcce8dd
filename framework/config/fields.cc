#include "framework/config/fields.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/config/setting_error.h"

namespace emplace {
namespace {

// Returns "of at least 1" or "from 1 to 10".
std::string InWords(const NumberRange& range) {
  return range.high == std::numeric_limits<double>::infinity()
             ? fmt::format("of at least {}", range.low)
             : fmt::format("from {} to {}", range.low, range.high);
}

class Reader : public FieldVisitor {
 public:
  /// @param prefix  of the keys, for messages about values that the node does not set
  explicit Reader(const ConfigNode& node, std::string prefix = "")
      : node_(node), prefix_(std::move(prefix)) {
    if (!node.IsMap()) node.Keys();  // throws
  }

  void Field(const char* key, bool& value, const char*) override {
    if (Take(key)) value = node_.At(key).AsBool();
  }
  void Field(const char* key, int& value, const char*) override {
    if (!Take(key)) return;
    const ConfigNode field = node_.At(key);
    const std::int64_t number = field.AsInt();
    using Limits = std::numeric_limits<int>;
    if (number < Limits::min() || number > Limits::max()) {
      field.Fail(fmt::format(
          "expected a whole number from {} to {}, got {}", Limits::min(), Limits::max(), number));
    }
    value = static_cast<int>(number);
  }
  void Field(const char* key, std::int64_t& value, const char*) override {
    if (Take(key)) value = node_.At(key).AsInt();
  }
  void Field(const char* key, double& value, const char*) override {
    if (Take(key)) value = node_.At(key).AsDouble();
  }
  void Field(const char* key, std::string& value, const char*) override {
    if (Take(key)) value = node_.At(key).AsString();
  }
  void Field(const char* key, std::vector<std::string>& value, const char*) override {
    if (!Take(key)) return;
    value.clear();
    for (const ConfigNode& element : node_.At(key).Elements()) value.push_back(element.AsString());
  }
  void Field(const char* key, std::vector<double>& value, const char*) override {
    if (!Take(key)) return;
    value.clear();
    for (const ConfigNode& element : node_.At(key).Elements()) value.push_back(element.AsDouble());
  }
  void Field(const char* key, ConfigNode& value, const char*) override {
    if (Take(key)) value = node_.At(key);
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
  void Bound(const char* key, double value, const NumberRange& range) override {
    if (value >= range.low && value <= range.high) return;
    const std::string wrong = fmt::format("expected a number {}, got {}", InWords(range), value);
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

// Visits every leaf of a config as YAML text. The writer and the help use the text differently.
class TextVisitor : public FieldVisitor {
 public:
  void Field(const char* key, bool& value, const char* help) override {
    Leaf(key, value ? "true" : "false", help);
  }
  void Field(const char* key, int& value, const char* help) override {
    Leaf(key, fmt::to_string(value), help);
  }
  void Field(const char* key, std::int64_t& value, const char* help) override {
    Leaf(key, fmt::to_string(value), help);
  }
  void Field(const char* key, double& value, const char* help) override {
    Leaf(key, fmt::to_string(value), help);
  }
  void Field(const char* key, std::string& value, const char* help) override {
    Leaf(key, FormatText(value), help);
  }
  void Field(const char* key, std::vector<std::string>& value, const char* help) override {
    std::vector<std::string> texts;
    for (const std::string& text : value) texts.push_back(FormatText(text));
    Leaf(key, fmt::format("[{}]", fmt::join(texts, ", ")), help);
  }
  void Field(const char* key, std::vector<double>& value, const char* help) override {
    Leaf(key, fmt::format("[{}]", fmt::join(value, ", ")), help);
  }
  void Field(const char* key, ConfigNode& value, const char* help) override {
    std::string text = value.Dump();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const bool is_empty = text == "{}" || text == "[]";
    if ((value.IsMap() || value.IsSequence()) && !is_empty) {
      Block(key, text, help);
    } else {
      Leaf(key, text, help);
    }
  }

 protected:
  /// @param text  YAML of one line
  virtual void Leaf(const char* key, const std::string& text, const char* help) = 0;
  /// @param text  block style YAML of a map or list that is not empty
  virtual void Block(const char* key, const std::string& text, const char* help) = 0;
};

class Writer : public TextVisitor {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void AddedField(const char* key,
                  std::string& value,
                  std::string_view default_value,
                  const char* help) override {
    if (value != default_value) Field(key, value, help);
  }
  void AddedField(const char* key, std::vector<std::string>& value, const char* help) override {
    if (!value.empty()) Field(key, value, help);
  }
  bool IsWritten(bool differs) const override { return differs; }

  void Group(const char* key,
             const char*,
             const std::function<void(FieldVisitor&)>& visit) override {
    Writer nested(indent_ + 2);
    visit(nested);
    Line(key, nested.text_.empty() ? " {}\n" : "\n" + nested.text_);
  }

  std::string TakeText() { return text_.empty() ? "{}\n" : std::move(text_); }

 private:
  void Leaf(const char* key, const std::string& text, const char*) override {
    Line(key, " " + text + "\n");
  }
  void Block(const char* key, const std::string& text, const char*) override {
    std::string block = "\n";
    const std::string margin(indent_ + 2, ' ');
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      block += margin + text.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
    Line(key, block);
  }

  void Line(const char* key, const std::string& rest) {
    text_ += std::string(indent_, ' ') + key + ":" + rest;
  }

  int indent_;
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

std::string WriteFrom(const std::function<void(FieldVisitor&)>& visit) {
  Writer writer(0);
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
}  // namespace emplace
