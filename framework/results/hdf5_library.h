#pragma once

// HDF5, opened when its first function is called. Linked, it would bring some thirty other
// libraries (of its way to read from the network), and a program that only lists agents would spend
// most of its time on them. Internal to framework/results, whose sources include this instead of
// <hdf5.h>.
//
// The names below are in namespace emplace, where they hide HDF5's own: code there reads as if
// HDF5 were linked, its macros included. Other names of HDF5 do not link.
//
// @throws RunError from any of them, naming the library, if it cannot be loaded

#include <atomic>
#include <span>

#include <hdf5.h>

namespace emplace {

namespace internal {

/// Returns the first of these libraries that loads. It stays open for the life of the process.
/// @throws RunError with the system's message for the first
void* LoadHdf5(std::span<const char* const> names);

/// Loads HDF5 if it is not in this process yet; false if that fails.
bool CanLoadHdf5() noexcept;

/// Address of a symbol of the HDF5 that this program was built with. @throws RunError
void* FindInHdf5(const char* name);

/// A function of HDF5: called like it, and converted to a pointer to it.
template <typename Function>
class Hdf5Function {
 public:
  constexpr explicit Hdf5Function(const char* name) : name_(name) {}
  operator Function*() const {  // NOLINT: stands for the function
    Function* function = found_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(FindInHdf5(name_));
      found_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

 private:
  const char* name_;
  mutable std::atomic<Function*> found_ = nullptr;
};

/// One of HDF5's identifiers of predefined types and classes, as its macros name them.
class Hdf5Id {
 public:
  constexpr explicit Hdf5Id(const char* name) : name_(name) {}
  operator hid_t() const { return *static_cast<hid_t*>(FindInHdf5(name_)); }  // NOLINT: likewise

 private:
  const char* name_;
};

}  // namespace internal

// A macro of HDF5 that names one of several versions of a function is looked up as that version.
#define EMPLACE_HDF5_DEFINE(name) \
  inline constinit internal::Hdf5Function<decltype(::name)> name(#name)
#define EMPLACE_HDF5(name) EMPLACE_HDF5_DEFINE(name)
EMPLACE_HDF5(H5Aclose);
EMPLACE_HDF5(H5Acreate2);
EMPLACE_HDF5(H5Adelete);
EMPLACE_HDF5(H5Aexists);
EMPLACE_HDF5(H5Aget_space);
EMPLACE_HDF5(H5Aget_type);
EMPLACE_HDF5(H5Aopen);
EMPLACE_HDF5(H5Aread);
EMPLACE_HDF5(H5Awrite);
EMPLACE_HDF5(H5check_version);
EMPLACE_HDF5(H5Dclose);
EMPLACE_HDF5(H5Dcreate2);
EMPLACE_HDF5(H5Dget_space);
EMPLACE_HDF5(H5Dget_type);
EMPLACE_HDF5(H5Dopen2);
EMPLACE_HDF5(H5Dread);
EMPLACE_HDF5(H5Dvlen_reclaim);
EMPLACE_HDF5(H5Dwrite);
EMPLACE_HDF5(H5Eget_auto2);
EMPLACE_HDF5(H5Eset_auto2);
EMPLACE_HDF5(H5Ewalk2);
EMPLACE_HDF5(H5Fclose);
EMPLACE_HDF5(H5Fcreate);
EMPLACE_HDF5(H5Fflush);
EMPLACE_HDF5(H5Fget_file_image);
EMPLACE_HDF5(H5Fopen);
EMPLACE_HDF5(H5free_memory);
EMPLACE_HDF5(H5Gclose);
EMPLACE_HDF5(H5Gcreate2);
EMPLACE_HDF5(H5Iget_type);
EMPLACE_HDF5(H5Ldelete);
EMPLACE_HDF5(H5Lexists);
EMPLACE_HDF5(H5Literate);
EMPLACE_HDF5(H5Oclose);
EMPLACE_HDF5(H5Oopen);
EMPLACE_HDF5(H5open);
EMPLACE_HDF5(H5Pclose);
EMPLACE_HDF5(H5Pcreate);
EMPLACE_HDF5(H5Pset_chunk);
EMPLACE_HDF5(H5Pset_create_intermediate_group);
EMPLACE_HDF5(H5Pset_deflate);
EMPLACE_HDF5(H5Pset_fapl_core);
EMPLACE_HDF5(H5Pset_file_image);
EMPLACE_HDF5(H5Pset_obj_track_times);
EMPLACE_HDF5(H5Pset_shuffle);
EMPLACE_HDF5(H5Sclose);
EMPLACE_HDF5(H5Screate);
EMPLACE_HDF5(H5Screate_simple);
EMPLACE_HDF5(H5Sget_simple_extent_dims);
EMPLACE_HDF5(H5Sget_simple_extent_ndims);
EMPLACE_HDF5(H5Sget_simple_extent_npoints);
EMPLACE_HDF5(H5Tclose);
EMPLACE_HDF5(H5Tcopy);
EMPLACE_HDF5(H5Tcreate);
EMPLACE_HDF5(H5Tget_class);
EMPLACE_HDF5(H5Tget_cset);
EMPLACE_HDF5(H5Tget_member_class);
EMPLACE_HDF5(H5Tget_member_name);
EMPLACE_HDF5(H5Tget_nmembers);
EMPLACE_HDF5(H5Tinsert);
EMPLACE_HDF5(H5Tis_variable_str);
EMPLACE_HDF5(H5Tset_cset);
EMPLACE_HDF5(H5Tset_size);
EMPLACE_HDF5(H5Zfilter_avail);
#undef EMPLACE_HDF5
#undef EMPLACE_HDF5_DEFINE

#define EMPLACE_HDF5_ID(name) inline constexpr internal::Hdf5Id name(#name)
EMPLACE_HDF5_ID(H5P_CLS_DATASET_CREATE_ID_g);
EMPLACE_HDF5_ID(H5P_CLS_FILE_ACCESS_ID_g);
EMPLACE_HDF5_ID(H5P_CLS_LINK_CREATE_ID_g);
EMPLACE_HDF5_ID(H5T_C_S1_g);
EMPLACE_HDF5_ID(H5T_IEEE_F64LE_g);
EMPLACE_HDF5_ID(H5T_NATIVE_DOUBLE_g);
EMPLACE_HDF5_ID(H5T_NATIVE_INT64_g);
EMPLACE_HDF5_ID(H5T_STD_I64LE_g);
#undef EMPLACE_HDF5_ID

}  // namespace emplace
