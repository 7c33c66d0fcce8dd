#include "framework/results/hdf5_handle.h"

#include <type_traits>

#include "framework/results/hdf5_library.h"

namespace emplace::internal {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>);

std::mutex& Hdf5Mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

// Destructors lock, too, so this does not throw if HDF5 cannot be loaded: the next call of it does.
Hdf5Lock::Hdf5Lock() : lock_(Hdf5Mutex()), silences_(CanLoadHdf5()) {
  if (!silences_) return;
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Lock::~Hdf5Lock() {
  if (!silences_) return;
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

std::int64_t OpenHdf5Image(const std::string& content, bool writable) {
  constexpr size_t kGrowth = size_t{1} << 20;  // [B]
  static int count = 0;                        // the caller holds the lock
  if (content.empty()) return -1;              // an empty image means none to HDF5
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (access < 0 || H5Pset_fapl_core(access, kGrowth, false) < 0) return -1;
  // HDF5 copies the image and takes no const pointer.
  auto* image = const_cast<char*>(content.data());
  if (H5Pset_file_image(access, image, content.size()) < 0) return -1;
  const std::string name = "memory:" + std::to_string(++count);
  return H5Fopen(name.c_str(), writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
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

bool Hdf5PathExists(std::int64_t file, const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (!part.empty() && part != "/" && H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) {
      return false;
    }
    if (slash == std::string::npos) return true;
  }
}

}  // namespace emplace::internal
