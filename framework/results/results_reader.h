#pragma once

// Reads files written by ResultsFile, in this version of the format only.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/results/results_file.h"
#include "framework/results/results_image.h"

namespace emplace {

/// A results file as it was when it was opened. All of it is in memory, so the file may be replaced
/// meanwhile. A process of its own reads it (reading_process.h) and ends with this object, so that
/// a malicious file cannot harm this process.
///
/// Each function throws InputError, naming file and place, if the requested value is missing or of
/// another type: then another program wrote the file; DamagedError if HDF5 cannot read it; RunError
/// if that needs more time or memory than $EMPLACE_RESULTS_LIMIT allows (FORMAT.md).
class ResultsReader {
 public:
  /// @throws InputError if the file does not exist, is not a results file, or has another version
  /// @throws DamagedError if damage is detected: see results_image.h
  /// @throws RunError if a limit is reached or no process can be started
  explicit ResultsReader(const std::filesystem::path& path);
  ~ResultsReader();
  ResultsReader(const ResultsReader&) = delete;
  ResultsReader& operator=(const ResultsReader&) = delete;

  /// Returns the path, for messages.
  const std::string& name() const;
  /// Returns whether there is a group or dataset of this path.
  bool Has(const std::string& path) const;
  bool HasAttribute(const std::string& object, const std::string& name) const;
  /// Returns the sorted names of the groups and datasets directly in a group; empty without the
  /// group.
  std::vector<std::string> Children(const std::string& group) const;

  std::string Text(const std::string& object, const std::string& attribute) const;
  std::int64_t Int(const std::string& object, const std::string& attribute) const;
  double Double(const std::string& object, const std::string& attribute) const;

  std::vector<std::int64_t> Ints(const std::string& dataset) const;
  /// Reads a dataset of two dimensions, as written by ResultsFile::WriteIntMatrix().
  /// @return [rows][columns]
  std::vector<std::vector<std::int64_t>> IntMatrix(const std::string& dataset) const;
  std::vector<double> Doubles(const std::string& dataset) const;
  std::vector<std::string> Strings(const std::string& dataset) const;
  /// Returns the columns of a compound table, in the file's order.
  std::vector<TableColumn> Table(const std::string& dataset) const;

  /// Writes everything into another file.
  /// @throws InputError naming the first object of a kind that ResultsFile does not write
  void CopyTo(ResultsFile& file) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns the column of a compound table. @param where  file and place, for messages
/// @throws InputError if it is not there or of another type
template <class T>
const std::vector<T>& ColumnOf(const std::vector<TableColumn>& table,
                               const std::string& name,
                               const std::string& where) {
  for (const TableColumn& column : table) {
    if (column.name != name) continue;
    if (const auto* values = std::get_if<std::vector<T>>(&column.values)) return *values;
  }
  throw InputError(where + ": has no column \"" + name + "\" of the expected type");
}

}  // namespace emplace
