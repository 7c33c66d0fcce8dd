#include "framework/base/json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/version.h"

namespace emplace {
namespace {

constexpr std::size_t kMaxDepth = 100;
constexpr int kMaxParts = 1'000'000;
constexpr std::size_t kMaxOutermostKeys = 10'000;
constexpr std::size_t kMaxQuoteGap = std::size_t{1} << 25;  // [B]

std::string Clipped(std::string text, std::size_t length) {
  if (text.size() <= length) return text;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  text.resize(length);
  return text + "...";
}

std::string FormatPlace(std::string_view text, std::string_view where, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return fmt::format("{}:{}:{}",
                     where,
                     1 + std::count(before.begin(), before.end(), '\n'),
                     1 + before.size() - line_start);
}

// Returns the not-a-number that writers of Python or JavaScript left around `offset`, or "".
std::string_view NonFiniteToken(std::string_view text, std::size_t offset) {
  constexpr std::array<std::string_view, 6> kTokens = {
      "-Infinity", "Infinity", "NaN", "-inf", "inf", "nan"};
  for (std::size_t at = offset > 1 ? offset - 1 : 0; at <= offset && at < text.size(); ++at) {
    for (std::string_view token : kTokens) {
      if (text.substr(at).starts_with(token)) return token;
    }
  }
  return {};
}

// Returns the reason in nlohmann's message, without its prefix and without the quoted input.
std::string ShortReason(std::string_view message) {
  const std::size_t tail = message.rfind("; expected ");
  const std::string expected(tail == message.npos ? "" : message.substr(tail));
  message = message.substr(0, std::min(tail, message.find("; last read")));
  if (const auto start = message.find(" - "); start != message.npos)
    message.remove_prefix(start + 3);
  return Clipped(std::string(message) + expected, 160);
}

// Refuses huge tokens, which are slow to read and never intended, by the gaps between quotes.
void CheckQuoteGaps(std::string_view text, std::string_view where) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t quote = std::min(text.find('"', at), text.size());
    if (quote - at > kMaxQuoteGap) {
      throw InputError(fmt::format("{}: not a JSON file of emplace: no '\"' in the next {} bytes",
                                   FormatPlace(text, where, at),
                                   kMaxQuoteGap));
    }
    at = quote + 1;
  }
}

class Reader final : public nlohmann::json_sax<Json> {
 public:
  Reader(std::string_view text,
         std::string_view where,
         std::span<const std::string_view> record_keys,
         const std::function<void(const JsonPart&)>& visit)
      : text_(text), where_(where), record_keys_(record_keys), visit_(visit) {}

  bool null() override { return Add(Json()); }
  bool boolean(bool value) override { return Add(Json(value)); }
  bool number_integer(std::int64_t value) override { return Add(Json(value)); }
  bool number_unsigned(std::uint64_t value) override { return Add(Json(value)); }
  bool number_float(double value, const std::string&) override { return Add(Json(value)); }
  bool string(std::string& value) override { return Add(Json(std::move(value))); }
  bool binary(Json::binary_t&) override { return false; }  // not possible in text

  bool start_object(std::size_t) override {
    if (!inside_) {
      inside_ = true;
      return true;
    }
    Open(Json::object());
    open_.back()->get_ref<Json::object_t&>().reserve(12);
    return true;
  }
  bool key(std::string& key) override {
    if (open_.empty()) {
      if (!keys_.insert(key).second) FailDuplicate("", key);
      if (keys_.size() > kMaxOutermostKeys) {
        throw InputError(fmt::format("{}: more than {} keys", where_, kMaxOutermostKeys));
      }
      key_ = std::move(key);
      index_ = -1;
      return true;
    }
    auto& members = open_.back()->get_ref<Json::object_t&>();
    CheckNew(members, key);
    members.emplace_back(std::move(key), nullptr);
    slot_ = &members.back().second;
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override {
    if (open_.empty() && index_ < 0 && IsRecordKey()) {
      index_ = 0;
      return true;
    }
    Open(Json::array());
    return true;
  }
  bool end_array() override {
    if (open_.empty()) {  // the end of a list of records
      index_ = -1;
      Json none = Json::array();
      visit_({key_, -1, none});
      return true;
    }
    return Close();
  }
  bool parse_error(std::size_t position,
                   const std::string&,
                   const nlohmann::detail::exception& e) override {
    const std::size_t offset = std::min(position > 0 ? position - 1 : 0, text_.size());
    const std::string place = FormatPlace(text_, where_, offset);
    const std::string context = inside_ ? Context() : "";
    if (const std::string_view token = NonFiniteToken(text_, offset); !token.empty()) {
      throw InputError(fmt::format(
          "{}: {}{} is not a JSON number; expected a finite number", place, context, token));
    }
    constexpr int kNumberOverflow = 406;
    if (e.id == kNumberOverflow) {
      throw InputError(
          fmt::format("{}: {}number out of range; expected at most 1.8e308", place, context));
    }
    throw InputError(
        fmt::format("{}: {}not valid JSON: {}", place, context, ShortReason(e.what())));
  }

 private:
  bool IsRecordKey() const {
    return std::find(record_keys_.begin(), record_keys_.end(), key_) != record_keys_.end();
  }

  // Returns "ops[3] \"conv\": flops: ", as far as it is known.
  std::string Context(bool with_member = true) const {
    std::string context = key_.empty() ? "" : Clipped(key_, 60) + ": ";
    if (index_ < 0) return context;
    context = fmt::format("{}[{}]", key_, index_);
    if (!open_.empty() && root_.is_object()) {
      const auto name = root_.find("name");
      if (name != root_.end() && name->is_string()) {
        context += fmt::format(" \"{}\"", Clipped(name->get<std::string>(), 60));
      }
      const auto& members = root_.get_ref<const Json::object_t&>();
      if (with_member && !members.empty()) context += ": " + Clipped(members.back().first, 60);
    }
    return context + ": ";
  }

  [[noreturn]] void FailDuplicate(const std::string& context, const std::string& key) const {
    throw InputError(fmt::format(
        "{}: {}duplicate key \"{}\"; expected it once", where_, context, Clipped(key, 60)));
  }

  // Compares few keys one by one, and many through a set.
  void CheckNew(const Json::object_t& members, const std::string& key) {
    constexpr std::size_t kFew = 16;
    auto& seen = seen_.back();
    bool duplicate = false;
    if (members.size() < kFew) {
      for (const auto& member : members) duplicate |= member.first == key;
    } else {
      if (seen.empty()) {
        for (const auto& member : members) seen.insert(member.first);
      }
      duplicate = !seen.insert(key).second;
    }
    if (duplicate) FailDuplicate(Context(open_.size() > 1), key);
  }

  Json* Put(Json value) {
    if (!inside_) {
      throw InputError(fmt::format("{}: contains no JSON object; expected one", where_));
    }
    if (++parts_ > kMaxParts) {
      throw InputError(
          fmt::format("{}: {}more than {} values in one place", where_, Context(), kMaxParts));
    }
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array()) {
      auto& items = open_.back()->get_ref<Json::array_t&>();
      items.push_back(std::move(value));
      return &items.back();
    }
    return &(*slot_ = std::move(value));
  }
  bool Add(Json value) {
    Put(std::move(value));
    if (open_.empty()) Finish();
    return true;
  }
  void Open(Json value) {
    if (open_.size() >= kMaxDepth) {
      throw InputError(
          fmt::format("{}: {}nested more than {} levels deep", where_, Context(), kMaxDepth));
    }
    open_.push_back(Put(std::move(value)));
    seen_.emplace_back();
  }
  bool Close() {
    if (open_.empty()) {  // the end of the outermost object
      key_.clear();
      return true;
    }
    open_.pop_back();
    seen_.pop_back();
    if (open_.empty()) Finish();
    return true;
  }
  void Finish() {
    visit_({key_, index_, root_});
    if (index_ >= 0) {
      ++index_;
      parts_ = 0;
    }
  }

  const std::string_view text_, where_;
  const std::span<const std::string_view> record_keys_;
  const std::function<void(const JsonPart&)>& visit_;

  bool inside_ = false;                   // within the outermost object
  std::unordered_set<std::string> keys_;  // of the outermost object
  std::string key_;
  int index_ = -1;           // of the record under construction; -1 outside record lists
  Json root_;                // the value under construction
  std::vector<Json*> open_;  // objects and arrays from root_ inwards
  std::vector<std::unordered_set<std::string>> seen_;  // keys of large objects, parallel to open_
  Json* slot_ = nullptr;                               // value of the key read last
  int parts_ = 0;                                      // values in root_
};

}  // namespace

void VisitJson(std::string_view text,
               std::string_view where,
               std::span<const std::string_view> record_keys,
               const std::function<void(const JsonPart&)>& visit) {
  const std::size_t byte_order_mark = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const std::size_t start = text.find_first_not_of(" \t\r\n", byte_order_mark);
  if (start == text.npos) {
    throw InputError(fmt::format("{}: is empty; expected a JSON object", where));
  }
  if (text[start] != '{') {  // reported before the lexer reads a huge token
    const auto byte = static_cast<unsigned char>(text[start]);
    throw InputError(fmt::format("{}: not a JSON object: begins with {}; expected '{{'",
                                 FormatPlace(text, where, start),
                                 std::isprint(byte) != 0 ? fmt::format("'{}'", text[start])
                                                         : fmt::format("byte 0x{:02x}", byte)));
  }
  CheckQuoteGaps(text, where);
  Reader reader(text, where, record_keys, visit);
  Json::sax_parse(text.begin(), text.end(), &reader);
}

void CheckJsonFormat(const Json& format,
                     const Json& version,
                     std::string_view expected_format,
                     std::int64_t newest_version,
                     std::string_view where) {
  if (format.is_discarded()) {
    throw InputError(fmt::format(
        "{}: required key \"format\" is missing; expected \"{}\"", where, expected_format));
  }
  if (format != expected_format) {
    throw InputError(fmt::format(
        "{}: format: got {}; expected \"{}\"", where, ClippedJson(format), expected_format));
  }
  if (version.is_discarded()) {
    throw InputError(
        fmt::format("{}: required key \"version\" is missing; expected {}", where, newest_version));
  }
  AtPlace(fmt::format("{}: version", where), [&] {
    const std::string wrong = WhyUnreadable(JsonCount(version), newest_version);
    if (!wrong.empty()) throw InputError(wrong);
  });
}

std::int64_t JsonCount(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(number);
  } else if (value.is_number_integer()) {
    if (value.get<std::int64_t>() >= 0) return value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    constexpr double kLimit = 9223372036854775808.0;  // 2^63
    if (number >= 0 && number < kLimit && number == std::floor(number)) {
      return static_cast<std::int64_t>(number);
    }
  }
  throw InputError(
      fmt::format("got {}; expected an integer from 0 to 2^63 - 1", ClippedJson(value)));
}

double JsonAmount(const Json& value) {
  if (value.is_number()) {
    const double number = value.get<double>();
    if (number >= 0 && std::isfinite(number)) return number == 0 ? 0 : number;  // -0.0 is 0
  }
  throw InputError(fmt::format("got {}; expected a finite number >= 0", ClippedJson(value)));
}

std::string JsonText(const Json& value, std::string_view expected) {
  if (value.is_string()) return value.get<std::string>();
  throw InputError(fmt::format("got {}; expected {} (text)", ClippedJson(value), expected));
}

std::string ClippedJson(const Json& value) {
  constexpr std::size_t kLength = 60;
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return fmt::format("an object of {} keys", value.size());
  if (value.is_string()) return QuoteJson(Clipped(value.get<std::string>(), kLength));
  return value.dump();
}

std::string QuoteJson(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace emplace
