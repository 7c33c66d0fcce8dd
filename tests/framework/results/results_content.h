#pragma once

// All that a results file holds, to compare what a reader says of it with what another one says.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include "framework/results/results_reader.h"
#include "tests/support/paths.h"

namespace emplace::testing {

/// The kept files of version 1, sorted.
inline std::vector<std::filesystem::path> VersionOneFiles() {
  std::vector<std::filesystem::path> files;
  const auto folder = SourceDir() / "tests/framework/results/data/version_1";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".h5") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// One thing that a reader can be asked for.
struct ContentItem {
  enum class Kind : std::uint8_t {
    kChildren,
    kText,
    kInt,
    kDouble,
    kInts,
    kIntMatrix,
    kDoubles,
    kStrings,
    kTable
  };
  Kind kind;
  std::string object, attribute;
};

namespace content_internal {

using Kind = ContentItem::Kind;

struct ContentWalk {
  std::vector<ContentItem>* items;
  std::string object;
};

inline herr_t ListAttribute(hid_t object, const char* name, const H5A_info_t*, void* data) {
  const auto& walk = *static_cast<const ContentWalk*>(data);
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
  const H5T_class_t type_class = H5Tget_class(type);
  const Kind kind = type_class == H5T_STRING    ? Kind::kText
                    : type_class == H5T_INTEGER ? Kind::kInt
                                                : Kind::kDouble;
  walk.items->push_back({kind, walk.object, name});
  H5Tclose(type);
  H5Aclose(attribute);
  return 0;
}

inline herr_t ListObject(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  const bool is_root = std::string(name) == ".";
  ContentWalk walk{static_cast<std::vector<ContentItem>*>(data),
                   is_root ? "/" : "/" + std::string(name)};
  const hid_t object = H5Oopen(root, name, H5P_DEFAULT);
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, ListAttribute, &walk);
  Kind kind = Kind::kChildren;
  if (info->type == H5O_TYPE_DATASET) {
    const hid_t type = H5Dget_type(object), space = H5Dget_space(object);
    const H5T_class_t type_class = H5Tget_class(type);
    kind = type_class == H5T_STRING                 ? Kind::kStrings
           : type_class == H5T_COMPOUND             ? Kind::kTable
           : type_class == H5T_FLOAT                ? Kind::kDoubles
           : H5Sget_simple_extent_ndims(space) == 2 ? Kind::kIntMatrix
                                                    : Kind::kInts;
    H5Sclose(space);
    H5Tclose(type);
  }
  walk.items->push_back({kind, walk.object, ""});
  H5Oclose(object);
  return 0;
}

}  // namespace content_internal

/// Everything in a sound file, as HDF5 itself lists it.
inline std::vector<ContentItem> ListContent(const std::filesystem::path& path) {
  std::vector<ContentItem> items;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  REQUIRE(file >= 0);
  CHECK(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, content_internal::ListObject, &items) >= 0);
  H5Fclose(file);
  return items;
}

/// What the reader says to it, as text; equal values give equal texts.
inline std::string ReadItem(const ResultsReader& reader, const ContentItem& item) {
  using content_internal::Kind;
  const auto& [kind, object, attribute] = item;
  switch (kind) {
    case Kind::kChildren:
      return fmt::format("{}", reader.Children(object));
    case Kind::kText:
      return reader.Text(object, attribute);
    case Kind::kInt:
      return fmt::format("{}", reader.Int(object, attribute));
    case Kind::kDouble:
      return fmt::format("{}", reader.Double(object, attribute));
    case Kind::kInts:
      return fmt::format("{}", reader.Ints(object));
    case Kind::kIntMatrix:
      return fmt::format("{}", reader.IntMatrix(object));
    case Kind::kDoubles:
      return fmt::format("{}", reader.Doubles(object));
    case Kind::kStrings:
      return fmt::format("{}", fmt::join(reader.Strings(object), "\n"));
    case Kind::kTable: {
      std::string text;
      for (const TableColumn& column : reader.Table(object)) {
        text += column.name + " ";
        std::visit([&](const auto& values) { text += fmt::format("{}\n", values); }, column.values);
      }
      return text;
    }
  }
  return "";
}

inline std::vector<std::string> ReadContent(const ResultsReader& reader,
                                            const std::vector<ContentItem>& items) {
  std::vector<std::string> texts;
  for (const ContentItem& item : items) texts.push_back(ReadItem(reader, item));
  return texts;
}

}  // namespace emplace::testing
