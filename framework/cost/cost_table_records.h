#pragma once

// Readers of the records of a cost table's file (FORMAT.md). Each reads one record and does not
// check its relations to others. Errors are InputError with the record's place.

#include "framework/base/json_record.h"
#include "framework/cost/cost_table.h"

namespace emplace::internal {

/// Reads the name of an op class, including "view".
OpClass JsonOpClass(const Json& value);

DeviceKind ReadKind(const JsonRecord& record);
/// Reads an op without its device kind.
OpMeasurement ReadOp(const JsonRecord& record);
/// Reads a fit without its device kind and scope.
RooflineFit ReadFit(const JsonRecord& record);
LinkMeasurement ReadLink(const JsonRecord& record);
DispatchCosts ReadDispatch(const JsonRecord& record);
Slowdown ReadSlowdown(const JsonRecord& record);
HeldOutStep ReadHeldOut(const JsonRecord& record);

}  // namespace emplace::internal
