#include "framework/results/hdf5_library.h"

#include <vector>

#include <doctest/doctest.h>

#include "framework/base/error.h"
#include "tests/support/paths.h"

// Names of HDF5 are those of namespace emplace here, as in framework/results.
namespace emplace {
namespace {

TEST_CASE("a library that is missing is named with the system's words") {
  const std::vector<const char*> names = {"libemplace_no_such.so.1", "/nowhere/libhdf5.so"};
  CHECK(testing::MessageOf<RunError>([&] { internal::LoadHdf5(names); }) ==
        "cannot load HDF5, which results are kept in: libemplace_no_such.so.1: cannot open shared "
        "object file: No such file or directory");
}

TEST_CASE("the second name serves where the first is unknown") {
  const std::vector<const char*> names = {"libemplace_no_such.so.1", "libm.so.6"};
  CHECK(internal::LoadHdf5(names) != nullptr);
}

TEST_CASE("a name that HDF5 does not have is told") {
  const std::string message =
      testing::MessageOf<RunError>([] { internal::FindInHdf5("H5Xno_such"); });
  CHECK(message.find("HDF5 is of another version: ") == 0);
  CHECK(message.find("undefined symbol: H5Xno_such") != std::string::npos);
}

TEST_CASE("functions and identifiers are those of the library") {
  CHECK(internal::CanLoadHdf5());
  CHECK(H5open() >= 0);
  CHECK(H5Tget_class(H5T_NATIVE_INT64) == H5T_INTEGER);
  CHECK(H5Tget_class(H5T_IEEE_F64LE) == H5T_FLOAT);
  const hid_t type = H5Tcopy(H5T_C_S1);
  CHECK(H5Tget_class(type) == H5T_STRING);
  herr_t (*const close)(hid_t) = H5Tclose;
  CHECK(close(type) >= 0);
}

}  // namespace
}  // namespace emplace
