#include "framework/config/yaml_tree.h"

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "framework/base/error.h"

namespace emplace::internal {
namespace {

using ValuePtr = std::shared_ptr<const YamlValue>;
using FilePtr = std::shared_ptr<const std::string>;

constexpr size_t kShown = 60;
constexpr std::int64_t kWeight = 64;  // [B] of a value besides its text

std::string Quote(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kShown)) {
    shown += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return fmt::format("\"{}\"{}", shown, text.size() > kShown ? "..." : "");
}

// Builds the tree from yaml-cpp's events. With yaml-cpp's own Node, a later duplicate key would
// replace an earlier one without an error.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(FilePtr file, Places places) : file_(std::move(file)), places_(places) {}

  ValuePtr TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(MakeValue(YamlKind::kNull, mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Fail(mark, "an alias (*) inside the value of its own anchor");
    Weigh(mark, found->second->weight);
    Add(found->second, 0);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& text) override {
    if (tag != "?" && tag != "!" && !tag.empty()) RefuseTag(mark, tag);
    auto value = MakeValue(YamlKind::kScalar, mark);
    value->scalar = text;
    value->weight += static_cast<std::int64_t>(text.size());
    Weigh(mark, static_cast<std::int64_t>(text.size()));
    value->quoted = tag == "!";
    if (value->quoted) last_quoted_ = mark;
    Add(std::move(value), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlKind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlKind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

  // yaml-cpp extends a text with an unclosed quote to the end of the file.
  void RequireClosedQuotes(const std::string& text) const {
    if (last_quoted_.is_null() || last_quoted_.pos >= static_cast<int>(text.size())) return;
    const size_t begin = static_cast<size_t>(last_quoted_.pos);
    const char quote = text[begin];
    if (quote != '"' && quote != '\'') return;
    for (size_t i = begin + 1; i < text.size(); ++i) {
      const bool is_doubled = quote == '\'' && text.compare(i, 2, "''") == 0;
      if (is_doubled || (quote == '"' && text[i] == '\\')) {
        ++i;
      } else if (text[i] == quote) {
        return;
      }
    }
    Fail(last_quoted_, "malformed YAML: the quote is never closed");
  }

  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& message) const {
    const bool has_place = places_ == Places::kKeep && !mark.is_null();
    throw InputError(fmt::format(
        "{}: {}",
        FormatPlace(*file_, has_place ? mark.line + 1 : 0, has_place ? mark.column + 1 : 0),
        message));
  }

 private:
  // An unfinished map or list.
  struct Frame {
    std::shared_ptr<YamlValue> value;
    YAML::anchor_t anchor;
    bool awaits_value = false;                         // the key of a map has been read
    std::unordered_map<std::string, int> line_of_key;  // keys so far
  };

  std::shared_ptr<YamlValue> MakeValue(YamlKind kind, const YAML::Mark& mark) {
    Weigh(mark, kWeight);
    auto value = std::make_shared<YamlValue>();
    value->kind = kind;
    value->weight = kWeight;
    value->file = file_;
    if (places_ == Places::kKeep && !mark.is_null()) {
      value->line = mark.line + 1;
      value->column = mark.column + 1;
    }
    return value;
  }

  void Weigh(const YAML::Mark& mark, std::int64_t weight) {
    weight_ += weight;  // each weight is at most twice the limit: no overflow
    if (weight_ > kMaxYamlWeight) {
      Fail(mark,
           fmt::format("more than {} values, where the values of an alias count at each use",
                       kMaxYamlWeight / kWeight));
    }
  }

  YAML::Mark MarkOf(const YamlValue& value) const {
    YAML::Mark mark;
    mark.line = value.line - 1;
    mark.column = value.column - 1;
    return mark;
  }

  [[noreturn]] void RefuseTag(const YAML::Mark& mark, const std::string& tag) const {
    Fail(mark, fmt::format("the tag {} is not supported", Quote(tag)));
  }

  void Open(YamlKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (tag != "?" && tag != "!" && !tag.empty()) RefuseTag(mark, tag);
    stack_.push_back({MakeValue(kind, mark), anchor, false, {}});
  }

  void Close() {
    const Frame frame = std::move(stack_.back());
    stack_.pop_back();
    Add(frame.value, frame.anchor);
  }

  void Add(ValuePtr value, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = value;
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = stack_.back();
    frame.value->weight += value->weight;
    if (frame.value->kind == YamlKind::kSequence) {
      frame.value->elements.push_back(std::move(value));
    } else if (frame.awaits_value) {
      frame.value->entries.back().value = std::move(value);
      frame.awaits_value = false;
    } else {
      AddKey(frame, *value);
    }
  }

  void AddKey(Frame& frame, const YamlValue& key) {
    if (key.kind != YamlKind::kScalar) {
      Fail(MarkOf(key), fmt::format("expected a text as key, got {}", Describe(key)));
    }
    const auto [first, is_new] = frame.line_of_key.emplace(key.scalar, key.line);
    if (!is_new) {
      Fail(MarkOf(key),
           fmt::format("duplicate key {}{}",
                       Quote(key.scalar),
                       first->second > 0 ? fmt::format(", first in line {}", first->second) : ""));
    }
    frame.value->entries.push_back({key.scalar, nullptr, key.file, key.line, key.column});
    frame.awaits_value = true;
  }

  FilePtr file_;
  Places places_;
  std::vector<Frame> stack_;
  std::int64_t weight_ = 0;  // of the document so far
  std::map<YAML::anchor_t, ValuePtr> anchors_;
  YAML::Mark last_quoted_ = YAML::Mark::null_mark();
  ValuePtr root_;
};

// A stream over text, without a copy of it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(const std::string& text) {
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

bool IsControl(unsigned char c) {
  return c < ' ' || c == '\x7f';
}

void Emit(YAML::Emitter& out, const YamlValue& value) {
  switch (value.kind) {
    case YamlKind::kNull:
      out << YAML::Null;
      break;
    case YamlKind::kScalar:
      // Unquoted control characters do not survive a second read: "\r" alone becomes null.
      if (value.quoted || std::ranges::any_of(value.scalar, IsControl)) out << YAML::DoubleQuoted;
      out << value.scalar;
      break;
    case YamlKind::kSequence:
      out << YAML::BeginSeq;
      for (const ValuePtr& element : value.elements) Emit(out, *element);
      out << YAML::EndSeq;
      break;
    case YamlKind::kMap:
      out << YAML::BeginMap;
      for (const YamlValue::Entry& entry : value.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        Emit(out, *entry.value);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

ValuePtr ParseYaml(const std::string& text, const std::string& name, Places places) {
  const auto file = std::make_shared<const std::string>(name);
  TreeBuilder builder(file, places);
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    builder.RequireClosedQuotes(text);
    ValuePtr root = builder.TakeRoot();
    TreeBuilder second(file, places);
    if (parser.HandleNextDocument(second)) {
      const ValuePtr other = second.TakeRoot();
      throw InputError(fmt::format("{}: expected one YAML document, found a second one",
                                   FormatPlace(name, other->line, other->column)));
    }
    if (root != nullptr) return root;
  } catch (const YAML::Exception& error) {
    builder.Fail(error.mark, "malformed YAML: " + error.msg);
  }
  auto nothing = std::make_shared<YamlValue>();
  nothing->file = file;
  return nothing;
}

ValuePtr WithFile(const ValuePtr& value, const std::string& file) {
  const auto shared = std::make_shared<const std::string>(file);
  const auto copy = [&](const auto& self, const YamlValue& old) -> ValuePtr {
    auto made = std::make_shared<YamlValue>(old);
    made->file = shared;
    for (ValuePtr& element : made->elements) element = self(self, *element);
    for (YamlValue::Entry& entry : made->entries) {
      entry.file = shared;
      entry.value = self(self, *entry.value);
    }
    return made;
  };
  return copy(copy, *value);
}

std::string FormatYaml(const YamlValue& value) {
  YAML::Emitter out;
  out.SetIndent(2);
  Emit(out, value);
  EMPLACE_CHECK(out.good(), out.GetLastError());
  return std::string(out.c_str()) + "\n";
}

std::string FormatPlace(const std::string& file, int line, int column) {
  return line > 0 ? fmt::format("{}:{}:{}", file, line, column) : file;
}

std::string Describe(const YamlValue& value) {
  switch (value.kind) {
    case YamlKind::kNull:
      return "nothing";
    case YamlKind::kScalar:
      return (value.quoted ? "the text " : "") + Quote(value.scalar);
    case YamlKind::kSequence:
      return "a list";
    case YamlKind::kMap:
      return "a map";
  }
  return "";
}

}  // namespace emplace::internal
