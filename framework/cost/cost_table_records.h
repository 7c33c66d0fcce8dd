#pragma once

// The records of a cost table's file (FORMAT.md), each read by itself: what it holds, not yet how
// it belongs to the others. Errors are InputError with the record's place.

#include "framework/base/json_record.h"
#include "framework/cost/cost_table.h"

namespace emplace::internal {

/// The name of an op class, "view" included.
OpClass JsonOpClass(const Json& value);

DeviceKind ReadKind(const JsonRecord& record);
/// Without the device kind that it belongs to.
OpMeasurement ReadOp(const JsonRecord& record);
/// Without device kind and scope.
RooflineFit ReadFit(const JsonRecord& record);
LinkMeasurement ReadLink(const JsonRecord& record);
DispatchCosts ReadDispatch(const JsonRecord& record);
Slowdown ReadSlowdown(const JsonRecord& record);
HeldOutStep ReadHeldOut(const JsonRecord& record);

}  // namespace emplace::internal
