#pragma once

// Writes results: one HDF5 file per run, readable by h5py and pandas without our code. FORMAT.md
// defines its groups, datasets and attributes.
//
// The file is composed in memory and renamed into place at every Commit(), so that a process killed
// at any moment leaves a readable file of the previous or the new state. The data is followed by
// its checksum (results_image.h), by which damage of any byte is found.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace emplace {

/// Values of `/@format` and `/@version` of a file. Readers accept this version only.
inline constexpr std::string_view kResultsFormat = "emplace-results";
inline constexpr std::int64_t kResultsVersion = 4;

using AttributeValue = std::variant<std::int64_t, double, std::string>;

/// One column of a compound table; all columns of a table have the same length.
struct TableColumn {
  std::string name;
  std::variant<std::vector<std::int64_t>, std::vector<double>> values;
};

enum class ResultsMode : std::uint8_t {
  kCreate,  ///< a new file that replaces an old one and has only format and version
  kExtend,  ///< a new file with the content of an existing one, which ResultsReader reads
};

/// A results file that is being written. Paths begin with '/'. The groups in the path of a dataset
/// or attribute are created. An existing dataset or attribute is replaced.
class ResultsFile {
 public:
  /// @throws RunError if the folder does not exist or cannot be written, so that the error comes
  ///   before hours of search; with kExtend also as ResultsReader and its CopyTo()
  explicit ResultsFile(std::filesystem::path path, ResultsMode mode = ResultsMode::kCreate);
  ~ResultsFile();
  ResultsFile(const ResultsFile&) = delete;
  ResultsFile& operator=(const ResultsFile&) = delete;

  /// @param group  the group or dataset of the attribute
  void SetAttribute(const std::string& group, const std::string& name, const AttributeValue& value);
  void AddGroup(const std::string& group);
  void WriteInts(const std::string& dataset, const std::vector<std::int64_t>& values);
  /// Writes a dataset of two dimensions [values.size() / columns, columns], row by row.
  void WriteIntMatrix(const std::string& dataset,
                      const std::vector<std::int64_t>& values,
                      std::size_t columns);
  void WriteDoubles(const std::string& dataset, const std::vector<double>& values);
  void WriteStrings(const std::string& dataset, const std::vector<std::string>& values);
  void WriteTable(const std::string& dataset, const std::vector<TableColumn>& columns);
  /// Removes a group with its content, or a dataset, if it exists.
  void Remove(const std::string& path);
  /// Makes all data written so far visible under the path. @throws RunError (disk full, ...)
  void Commit();

  const std::filesystem::path& path() const { return path_; }

 private:
  struct Impl;
  std::filesystem::path path_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
