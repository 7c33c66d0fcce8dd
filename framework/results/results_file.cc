#include "framework/results/results_file.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <hdf5.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/results/hdf5_handle.h"
#include "framework/results/results_image.h"
#include "framework/results/results_reader.h"

namespace emplace {
namespace {

using internal::Hdf5Lock;
using internal::LastHdf5Error;
using Handle = internal::Hdf5Handle;

constexpr hsize_t kCompressFrom = 4096;  // rows; shorter datasets stay contiguous
constexpr hsize_t kChunkRows = 16384;
constexpr unsigned kDeflateLevel = 4;
constexpr size_t kGrowth = size_t{1} << 20;  // growth of the file in memory [B]

// Returns the type of a column in the file, which is the same on every machine.
template <class T>
hid_t FileType() {
  return std::is_same_v<T, double> ? H5T_IEEE_F64LE : H5T_STD_I64LE;
}
template <class T>
hid_t MemoryType() {
  return std::is_same_v<T, double> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
}

}  // namespace

struct ResultsFile::Impl {
  std::string name;  // for messages
  hid_t file = -1;
  std::mutex commit;  // taken before Hdf5Lock

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    const Hdf5Lock lock;
    if (file >= 0) H5Fclose(file);
  }

  [[noreturn]] void Fail(const std::string& what, const std::string& reason) const {
    throw RunError(fmt::format("{}: cannot write {}: {}", name, what, reason));
  }

  Handle Own(hid_t id, herr_t (*close)(hid_t), const std::string& what) const {
    if (id < 0) Fail(what, LastHdf5Error());
    return Handle(id, close);
  }

  void Require(herr_t status, const std::string& what) const {
    if (status < 0) Fail(what, LastHdf5Error());
  }

  // HDF5's own H5Lexists fails if a group on the way is missing.
  bool Exists(const std::string& path) const {
    for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
      const std::string part = path.substr(0, slash);
      if (!part.empty() && part != "/" && H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) {
        return false;
      }
      if (slash == std::string::npos) return true;
    }
  }

  Handle OpenGroup(const std::string& path) const {
    if (path.empty() || path == "/") {
      return Own(H5Oopen(file, "/", H5P_DEFAULT), H5Oclose, "the root group");
    }
    if (Exists(path)) return Own(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose, path);
    const Handle links = MakeLinkProperties();
    return Own(H5Gcreate2(file, path.c_str(), links, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, path);
  }

  Handle MakeLinkProperties() const {
    Handle links = Own(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "link properties");
    Require(H5Pset_create_intermediate_group(links, 1), "link properties");
    return links;
  }

  Handle MakeStringType() const {
    Handle type = Own(H5Tcopy(H5T_C_S1), H5Tclose, "a text type");
    Require(H5Tset_size(type, H5T_VARIABLE), "a text type");
    Require(H5Tset_cset(type, H5T_CSET_UTF8), "a text type");
    return type;
  }

  const char* RequireText(const std::string& text, const std::string& what) const {
    if (text.find('\0') != std::string::npos) Fail(what, "the text has a zero byte");
    return text.c_str();
  }

  // Writes `rows` elements as the dataset `path`, replacing an old one; in rows of `columns`
  // elements if that is not 0.
  void WriteDataset(const std::string& path,
                    hid_t file_type,
                    hid_t memory_type,
                    hsize_t rows,
                    const void* data,
                    hsize_t columns = 0) const {
    if (Exists(path)) {
      const Handle old = Own(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose, path);
      EMPLACE_CHECK(H5Iget_type(old) == H5I_DATASET, path + " is a group");
      Require(H5Ldelete(file, path.c_str(), H5P_DEFAULT), path);
    }
    const hsize_t matrix[] = {columns > 0 ? rows / columns : 0, columns};
    const Handle space = Own(
        columns > 0 ? H5Screate_simple(2, matrix, nullptr) : H5Screate_simple(1, &rows, nullptr),
        H5Sclose,
        path);
    const Handle layout = Own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path);
    Require(H5Pset_obj_track_times(layout, false), path);  // equal runs give equal bytes
    if (columns == 0 && rows >= kCompressFrom && H5Tis_variable_str(file_type) <= 0) {
      const hsize_t chunk = std::min(rows, kChunkRows);
      Require(H5Pset_chunk(layout, 1, &chunk), path);
      if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
        Require(H5Pset_shuffle(layout), path);
        Require(H5Pset_deflate(layout, kDeflateLevel), path);
      }
    }
    const Handle links = MakeLinkProperties();
    Handle dataset =
        Own(H5Dcreate2(file, path.c_str(), file_type, space, links, layout, H5P_DEFAULT),
            H5Dclose,
            path);
    if (rows > 0) {
      Require(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), path);
    }
    Require(dataset.Close(), path);
  }
};

ResultsFile::ResultsFile(std::filesystem::path path, ResultsMode mode)
    : path_(std::move(path)), impl_(std::make_unique<Impl>()) {
  impl_->name = path_.string();
  std::optional<ResultsReader> old;
  if (mode == ResultsMode::kExtend) old.emplace(path_);
  RequireWritable(path_);
  {
    const Hdf5Lock lock;
    const Handle access = impl_->Own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "the file");
    impl_->Require(H5Pset_fapl_core(access, kGrowth, false), "the file");
    static int count = 0;  // HDF5 has no two files with the same name
    const std::string name = fmt::format("memory:{}", ++count);
    impl_->file = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (impl_->file < 0) impl_->Fail("the file", LastHdf5Error());
  }
  if (old) {
    old->CopyTo(*this);
  } else {
    SetAttribute("/", "format", std::string(kResultsFormat));
    SetAttribute("/", "version", kResultsVersion);
  }
}

ResultsFile::~ResultsFile() = default;

void ResultsFile::SetAttribute(const std::string& group,
                               const std::string& name,
                               const AttributeValue& value) {
  const Hdf5Lock lock;
  const std::string what = group + "@" + name;
  const Handle object = impl_->OpenGroup(group);
  if (H5Aexists(object, name.c_str()) > 0) {
    impl_->Require(H5Adelete(object, name.c_str()), what);
  }
  const Handle space = impl_->Own(H5Screate(H5S_SCALAR), H5Sclose, what);
  const auto write = [&](hid_t file_type, hid_t memory_type, const void* data) {
    Handle attribute =
        impl_->Own(H5Acreate2(object, name.c_str(), file_type, space, H5P_DEFAULT, H5P_DEFAULT),
                   H5Aclose,
                   what);
    impl_->Require(H5Awrite(attribute, memory_type, data), what);
    impl_->Require(attribute.Close(), what);
  };
  if (const auto* text = std::get_if<std::string>(&value)) {
    const char* characters = impl_->RequireText(*text, what);
    const Handle type = impl_->MakeStringType();
    write(type, type, &characters);
  } else if (const auto* number = std::get_if<double>(&value)) {
    write(FileType<double>(), MemoryType<double>(), number);
  } else {
    write(FileType<std::int64_t>(), MemoryType<std::int64_t>(), &std::get<std::int64_t>(value));
  }
}

void ResultsFile::AddGroup(const std::string& group) {
  const Hdf5Lock lock;
  impl_->OpenGroup(group);
}

void ResultsFile::WriteInts(const std::string& dataset, const std::vector<std::int64_t>& values) {
  const Hdf5Lock lock;
  impl_->WriteDataset(
      dataset, FileType<std::int64_t>(), MemoryType<std::int64_t>(), values.size(), values.data());
}

void ResultsFile::WriteIntMatrix(const std::string& dataset,
                                 const std::vector<std::int64_t>& values,
                                 std::size_t columns) {
  EMPLACE_CHECK(columns > 0 && values.size() % columns == 0, dataset);
  const Hdf5Lock lock;
  impl_->WriteDataset(dataset,
                      FileType<std::int64_t>(),
                      MemoryType<std::int64_t>(),
                      values.size(),
                      values.data(),
                      columns);
}

void ResultsFile::WriteDoubles(const std::string& dataset, const std::vector<double>& values) {
  const Hdf5Lock lock;
  impl_->WriteDataset(
      dataset, FileType<double>(), MemoryType<double>(), values.size(), values.data());
}

void ResultsFile::WriteStrings(const std::string& dataset, const std::vector<std::string>& values) {
  const Hdf5Lock lock;
  std::vector<const char*> characters;
  for (const std::string& text : values) {
    characters.push_back(impl_->RequireText(text, dataset));
  }
  const Handle type = impl_->MakeStringType();
  impl_->WriteDataset(dataset, type, type, values.size(), characters.data());
}

void ResultsFile::WriteTable(const std::string& dataset, const std::vector<TableColumn>& columns) {
  constexpr size_t kWidth = 8;  // of both types of numbers [B]
  EMPLACE_CHECK(!columns.empty(), dataset);
  const auto length = [](const TableColumn& column) {
    return std::visit([](const auto& values) { return values.size(); }, column.values);
  };
  const size_t rows = length(columns[0]);
  const size_t row_bytes = columns.size() * kWidth;
  std::vector<char> data(rows * row_bytes);

  const Hdf5Lock lock;
  const Handle file_type = impl_->Own(H5Tcreate(H5T_COMPOUND, row_bytes), H5Tclose, dataset);
  const Handle memory_type = impl_->Own(H5Tcreate(H5T_COMPOUND, row_bytes), H5Tclose, dataset);
  for (size_t c = 0; c < columns.size(); ++c) {
    EMPLACE_CHECK(length(columns[c]) == rows, dataset + ": " + columns[c].name);
    const char* name = columns[c].name.c_str();
    std::visit(
        [&]<class T>(const std::vector<T>& values) {
          static_assert(sizeof(T) == kWidth);
          impl_->Require(H5Tinsert(file_type, name, c * kWidth, FileType<T>()), dataset);
          impl_->Require(H5Tinsert(memory_type, name, c * kWidth, MemoryType<T>()), dataset);
          for (size_t r = 0; r < rows; ++r) {
            std::memcpy(&data[r * row_bytes + c * kWidth], &values[r], kWidth);
          }
        },
        columns[c].values);
  }
  impl_->WriteDataset(dataset, file_type, memory_type, rows, data.data());
}

void ResultsFile::Remove(const std::string& path) {
  const Hdf5Lock lock;
  if (impl_->Exists(path)) impl_->Require(H5Ldelete(impl_->file, path.c_str(), H5P_DEFAULT), path);
}

void ResultsFile::Commit() {
  const std::lock_guard<std::mutex> one_at_a_time(
      impl_->commit);  // the last commit has the latest state
  std::string image;
  {
    const Hdf5Lock lock;
    impl_->Require(H5Fflush(impl_->file, H5F_SCOPE_GLOBAL), "the file");
    const ssize_t size = H5Fget_file_image(impl_->file, nullptr, 0);
    if (size < 0) impl_->Fail("the file", LastHdf5Error());
    image.resize(static_cast<size_t>(size));
    if (H5Fget_file_image(impl_->file, image.data(), image.size()) < 0) {
      impl_->Fail("the file", LastHdf5Error());
    }
  }
  image += internal::ChecksumLine(image);
  WriteFileAtomically(path_, image);
}

}  // namespace emplace
