#include "framework/results/hdf5_handle.h"

#include <type_traits>

#include <hdf5.h>

namespace emplace::internal {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>);

std::mutex& Hdf5Mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(Hdf5Mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Lock::~Hdf5Lock() {
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

std::string LastHdf5Error() {
  std::string reason;
  const auto take = [](unsigned, const H5E_error2_t* error, void* text) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take, &reason);
  return reason.empty() ? "unknown reason" : reason;
}

bool Hdf5LacksMemory() {
  bool lacks = false;
  const auto look = [](unsigned, const H5E_error2_t* error, void* found) -> herr_t {
    if (error->min_num == H5E_NOSPACE) *static_cast<bool*>(found) = true;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look, &lacks);
  return lacks;
}

}  // namespace emplace::internal
