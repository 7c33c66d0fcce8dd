#pragma once

// A record of a results file is a plain struct with one function that visits each value once, by
// its name in the file. FORMAT.md describes the values:
//
//   struct BoundRecord {
//     Nanos value = 0;
//     void Visit(RecordVisitor& v) { v.Field("bound_ns", value); }
//   };
//   WriteRecord(file, "/problem", record);
//   const auto record = ReadRecord<BoundRecord>(reader, "/problem");
//
// The same visit writes and reads HDF5, makes JSON (record_json.h) and describes the layout. A
// single value is an attribute in HDF5, a list or table a dataset.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "framework/results/results_file.h"
#include "framework/results/results_reader.h"
#include "framework/search/update_table.h"

namespace emplace {

/// Text of many lines. In HDF5 it is a dataset of one text; an empty text is not stored.
struct LongText {
  std::string text;
};

class RecordVisitor {
 public:
  virtual ~RecordVisitor() = default;

  /// Visits a value: a number, truth value or text, a list or a matrix (whose rows have at least
  /// one number each), an UpdateTable (not stored without columns), or a std::optional of one of
  /// these, which may be missing.
  template <class T>
  void Field(const std::string& name, T& value) {
    if constexpr (std::is_constructible_v<RecordValue, T*>) {
      Value(name, &value);
    } else {
      static_assert(std::is_integral_v<T>, "of a width other than 64 bits");
      auto wide = static_cast<std::int64_t>(value);
      Value(name, &wide);
      value = static_cast<T>(wide);
    }
  }
  template <class T>
  void Field(const std::string& name, std::optional<T>& value) {
    Optional(name, value, [&](T& inner) { Field(name, inner); });
  }
  /// Visits a table of structs with numbers and truth values only.
  template <class Row>
  void Rows(const std::string& name, std::vector<Row>& rows) {
    Row example;
    const RowsOfTable table = {rows.size(),
                               [&](std::size_t size) { rows.resize(size); },
                               [&](std::size_t row, RecordVisitor& v) {
                                 (row < rows.size() ? rows[row] : example).Visit(v);
                               }};
    Value(name, &table);
  }
  /// Visits a record in a group below this one. The name may be a path.
  template <class Record>
  void Group(const std::string& name, Record& record) {
    const std::string outer = std::exchange(group_, PathOf(name));
    record.Visit(*this);
    group_ = outer;
  }
  template <class Record>
  void Group(const std::string& name, std::optional<Record>& record) {
    Optional(name, record, [&](Record& inner) { Group(name, inner); });
  }
  /// Visits values that are either all there or all missing. @param first  name of one of them
  template <class Inner>
  void Part(const std::string& first, std::optional<Inner>& part) {
    Optional(first, part, [&](Inner& inner) { inner.Visit(*this); });
  }

 protected:
  struct RowsOfTable {
    std::size_t rows;
    std::function<void(std::size_t)> resize;
    std::function<void(std::size_t row, RecordVisitor&)> visit;  ///< there is always a row 0
  };
  using RecordValue = std::variant<bool*,
                                   std::int64_t*,
                                   double*,
                                   std::string*,
                                   std::vector<std::int64_t>*,
                                   std::vector<double>*,
                                   std::vector<std::string>*,
                                   std::vector<std::vector<std::int64_t>>*,
                                   LongText*,
                                   UpdateTable*,
                                   const RowsOfTable*>;

  explicit RecordVisitor(std::string group) : group_(std::move(group)) {}
  virtual void Value(const std::string& name, RecordValue value) = 0;
  /// Returns whether to visit a value that may be missing.
  /// @param is_there  whether the struct has it
  virtual bool Has(const std::string& name, bool is_there) = 0;
  const std::string& group() const { return group_; }
  std::string PathOf(const std::string& name) const { return group_ + "/" + name; }

 private:
  template <class T, class VisitInner>
  void Optional(const std::string& name, std::optional<T>& value, const VisitInner& visit) {
    if (!Has(name, value.has_value())) return value.reset();
    if (!value) value.emplace();
    visit(*value);
  }

  std::string group_;
};

// Implementations of the templates below, for one record given as its visiting function.
namespace internal {
using VisitRecord = std::function<void(RecordVisitor&)>;
void WriteRecord(ResultsFile& file, const std::string& group, const VisitRecord& visit);
void ReadRecord(const ResultsReader& reader, const std::string& group, const VisitRecord& visit);
std::map<std::string, std::string> DescribeRecord(const std::string& group,
                                                  const VisitRecord& visit);
}  // namespace internal

/// Writes a record into a group. Values there under other names are kept.
template <class Record>
void WriteRecord(ResultsFile& file, const std::string& group, Record record) {
  internal::WriteRecord(file, group, [&](RecordVisitor& v) { record.Visit(v); });
}

/// Reads a record. @throws InputError naming file and place of a value that is missing or of
/// another type
template <class Record>
Record ReadRecord(const ResultsReader& reader, const std::string& group) {
  Record record;
  internal::ReadRecord(reader, group, [&](RecordVisitor& v) { record.Visit(v); });
  return record;
}

/// Returns the type ("integer") of every value by its name in FORMAT.md ("/problem@bound_ns",
/// "/agents/<label>/evaluations[index]"). @param group  "/agents/<label>"
template <class Record>
std::map<std::string, std::string> DescribeRecord(const std::string& group) {
  Record record;
  return internal::DescribeRecord(group, [&](RecordVisitor& v) { record.Visit(v); });
}

}  // namespace emplace
