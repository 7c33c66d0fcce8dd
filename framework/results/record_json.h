#pragma once

// Records (record.h) as JSON.

#include "framework/base/json.h"
#include "framework/results/record.h"

namespace emplace {

namespace internal {
void AppendJson(Json& json, const VisitRecord& visit);
}

/// Adds the single values of a record to a JSON object; a number that is not finite is null.
template <class Record>
void AppendJson(Json& json, Record record) {
  internal::AppendJson(json, [&](RecordVisitor& v) { record.Visit(v); });
}

}  // namespace emplace
