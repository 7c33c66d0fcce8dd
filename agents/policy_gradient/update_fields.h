#pragma once

// Rows of an UpdateTable as names with values. A learner has a struct with the numbers of one
// update, whose Fields() names each of them once: the names of an empty struct are the columns of
// the table, a filled one is a row.

#include <string>
#include <utility>
#include <vector>

#include "framework/search/update_table.h"

namespace emplace {

/// What an update tells of itself, in the order of the table's columns; NaN: does not apply.
using UpdateFields = std::vector<std::pair<std::string, double>>;

/// A table with these columns and no rows. The values are not read.
UpdateTable MakeUpdateTable(const UpdateFields& fields);

/// Appends a row. CHECKs that the names are the table's columns, in the same order.
void AddRow(UpdateTable& table, const UpdateFields& fields);

}  // namespace emplace
