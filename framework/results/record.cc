#include "framework/results/record.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/results/record_json.h"

namespace emplace::internal {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

using Ints = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

[[noreturn]] void RefuseInTable(const std::string& name) {
  throw std::logic_error(name + ": a table contains numbers only");
}

// Collects the columns of a table.
class ColumnWriter final : public RecordVisitor {
 public:
  ColumnWriter() : RecordVisitor("") {}
  std::vector<TableColumn> columns;

  void Begin(std::size_t row) {
    row_ = row;
    next_ = 0;
  }

 private:
  void Value(const std::string& name, RecordValue value) override {
    std::visit(Overloaded{[&](const bool* number) { Append(name, std::int64_t{*number}); },
                          [&](const std::int64_t* number) { Append(name, *number); },
                          [&](const double* number) { Append(name, *number); },
                          [&](const auto*) { RefuseInTable(name); }},
               value);
  }
  bool Has(const std::string&, bool is_there) override { return is_there; }
  template <class T>
  void Append(const std::string& name, T value) {
    if (row_ == 0) columns.push_back({name, std::vector<T>()});
    std::get<std::vector<T>>(columns[next_++].values).push_back(value);
  }

  std::size_t row_ = 0, next_ = 0;
};

class RecordWriter final : public RecordVisitor {
 public:
  RecordWriter(ResultsFile& file, const std::string& group) : RecordVisitor(group), file_(file) {}

 private:
  void Value(const std::string& name, RecordValue value) override {
    const std::string path = PathOf(name);
    std::visit(
        Overloaded{
            [&](const bool* number) { file_.SetAttribute(group(), name, std::int64_t{*number}); },
            [&](const auto* single) { file_.SetAttribute(group(), name, *single); },
            [&](const Ints* list) { file_.WriteInts(path, *list); },
            [&](const Doubles* list) { file_.WriteDoubles(path, *list); },
            [&](const std::vector<std::string>* list) { file_.WriteStrings(path, *list); },
            [&](const std::vector<Ints>* rows) { WriteMatrix(path, *rows); },
            [&](const LongText* text) {
              if (!text->text.empty()) file_.WriteStrings(path, {text->text});
            },
            [&](const UpdateTable* table) { WriteNumbers(path, *table); },
            [&](const RowsOfTable* table) { WriteRows(path, *table); }},
        value);
  }
  bool Has(const std::string&, bool is_there) override { return is_there; }

  void WriteMatrix(const std::string& path, const std::vector<Ints>& rows) {
    Ints values;
    for (const Ints& row : rows) {
      EMPLACE_CHECK(row.size() == rows[0].size(), path);
      values.insert(values.end(), row.begin(), row.end());
    }
    file_.WriteIntMatrix(path, values, rows.at(0).size());
  }

  void WriteNumbers(const std::string& path, const UpdateTable& table) {
    if (table.columns.empty()) return;
    const std::size_t width = table.columns.size();
    std::vector<TableColumn> columns;
    for (std::size_t c = 0; c < width; ++c) {
      Doubles column;
      for (std::size_t i = c; i < table.values.size(); i += width) {
        column.push_back(table.values[i]);
      }
      columns.push_back({table.columns[c], std::move(column)});
    }
    file_.WriteTable(path, columns);
  }

  void WriteRows(const std::string& path, const RowsOfTable& table) {
    ColumnWriter writer;
    for (std::size_t row = 0; row < std::max<std::size_t>(table.rows, 1); ++row) {
      writer.Begin(row);
      table.visit(row, writer);
    }
    for (TableColumn& column : writer.columns) {
      std::visit([&](auto& values) { values.resize(table.rows); }, column.values);
    }
    file_.WriteTable(path, writer.columns);
  }

  ResultsFile& file_;
};

// Sets the values of a table's rows.
class ColumnReader final : public RecordVisitor {
 public:
  /// @param where  file and place, for messages
  ColumnReader(const std::vector<TableColumn>& table, std::string where)
      : RecordVisitor(""), table_(table), where_(std::move(where)) {}
  std::size_t row = 0;

 private:
  void Value(const std::string& name, RecordValue value) override {
    std::visit(Overloaded{[&](bool* number) { *number = At<std::int64_t>(name) != 0; },
                          [&](std::int64_t* number) { *number = At<std::int64_t>(name); },
                          [&](double* number) { *number = At<double>(name); },
                          [&](const auto*) { RefuseInTable(name); }},
               value);
  }
  bool Has(const std::string&, bool) override { return true; }
  template <class T>
  T At(const std::string& name) {
    return ColumnOf<T>(table_, name, where_)[row];
  }

  const std::vector<TableColumn>& table_;
  std::string where_;
};

class RecordReader final : public RecordVisitor {
 public:
  RecordReader(const ResultsReader& reader, const std::string& group)
      : RecordVisitor(group), reader_(reader) {}

 private:
  void Value(const std::string& name, RecordValue value) override {
    const std::string path = PathOf(name);
    std::visit(Overloaded{[&](bool* number) { *number = reader_.Int(group(), name) != 0; },
                          [&](std::int64_t* number) { *number = reader_.Int(group(), name); },
                          [&](double* number) { *number = reader_.Double(group(), name); },
                          [&](std::string* text) { *text = reader_.Text(group(), name); },
                          [&](Ints* list) { *list = reader_.Ints(path); },
                          [&](Doubles* list) { *list = reader_.Doubles(path); },
                          [&](std::vector<std::string>* list) { *list = reader_.Strings(path); },
                          [&](std::vector<Ints>* rows) { *rows = reader_.IntMatrix(path); },
                          [&](LongText* text) { text->text = ReadText(path); },
                          [&](UpdateTable* table) { *table = ReadNumbers(path); },
                          [&](const RowsOfTable* table) { ReadRows(path, *table); }},
               value);
  }
  bool Has(const std::string& name, bool) override {
    return reader_.HasAttribute(group(), name) || reader_.Has(PathOf(name));
  }

  std::string ReadText(const std::string& path) {
    if (!reader_.Has(path)) return "";
    const std::vector<std::string> texts = reader_.Strings(path);
    if (texts.size() != 1) throw InputError(reader_.name() + ": " + path + ": expected one text");
    return texts[0];
  }

  UpdateTable ReadNumbers(const std::string& path) {
    UpdateTable numbers;
    if (!reader_.Has(path)) return numbers;
    const std::vector<TableColumn> table = reader_.Table(path);
    std::vector<Doubles> columns;
    for (const TableColumn& column : table) {
      numbers.columns.push_back(column.name);
      columns.push_back(ColumnOf<double>(table, column.name, reader_.name() + ": " + path));
    }
    for (std::size_t row = 0; !columns.empty() && row < columns[0].size(); ++row) {
      for (const Doubles& column : columns) numbers.values.push_back(column[row]);
    }
    return numbers;
  }

  void ReadRows(const std::string& path, const RowsOfTable& table) {
    const std::vector<TableColumn> columns = reader_.Table(path);
    ColumnReader reader(columns, reader_.name() + ": " + path);
    const std::size_t rows =
        std::visit([](const auto& values) { return values.size(); }, columns.at(0).values);
    table.resize(rows);
    for (; reader.row < rows; ++reader.row) table.visit(reader.row, reader);
  }

  const ResultsReader& reader_;
};

class JsonMaker final : public RecordVisitor {
 public:
  explicit JsonMaker(Json& json) : RecordVisitor(""), json_(json) {}

 private:
  void Value(const std::string& name, RecordValue value) override {
    std::visit(Overloaded{[&](const double* number) {
                            json_[name] = std::isfinite(*number) ? Json(*number) : Json(nullptr);
                          },
                          [&](const bool* single) { json_[name] = *single; },
                          [&](const std::int64_t* single) { json_[name] = *single; },
                          [&](const std::string* single) { json_[name] = *single; },
                          [](const auto*) {}},
               value);
  }
  bool Has(const std::string&, bool is_there) override { return is_there; }

  Json& json_;
};

class Describer final : public RecordVisitor {
 public:
  /// @param table  path of the table whose rows are visited; empty: a group
  Describer(const std::string& group, std::string table)
      : RecordVisitor(group), table_(std::move(table)) {}
  std::map<std::string, std::string> types;

 private:
  void Value(const std::string& name, RecordValue value) override {
    const std::string path = PathOf(name);
    const auto single = [&](const char* type) {
      types[table_.empty() ? group() + "@" + name : fmt::format("{}[{}]", table_, name)] = type;
    };
    std::visit(Overloaded{[&](const double*) { single("number"); },
                          [&](const std::string*) { single("text"); },
                          [&](const auto*) { single("integer"); },
                          [&](const Ints*) { types[path] = "integers"; },
                          [&](const std::vector<Ints>*) { types[path] = "integers"; },
                          [&](const Doubles*) { types[path] = "numbers"; },
                          [&](const std::vector<std::string>*) { types[path] = "texts"; },
                          [&](const LongText*) { types[path] = "texts"; },
                          [&](const UpdateTable*) {
                            types[path] = "table";
                            types[path + "[<column>]"] = "number";
                          },
                          [&](const RowsOfTable* rows) {
                            types[path] = "table";
                            Describer columns("", path);
                            rows->visit(0, columns);
                            types.merge(columns.types);
                          }},
               value);
  }
  bool Has(const std::string&, bool) override { return true; }

  std::string table_;
};

}  // namespace

void WriteRecord(ResultsFile& file, const std::string& group, const VisitRecord& visit) {
  RecordWriter writer(file, group);
  visit(writer);
}

void ReadRecord(const ResultsReader& reader, const std::string& group, const VisitRecord& visit) {
  RecordReader record(reader, group);
  visit(record);
}

void AppendJson(Json& json, const VisitRecord& visit) {
  JsonMaker maker(json);
  visit(maker);
}

std::map<std::string, std::string> DescribeRecord(const std::string& group,
                                                  const VisitRecord& visit) {
  Describer describer(group, "");
  visit(describer);
  return describer.types;
}

}  // namespace emplace::internal
