#pragma once

// Reads emplace's JSON files strictly and record by record. nlohmann's SAX parser knows the syntax;
// this adds what it lets pass or says badly: duplicate keys (it would keep the last), NaN and
// Infinity (Python writes them), a place in every message, and bounds, so that 100 MB of garbage
// end in one short message. A document is never held as a tree: a file of 100,000 records needs the
// memory of one.
//
// Messages read `where: context: ...`, where the context is a key or a record (`ops[3] "conv"`),
// and `where:line:column: ...` when the text is no JSON at all. Values shown are clipped.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace emplace {

using Json = nlohmann::ordered_json;

struct JsonPart {
  std::string_view key;  ///< of the outermost object
  int index;             ///< position in the list `key`, or -1: `value` is the whole value
  Json& value;           ///< may be moved from
};

/// Calls `visit` for the outermost object's values in file order. A list under one of `record_keys`
/// comes element by element, then once more with index -1 and an empty array.
/// @param where  stands for the file in messages
/// @throws InputError: no JSON (where:line:column), no object, a duplicate key, nesting beyond 100
///   levels, more than 1,000,000 values in one record or outside of them, more than 10,000
///   outermost keys, more than 32 MiB without a quote
void VisitJson(std::string_view text,
               std::string_view where,
               std::span<const std::string_view> record_keys,
               const std::function<void(const JsonPart&)>& visit);

/// Checks what a file says it is: its keys `format` and `version` (framework/FORMATS.md,
/// "Versions").
/// @param format, version  the values of the keys; discarded values where the file has none
/// @param newest_version  every version from 1 to this one can be read
/// @throws InputError naming what the file says and what was expected
void CheckJsonFormat(const Json& format,
                     const Json& version,
                     std::string_view expected_format,
                     std::int64_t newest_version,
                     std::string_view where);

// Typed values. Each throws InputError "got `value`; expected ..."; the caller adds file, record
// and key.

/// An integer >= 0 that fits 64 bits with sign; "3.0" is one, "3.5" and true are not.
std::int64_t JsonCount(const Json& value);
/// A finite number >= 0.
double JsonAmount(const Json& value);
/// @param expected  what the text means, for the message ("a device name")
std::string JsonText(const Json& value, std::string_view expected);

/// The value as JSON text of at most 60 characters, for messages.
std::string ClippedJson(const Json& value);

/// `text` as a JSON string with its quotes.
std::string QuoteJson(std::string_view text);

}  // namespace emplace
