#pragma once

// What a group of an HDF5 file holds, as text that two runs can be compared by.

#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <hdf5.h>

namespace emplace::testing {

namespace internal {

inline std::string ReadAsText(hid_t type, const std::vector<char>& data, size_t count) {
  std::ostringstream text;
  const size_t size = H5Tget_size(type);
  for (size_t i = 0; i < count; ++i) {
    const char* item = data.data() + i * size;
    if (H5Tget_class(type) == H5T_STRING) {
      text << (H5Tis_variable_str(type) > 0 ? std::string(*reinterpret_cast<char* const*>(item))
                                            : std::string(item, strnlen(item, size)));
    } else if (H5Tget_class(type) == H5T_COMPOUND) {
      text << "(";
      for (int m = 0; m < H5Tget_nmembers(type); ++m) {
        char* name = H5Tget_member_name(type, m);
        const std::string member = name;
        H5free_memory(name);
        if (member == "wall_seconds" || member == "seconds") continue;
        const hid_t member_type = H5Tget_member_type(type, m);
        const char* begin = item + H5Tget_member_offset(type, m);
        text << member << "="
             << ReadAsText(member_type, {begin, begin + H5Tget_size(member_type)}, 1);
        H5Tclose(member_type);
      }
      text << ")";
    } else if (H5Tget_class(type) == H5T_FLOAT && size == sizeof(double)) {
      text << *reinterpret_cast<const double*>(item);
    } else {
      for (size_t b = 0; b < size; ++b)
        text << static_cast<int>(static_cast<unsigned char>(item[b])) << ".";
    }
    text << " ";
  }
  return text.str();
}

// Frees the texts that reading a variable-length string has made.
inline void Reclaim(hid_t type, hid_t space, std::vector<char>& data) {
  if (!data.empty() && H5Tis_variable_str(type) > 0)
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, data.data());
}

inline herr_t AppendAttribute(hid_t object, const char* name, const H5A_info_t*, void* output) {
  if (std::string(name) == "seconds") return 0;
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  const auto count = static_cast<size_t>(H5Sget_simple_extent_npoints(space));
  std::vector<char> data(count * H5Tget_size(type));
  H5Aread(attribute, type, data.data());
  static_cast<std::vector<std::string>*>(output)->push_back(std::string("@") + name + ": " +
                                                            ReadAsText(type, data, count));
  Reclaim(type, space, data);
  H5Sclose(space);
  H5Tclose(type);
  H5Aclose(attribute);
  return 0;
}

inline herr_t AppendObject(hid_t root, const char* name, const H5O_info_t* info, void* output) {
  auto& lines = *static_cast<std::vector<std::string>*>(output);
  lines.push_back(std::string("/") + name);
  const hid_t object = H5Oopen(root, name, H5P_DEFAULT);
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, AppendAttribute, output);
  if (info->type == H5O_TYPE_DATASET) {
    const hid_t type = H5Dget_type(object), space = H5Dget_space(object);
    const auto count = static_cast<size_t>(H5Sget_simple_extent_npoints(space));
    std::vector<char> data(count * H5Tget_size(type));
    H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data());
    lines.push_back(ReadAsText(type, data, count));
    Reclaim(type, space, data);
    H5Sclose(space);
    H5Tclose(type);
  }
  H5Oclose(object);
  return 0;
}

}  // namespace internal

/// One line per object, attribute and dataset below `group`, by name; without the times a run took
/// (attributes and columns "seconds", columns "wall_seconds"). Empty if the file or the group is
/// not there.
inline std::vector<std::string> Hdf5Text(const std::filesystem::path& path,
                                         const std::string& group) {
  std::vector<std::string> lines;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return lines;
  const hid_t root = H5Gopen2(file, group.c_str(), H5P_DEFAULT);
  if (root >= 0) {
    H5Ovisit(root, H5_INDEX_NAME, H5_ITER_INC, internal::AppendObject, &lines);
    H5Gclose(root);
  }
  H5Fclose(file);
  return lines;
}

}  // namespace emplace::testing
