#pragma once

// Reads emplace's JSON files strictly and record by record. nlohmann's SAX parser handles the
// syntax. This reader also refuses duplicate keys (the parser would keep the last) and NaN and
// Infinity (which Python writes), names a place in every message, and has limits, so that 100 MB of
// garbage end in one short message. A document is never held as a tree: a file of 100,000 records
// needs the memory of one record.
//
// Messages have the form `where: context: ...`, where the context is a key or a record (`ops[3]
// "conv"`), or `where:line:column: ...` if the text is not valid JSON. Values are clipped.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace emplace {

using Json = nlohmann::ordered_json;

struct JsonPart {
  std::string_view key;  ///< key of the outermost object
  int index;             ///< position in the list `key`, or -1: `value` is the whole value
  Json& value;           ///< may be moved from
};

/// Calls `visit` for the values of the outermost object in file order. For a list under one of
/// `record_keys`, calls it for each element, and then once with index -1 and an empty array.
/// @param where  stands for the file in messages
/// @throws InputError if the text is not JSON (where:line:column) or not an object; for a duplicate
///   key, nesting beyond 100 levels, more than 1,000,000 values in one record or outside of all
///   records, more than 10,000 keys of the outermost object, or more than 32 MiB without a quote
void VisitJson(std::string_view text,
               std::string_view where,
               std::span<const std::string_view> record_keys,
               const std::function<void(const JsonPart&)>& visit);

/// Checks the keys `format` and `version` of a file (framework/FORMATS.md, "Versions").
/// @param format, version  the values of the keys; discarded values where the file has none
/// @param newest_version  every version from 1 to this one can be read
/// @throws InputError naming the values in the file and the expected ones
void CheckJsonFormat(const Json& format,
                     const Json& version,
                     std::string_view expected_format,
                     std::int64_t newest_version,
                     std::string_view where);

// Typed values. Each throws InputError "got `value`; expected ..."; the caller adds file and place.

/// Returns an integer from 0 to 2^63 - 1. "3.0" is valid, "3.5" and true are not.
std::int64_t JsonCount(const Json& value);
/// Returns a finite number >= 0.
double JsonAmount(const Json& value);
/// @param expected  meaning of the text, for the message ("a device name")
std::string JsonText(const Json& value, std::string_view expected);

/// Returns the value as JSON text of at most 60 characters, for messages.
std::string ClippedJson(const Json& value);

/// Returns `text` as a JSON string with its quotes.
std::string QuoteJson(std::string_view text);

}  // namespace emplace
