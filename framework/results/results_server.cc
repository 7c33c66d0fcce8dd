#include "framework/results/results_server.h"

#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "framework/base/error.h"
#include "framework/results/hdf5_handle.h"
#include "framework/results/results_wire.h"

namespace emplace::internal {
namespace {

using Handle = Hdf5Handle;

constexpr int kMostNested = 32;  // groups

// Reads one file, in a process of its own.
class ResultsServer {
 public:
  ResultsServer(const std::string& image, std::int64_t most_memory)
      : most_memory_(static_cast<std::uint64_t>(most_memory)),
        most_objects_(1 + image.size() / 64),
        file_(OpenImage(image)) {
    if (file_ >= 0) return;
    if (Hdf5LacksMemory()) throw std::bad_alloc();
    throw InputError("not a results file of emplace (HDF5), or incomplete");
  }

  std::string Answer(const std::string& question) const {
    if (!question.empty()) {
      const Handle id = Own(H5Dopen2(file_, question.c_str(), H5P_DEFAULT), H5Dclose, question);
      return ToWire(Values({id, question}));
    }
    std::vector<StoredObject> objects;
    AddObject(Own(H5Oopen(file_, "/", H5P_DEFAULT), H5Oclose, "/"), "/", 0, objects);
    return ToWire(std::move(objects));
  }

 private:
  static Handle OpenImage(const std::string& content) {
    constexpr size_t kGrowth = size_t{1} << 20;  // [B]
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access, kGrowth, false);
    // HDF5 copies the image and takes no const pointer.
    H5Pset_file_image(access, const_cast<char*>(content.data()), content.size());
    return {H5Fopen("image", H5F_ACC_RDONLY, access), H5Fclose};
  }

  [[noreturn]] static void Fail(const std::string& place, const std::string& what) {
    throw InputError(fmt::format("damaged: {}: {}", place, what));
  }
  [[noreturn]] static void FailByHdf5(const std::string& place) {
    if (Hdf5LacksMemory()) throw std::bad_alloc();
    Fail(place, "cannot be read: " + LastHdf5Error());
  }
  static Handle Own(hid_t id, herr_t (*close)(hid_t), const std::string& place) {
    if (id < 0) FailByHdf5(place);
    return {id, close};
  }
  static void Require(herr_t status, const std::string& place) {
    if (status < 0) FailByHdf5(place);
  }

  struct Dataset {
    hid_t id;
    const std::string& path;
    Handle type = Own(H5Dget_type(id), H5Tclose, path),
           space = Own(H5Dget_space(id), H5Sclose, path);
    StoredKind kind = KindOf(type, space);
  };

  static std::uint64_t Columns(hid_t matrix) {
    hsize_t sizes[2] = {};
    H5Sget_simple_extent_dims(matrix, sizes, nullptr);
    return sizes[1];
  }

  static StoredKind KindOf(hid_t type, hid_t space) {
    const H5T_class_t type_class = H5Tget_class(type);
    const int dimensions = H5Sget_simple_extent_ndims(space);
    if (dimensions == 2 && type_class == H5T_INTEGER && Columns(space) > 0) {
      return StoredKind::kIntMatrix;
    }
    if (dimensions != 1) return StoredKind::kOther;
    if (type_class == H5T_INTEGER) return StoredKind::kInts;
    if (type_class == H5T_FLOAT) return StoredKind::kDoubles;
    if (type_class == H5T_STRING && H5Tis_variable_str(type) > 0) return StoredKind::kTexts;
    if (type_class != H5T_COMPOUND) return StoredKind::kOther;
    for (int m = 0; m < H5Tget_nmembers(type); ++m) {
      const H5T_class_t member = H5Tget_member_class(type, static_cast<unsigned>(m));
      if (member != H5T_INTEGER && member != H5T_FLOAT) return StoredKind::kOther;
    }
    return StoredKind::kTable;
  }

  // Adds an object with its attributes and, of a group, all that it holds.
  void AddObject(const Handle& object,
                 const std::string& path,
                 int depth,
                 std::vector<StoredObject>& objects) const {
    if (objects.size() == most_objects_) Fail(path, "a group or dataset contains itself");
    StoredObject stored{path, StoredKind::kOther, {}, {}};
    const H5I_type_t type = H5Iget_type(object);
    if (type == H5I_GROUP) stored.kind = StoredKind::kGroup;
    if (type == H5I_DATASET) {
      const Dataset dataset{object, path};
      stored.kind = dataset.kind;
      // Most are small: these need no question of their own.
      constexpr hssize_t kFew = 32;
      if ((stored.kind == StoredKind::kInts || stored.kind == StoredKind::kDoubles) &&
          H5Sget_simple_extent_npoints(dataset.space) <= kFew) {
        stored.values.push_back(Values(dataset));
      }
    }
    std::vector<std::string> names;
    const auto take_attribute =
        [](hid_t, const char* name, const H5A_info_t*, void* list) -> herr_t {
      static_cast<std::vector<std::string>*>(list)->emplace_back(name);
      return 0;
    };
    Require(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, take_attribute, &names), path);
    for (const std::string& name : names) {
      stored.attributes.push_back(ReadAttribute(object, name, path + "@" + name));
    }
    objects.push_back(std::move(stored));
    if (type != H5I_GROUP) return;

    if (depth == kMostNested)
      Fail(path, fmt::format("groups are nested more than {} levels deep", depth));
    names.clear();
    const auto take_link = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
      static_cast<std::vector<std::string>*>(list)->emplace_back(name);
      return 0;
    };
    Require(H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, take_link, &names), path);
    for (const std::string& name : names) {
      const std::string inner = (path == "/" ? "" : path) + "/" + name;
      H5L_info_t link{};
      Require(H5Lget_info(object, name.c_str(), &link, H5P_DEFAULT), inner);
      if (link.type == H5L_TYPE_HARD) {
        AddObject(Own(H5Oopen(object, name.c_str(), H5P_DEFAULT), H5Oclose, inner),
                  inner,
                  depth + 1,
                  objects);
      } else {  // leads elsewhere
        objects.push_back({inner, StoredKind::kOther, {}, {}});
      }
    }
  }

  StoredAttribute ReadAttribute(hid_t object,
                                const std::string& name,
                                const std::string& place) const {
    const Handle id = Own(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, place);
    const Handle type = Own(H5Aget_type(id), H5Tclose, place);
    const Handle space = Own(H5Aget_space(id), H5Sclose, place);
    StoredAttribute attribute{name, std::monostate()};
    const auto read = [&](auto value, hid_t memory_type) {
      Require(H5Aread(id, memory_type, &value), place);
      attribute.value = value;
    };
    if (H5Sget_simple_extent_npoints(space) != 1) return attribute;
    const H5T_class_t type_class = H5Tget_class(type);
    if (type_class == H5T_INTEGER) read(std::int64_t{0}, H5T_NATIVE_INT64);
    if (type_class == H5T_FLOAT) read(0.0, H5T_NATIVE_DOUBLE);
    if (type_class == H5T_STRING && H5Tis_variable_str(type) > 0) {
      attribute.value =
          Texts(type, space, place, [&](void* data) { return H5Aread(id, type, data); })[0];
    }
    return attribute;
  }

  StoredValues Values(const Dataset& dataset) const {
    const auto read = [&](hid_t memory_type, void* data) {
      return H5Dread(dataset.id, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    };
    const auto numbers = [&]<class T>(std::vector<T> values, hid_t memory_type) {
      values = Zeros<T>(dataset.space);
      if (!values.empty()) Require(read(memory_type, values.data()), dataset.path);
      return values;
    };
    switch (dataset.kind) {
      case StoredKind::kInts:
        return numbers(std::vector<std::int64_t>(), H5T_NATIVE_INT64);
      case StoredKind::kDoubles:
        return numbers(std::vector<double>(), H5T_NATIVE_DOUBLE);
      case StoredKind::kIntMatrix:
        return IntMatrix{Columns(dataset.space),
                         numbers(std::vector<std::int64_t>(), H5T_NATIVE_INT64)};
      case StoredKind::kTexts:
        return Texts(dataset.type, dataset.space, dataset.path, [&](void* data) {
          return read(dataset.type, data);
        });
      case StoredKind::kTable:
        break;
      default:
        Fail(dataset.path, "is not a dataset that emplace reads");
    }
    std::vector<TableColumn> columns;
    for (unsigned m = 0; m < static_cast<unsigned>(H5Tget_nmembers(dataset.type)); ++m) {
      char* const name = H5Tget_member_name(dataset.type, m);
      columns.push_back({name == nullptr ? "" : name, {}});
      H5free_memory(name);
      const auto column = [&](auto values, hid_t member_type) {
        const Handle row = Own(H5Tcreate(H5T_COMPOUND, sizeof values[0]), H5Tclose, dataset.path);
        Require(H5Tinsert(row, columns[m].name.c_str(), 0, member_type), dataset.path);
        columns[m].values = numbers(std::move(values), row);
      };
      if (H5Tget_member_class(dataset.type, m) == H5T_INTEGER) {
        column(std::vector<std::int64_t>(), H5T_NATIVE_INT64);
      } else {
        column(std::vector<double>(), H5T_NATIVE_DOUBLE);
      }
    }
    return columns;
  }

  // Reads the texts of an attribute or dataset by `read(buffer)`.
  template <class Read>
  std::vector<std::string> Texts(hid_t type,
                                 hid_t space,
                                 const std::string& place,
                                 Read read) const {
    auto raw = Zeros<char*>(space);
    if (!raw.empty()) Require(read(raw.data()), place);
    std::vector<std::string> texts;
    for (const char* text : raw) texts.emplace_back(text == nullptr ? "" : text);
    if (!raw.empty()) H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw.data());
    return texts;
  }

  // The file says how many. Sanitizers end a process that asks for too much memory.
  template <class T>
  std::vector<T> Zeros(hid_t space) const {
    const auto count = static_cast<std::uint64_t>(H5Sget_simple_extent_npoints(space));
    if (count > most_memory_ / sizeof(T)) throw std::bad_alloc();
    return std::vector<T>(count);
  }

  const std::uint64_t most_memory_;
  const size_t most_objects_;  // each has a header and a link of its own in the file
  const Handle file_;
};

}  // namespace

std::unique_ptr<ReadingProcess> StartResultsServer(const std::string& name,
                                                   const std::string& image) {
  ReadingLimits limits = LimitsOfResults();
  limits.memory += 3 * static_cast<std::int64_t>(image.size());  // HDF5 copies it twice
  const Hdf5Lock lock;  // no other thread is within HDF5 when the process is forked
  if (H5open() < 0) throw RunError("HDF5 cannot be started: " + LastHdf5Error());
  std::optional<ResultsServer> server;  // in the process alone
  return std::make_unique<ReadingProcess>(name, limits, [&](const std::string& question) {
    if (!server) server.emplace(image, limits.memory);
    return server->Answer(question);
  });
}

}  // namespace emplace::internal
