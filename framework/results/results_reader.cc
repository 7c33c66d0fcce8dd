#include "framework/results/results_reader.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/version.h"
#include "framework/results/hdf5_handle.h"
#include "framework/results/hdf5_library.h"

namespace emplace {
namespace {

using internal::Hdf5Lock;
using Handle = internal::Hdf5Handle;

bool IsText(hid_t type) {
  return H5Tget_class(type) == H5T_STRING;
}

}  // namespace

struct ResultsReader::Impl {
  std::string name;  // for messages
  hid_t file = -1;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    const Hdf5Lock lock;
    if (file >= 0) H5Fclose(file);
  }

  [[noreturn]] void Fail(const std::string& place, const std::string& what) const {
    throw InputError(fmt::format("{}: {}: {}", name, place, what));
  }

  Handle Own(hid_t id, herr_t (*close)(hid_t), const std::string& place) const {
    if (id < 0) Fail(place, "cannot be read: " + internal::LastHdf5Error());
    return Handle(id, close);
  }

  void RequireExists(const std::string& path) const {
    if (!internal::Hdf5PathExists(file, path)) Fail(path, "is not in this results file");
  }

  Handle OpenObject(const std::string& path) const {
    RequireExists(path);
    return Own(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose, path);
  }

  Handle OpenDataset(const std::string& path) const {
    const Handle object = OpenObject(path);
    if (H5Iget_type(object) != H5I_DATASET) Fail(path, "expected a dataset, got a group");
    return Own(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose, path);
  }

  Handle MakeTextType(hid_t like, const std::string& place) const {
    if (H5Tis_variable_str(like) <= 0) Fail(place, "expected text of variable length");
    Handle type = Own(H5Tcopy(H5T_C_S1), H5Tclose, place);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5Tget_cset(like));
    return type;
  }

  size_t Rows(hid_t space, const std::string& place) const {
    const hssize_t rows = H5Sget_simple_extent_npoints(space);
    if (rows < 0 || H5Sget_simple_extent_ndims(space) > 1) Fail(place, "expected one dimension");
    return static_cast<size_t>(rows);
  }

  void Require(herr_t status, const std::string& place) const {
    if (status < 0) Fail(place, "cannot be read: " + internal::LastHdf5Error());
  }

  // Reads the texts of an attribute or dataset by `read(type, buffer)`.
  template <class Read>
  std::vector<std::string> TakeTexts(hid_t like,
                                     hid_t space,
                                     const std::string& place,
                                     Read read) const {
    std::vector<char*> raw(Rows(space, place), nullptr);
    const Handle type = MakeTextType(like, place);
    if (!raw.empty()) Require(read(type, raw.data()), place);
    std::vector<std::string> texts;
    for (const char* text : raw) texts.emplace_back(text == nullptr ? "" : text);
    if (!raw.empty()) H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw.data());
    return texts;
  }

  // Reads one value of an attribute; `type_class` is its type class in HDF5.
  void ReadNumber(const std::string& object,
                  const std::string& attribute,
                  H5T_class_t type_class,
                  hid_t memory_type,
                  void* value) const {
    const std::string place = object + "@" + attribute;
    const Handle id = OpenAttribute(object, attribute);
    const Handle type = Own(H5Aget_type(id), H5Tclose, place);
    const Handle space = Own(H5Aget_space(id), H5Sclose, place);
    if (H5Tget_class(type) != type_class || Rows(space, place) != 1) {
      Fail(place,
           type_class == H5T_INTEGER ? "expected an integer" : "expected a floating-point number");
    }
    Require(H5Aread(id, memory_type, value), place);
  }

  Handle OpenAttribute(const std::string& object, const std::string& attribute) const {
    const std::string place = object + "@" + attribute;
    const Handle holder = OpenObject(object);
    if (H5Aexists(holder, attribute.c_str()) <= 0) Fail(place, "is not in this results file");
    return Own(H5Aopen(holder, attribute.c_str(), H5P_DEFAULT), H5Aclose, place);
  }

  template <class T>
  std::vector<T> Numbers(const std::string& path, H5T_class_t type_class, hid_t memory_type) const {
    const Handle dataset = OpenDataset(path);
    const Handle type = Own(H5Dget_type(dataset), H5Tclose, path);
    const Handle space = Own(H5Dget_space(dataset), H5Sclose, path);
    if (H5Tget_class(type) != type_class) {
      Fail(path,
           type_class == H5T_INTEGER ? "expected integers" : "expected floating-point numbers");
    }
    std::vector<T> values(Rows(space, path));
    if (!values.empty()) {
      Require(H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path);
    }
    return values;
  }
};

ResultsReader::ResultsReader(const std::filesystem::path& path) : impl_(std::make_unique<Impl>()) {
  impl_->name = path.string();
  const std::string image = internal::ReadResultsImage(path);
  {
    const Hdf5Lock lock;
    impl_->file = internal::OpenHdf5Image(image, false);
    if (impl_->file < 0) {
      throw DamagedError(
          fmt::format("{}: no results file of emplace (HDF5), or not whole", impl_->name));
    }
  }
  if (!HasAttribute("/", "format") || Text("/", "format") != kResultsFormat) {
    throw InputError(
        fmt::format("{}: no results file of emplace: expected the attribute format \"{}\"",
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
  const Hdf5Lock lock;
  return internal::Hdf5PathExists(impl_->file, path);
}

bool ResultsReader::HasAttribute(const std::string& object, const std::string& name) const {
  const Hdf5Lock lock;
  if (!internal::Hdf5PathExists(impl_->file, object)) return false;
  return H5Aexists(impl_->OpenObject(object), name.c_str()) > 0;
}

std::vector<std::string> ResultsReader::Children(const std::string& group) const {
  const Hdf5Lock lock;
  std::vector<std::string> names;
  if (!internal::Hdf5PathExists(impl_->file, group)) return names;
  const Handle object = impl_->OpenObject(group);
  if (H5Iget_type(object) != H5I_GROUP) return names;
  const auto take = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  impl_->Require(H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, take, &names), group);
  std::sort(names.begin(), names.end());
  return names;
}

std::string ResultsReader::Text(const std::string& object, const std::string& attribute) const {
  const Hdf5Lock lock;
  const std::string place = object + "@" + attribute;
  const Handle id = impl_->OpenAttribute(object, attribute);
  const Handle type = impl_->Own(H5Aget_type(id), H5Tclose, place);
  const Handle space = impl_->Own(H5Aget_space(id), H5Sclose, place);
  if (!IsText(type) || impl_->Rows(space, place) != 1) impl_->Fail(place, "expected a text");
  return impl_->TakeTexts(type, space, place, [&](hid_t memory_type, void* data) {
    return H5Aread(id, memory_type, data);
  })[0];
}

std::int64_t ResultsReader::Int(const std::string& object, const std::string& attribute) const {
  const Hdf5Lock lock;
  std::int64_t value = 0;
  impl_->ReadNumber(object, attribute, H5T_INTEGER, H5T_NATIVE_INT64, &value);
  return value;
}

double ResultsReader::Double(const std::string& object, const std::string& attribute) const {
  const Hdf5Lock lock;
  double value = 0;
  impl_->ReadNumber(object, attribute, H5T_FLOAT, H5T_NATIVE_DOUBLE, &value);
  return value;
}

std::vector<std::int64_t> ResultsReader::Ints(const std::string& dataset) const {
  const Hdf5Lock lock;
  return impl_->Numbers<std::int64_t>(dataset, H5T_INTEGER, H5T_NATIVE_INT64);
}

std::vector<std::vector<std::int64_t>> ResultsReader::IntMatrix(const std::string& dataset) const {
  const Hdf5Lock lock;
  const Handle id = impl_->OpenDataset(dataset);
  const Handle type = impl_->Own(H5Dget_type(id), H5Tclose, dataset);
  const Handle space = impl_->Own(H5Dget_space(id), H5Sclose, dataset);
  hsize_t sizes[2] = {};
  if (H5Tget_class(type) != H5T_INTEGER || H5Sget_simple_extent_ndims(space) != 2 ||
      H5Sget_simple_extent_dims(space, sizes, nullptr) != 2) {
    impl_->Fail(dataset, "expected integers in two dimensions");
  }
  std::vector<std::int64_t> values(sizes[0] * sizes[1]);
  if (!values.empty()) {
    impl_->Require(H5Dread(id, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                   dataset);
  }
  std::vector<std::vector<std::int64_t>> rows;
  for (hsize_t r = 0; r < sizes[0]; ++r) {
    rows.emplace_back(values.begin() + r * sizes[1], values.begin() + (r + 1) * sizes[1]);
  }
  return rows;
}

std::vector<double> ResultsReader::Doubles(const std::string& dataset) const {
  const Hdf5Lock lock;
  return impl_->Numbers<double>(dataset, H5T_FLOAT, H5T_NATIVE_DOUBLE);
}

std::vector<std::string> ResultsReader::Strings(const std::string& dataset) const {
  const Hdf5Lock lock;
  const Handle id = impl_->OpenDataset(dataset);
  const Handle type = impl_->Own(H5Dget_type(id), H5Tclose, dataset);
  const Handle space = impl_->Own(H5Dget_space(id), H5Sclose, dataset);
  if (!IsText(type)) impl_->Fail(dataset, "expected texts");
  return impl_->TakeTexts(type, space, dataset, [&](hid_t memory_type, void* data) {
    return H5Dread(id, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  });
}

std::vector<TableColumn> ResultsReader::Table(const std::string& dataset) const {
  const Hdf5Lock lock;
  const Handle id = impl_->OpenDataset(dataset);
  const Handle type = impl_->Own(H5Dget_type(id), H5Tclose, dataset);
  const Handle space = impl_->Own(H5Dget_space(id), H5Sclose, dataset);
  if (H5Tget_class(type) != H5T_COMPOUND) impl_->Fail(dataset, "expected a table");
  const size_t rows = impl_->Rows(space, dataset);
  std::vector<TableColumn> columns;
  const auto read = [&](const std::string& name, hid_t member_type, auto& values) {
    values.resize(rows);
    const Handle column = impl_->Own(H5Tcreate(H5T_COMPOUND, sizeof values[0]), H5Tclose, dataset);
    impl_->Require(H5Tinsert(column, name.c_str(), 0, member_type), dataset);
    if (rows == 0) return;
    impl_->Require(H5Dread(id, column, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), dataset);
  };
  for (int m = 0; m < H5Tget_nmembers(type); ++m) {
    char* raw = H5Tget_member_name(type, static_cast<unsigned>(m));
    columns.push_back({raw == nullptr ? "" : raw, {}});
    H5free_memory(raw);
    TableColumn& column = columns.back();
    switch (H5Tget_member_class(type, static_cast<unsigned>(m))) {
      case H5T_INTEGER:
        read(column.name, H5T_NATIVE_INT64, column.values.emplace<0>());
        break;
      case H5T_FLOAT:
        read(column.name, H5T_NATIVE_DOUBLE, column.values.emplace<1>());
        break;
      default:
        impl_->Fail(dataset, fmt::format("the column \"{}\" holds no numbers", column.name));
    }
  }
  return columns;
}

}  // namespace emplace
