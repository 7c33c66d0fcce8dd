#include "framework/results/results_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/version.h"
#include "framework/results/results_server.h"
#include "framework/results/results_wire.h"

namespace emplace {
namespace {

using internal::StoredKind;
using internal::StoredObject;
using internal::StoredValues;

constexpr const char* kForeign = "has a kind that emplace does not write";

}  // namespace

struct ResultsReader::Impl {
  struct Object {
    StoredObject stored;
    std::vector<std::string> children;
  };

  std::string name;                                  // for messages
  std::unique_ptr<internal::ReadingProcess> server;  // reads datasets
  std::map<std::string, Object> objects;             // by path

  [[noreturn]] void Fail(const std::string& place, const std::string& what) const {
    throw InputError(fmt::format("{}: {}: {}", name, place, what));
  }

  // Adds an object whose group is there.
  void Add(StoredObject object) {
    const std::string path = object.path;
    const size_t slash = path.rfind('/');
    if (path != "/") {
      if (slash == std::string::npos || slash + 1 == path.size()) server->FailIllFormed();
      const auto group = objects.find(slash == 0 ? "/" : path.substr(0, slash));
      if (group == objects.end() || group->second.stored.kind != StoredKind::kGroup) {
        server->FailIllFormed();
      }
      group->second.children.push_back(path.substr(slash + 1));
    }
    if (object.kind > StoredKind::kOther ||
        !objects.emplace(path, Object{std::move(object)}).second) {
      server->FailIllFormed();
    }
  }

  const StoredObject& At(const std::string& path) const {
    const auto found = objects.find(path);
    if (found == objects.end()) Fail(path, "is not in this results file");
    return found->second.stored;
  }

  const internal::StoredAttribute* FindAttribute(const StoredObject& object,
                                                 const std::string& attribute) const {
    for (const internal::StoredAttribute& candidate : object.attributes) {
      if (candidate.name == attribute) return &candidate;
    }
    return nullptr;
  }

  // @param expected  "an integer"
  template <class T>
  T Attribute(const std::string& object, const std::string& attribute, const char* expected) const {
    const std::string place = object + "@" + attribute;
    const internal::StoredAttribute* const found = FindAttribute(At(object), attribute);
    if (found == nullptr) Fail(place, "is not in this results file");
    const T* const value = std::get_if<T>(&found->value);
    if (value == nullptr) Fail(place, fmt::format("expected {}", expected));
    return *value;
  }

  // @param expected  "integers"
  template <class T>
  T Dataset(const std::string& path, const char* expected) const {
    const StoredObject& object = At(path);
    if (object.kind == StoredKind::kGroup) Fail(path, "expected a dataset, got a group");
    if (static_cast<size_t>(object.kind) != StoredValues(T()).index()) {
      Fail(path, fmt::format("expected {}", expected));
    }
    auto values = object.values.empty() ? internal::FromWire<StoredValues>(server->Ask(path))
                                        : std::optional<StoredValues>(object.values[0]);
    T* const typed = values ? std::get_if<T>(&*values) : nullptr;
    if (typed == nullptr || !HasRightSize(*typed)) server->FailIllFormed();
    return std::move(*typed);
  }

  template <class T>
  static bool HasRightSize(const std::vector<T>&) {
    return true;
  }
  static bool HasRightSize(const internal::IntMatrix& matrix) {
    return matrix.columns > 0 && matrix.values.size() % matrix.columns == 0;
  }
  static bool HasRightSize(const std::vector<TableColumn>& table) {
    const auto rows = [](const TableColumn& column) {
      return std::visit([](const auto& values) { return values.size(); }, column.values);
    };
    return !table.empty() && std::all_of(table.begin(), table.end(), [&](const auto& column) {
      return rows(column) == rows(table[0]);
    });
  }
};

ResultsReader::ResultsReader(const std::filesystem::path& path) : impl_(std::make_unique<Impl>()) {
  impl_->name = path.string();
  impl_->server = internal::StartResultsServer(impl_->name, internal::ReadResultsImage(path));
  auto objects = internal::FromWire<std::vector<StoredObject>>(impl_->server->Ask(""));
  if (!objects) impl_->server->FailIllFormed();
  for (StoredObject& object : *objects) impl_->Add(std::move(object));
  if (!HasAttribute("/", "format") || Text("/", "format") != kResultsFormat) {
    throw InputError(
        fmt::format("{}: not a results file of emplace: expected the attribute format \"{}\"",
                    impl_->name,
                    kResultsFormat));
  }
  const std::int64_t version = Int("/", "version");
  if (version == kResultsVersion) return;
  throw InputError(fmt::format(
      "{}: version: {}",
      impl_->name,
      version > kResultsVersion
          ? WhyUnreadable(version, kResultsVersion)
          : fmt::format("expected {}, got {}: written by an older version of emplace; run it again",
                        kResultsVersion,
                        version)));
}

ResultsReader::~ResultsReader() = default;

const std::string& ResultsReader::name() const {
  return impl_->name;
}

bool ResultsReader::Has(const std::string& path) const {
  return impl_->objects.contains(path);
}

bool ResultsReader::HasAttribute(const std::string& object, const std::string& name) const {
  return Has(object) && impl_->FindAttribute(impl_->At(object), name) != nullptr;
}

std::vector<std::string> ResultsReader::Children(const std::string& group) const {
  if (!Has(group)) return {};
  std::vector<std::string> names = impl_->objects.at(group).children;
  std::sort(names.begin(), names.end());
  return names;
}

std::string ResultsReader::Text(const std::string& object, const std::string& attribute) const {
  return impl_->Attribute<std::string>(object, attribute, "a text");
}

std::int64_t ResultsReader::Int(const std::string& object, const std::string& attribute) const {
  return impl_->Attribute<std::int64_t>(object, attribute, "an integer");
}

double ResultsReader::Double(const std::string& object, const std::string& attribute) const {
  return impl_->Attribute<double>(object, attribute, "a floating-point number");
}

std::vector<std::int64_t> ResultsReader::Ints(const std::string& dataset) const {
  return impl_->Dataset<std::vector<std::int64_t>>(dataset, "integers");
}

std::vector<std::vector<std::int64_t>> ResultsReader::IntMatrix(const std::string& dataset) const {
  const auto [columns, values] =
      impl_->Dataset<internal::IntMatrix>(dataset, "integers in two dimensions");
  std::vector<std::vector<std::int64_t>> rows;
  for (size_t begin = 0; begin < values.size(); begin += columns) {
    rows.emplace_back(&values[begin], &values[begin] + columns);
  }
  return rows;
}

std::vector<double> ResultsReader::Doubles(const std::string& dataset) const {
  return impl_->Dataset<std::vector<double>>(dataset, "floating-point numbers");
}

std::vector<std::string> ResultsReader::Strings(const std::string& dataset) const {
  return impl_->Dataset<std::vector<std::string>>(dataset, "texts");
}

std::vector<TableColumn> ResultsReader::Table(const std::string& dataset) const {
  return impl_->Dataset<std::vector<TableColumn>>(dataset, "a table");
}

void ResultsReader::CopyTo(ResultsFile& file) const {
  for (const auto& [path, object] : impl_->objects) {
    switch (object.stored.kind) {
      case StoredKind::kInts:
        file.WriteInts(path, Ints(path));
        break;
      case StoredKind::kDoubles:
        file.WriteDoubles(path, Doubles(path));
        break;
      case StoredKind::kTexts:
        file.WriteStrings(path, Strings(path));
        break;
      case StoredKind::kIntMatrix: {
        const auto [columns, values] = impl_->Dataset<internal::IntMatrix>(path, "a matrix");
        file.WriteIntMatrix(path, values, columns);
        break;
      }
      case StoredKind::kTable:
        file.WriteTable(path, Table(path));
        break;
      case StoredKind::kGroup:
        file.AddGroup(path);
        break;
      case StoredKind::kOther:
        impl_->Fail(path, kForeign);
    }
    for (const auto& [name, value] : object.stored.attributes) {
      std::visit(
          [&, &name = name]<class T>(const T& known) {
            if constexpr (std::is_same_v<T, std::monostate>) {
              impl_->Fail(path + "@" + name, kForeign);
            } else {
              file.SetAttribute(path, name, known);
            }
          },
          value);
    }
  }
}

}  // namespace emplace
