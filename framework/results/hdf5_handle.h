#pragma once

// What writer and reader share of HDF5's C interface. Internal to framework/results. HDF5's own
// header stays in the sources: its hid_t is std::int64_t, its herr_t int.

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace emplace::internal {

/// The packaged HDF5 is not thread-safe: one lock around every use of it, by whichever file. HDF5's
/// own printing of errors is off meanwhile.
class Hdf5Lock {
 public:
  Hdf5Lock();
  ~Hdf5Lock();
  Hdf5Lock(const Hdf5Lock&) = delete;
  Hdf5Lock& operator=(const Hdf5Lock&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  const bool silences_;
  int (*print_)(std::int64_t, void*) = nullptr;
  void* print_data_ = nullptr;
};

/// Owns an identifier of HDF5; negative: none.
class Hdf5Handle {
 public:
  Hdf5Handle(std::int64_t id, int (*close)(std::int64_t)) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  /// HDF5's status: some errors of writing show only here.
  int Close() { return close_(std::exchange(id_, -1)); }
  operator std::int64_t() const { return id_; }  // NOLINT: HDF5's functions take it everywhere

 private:
  std::int64_t id_;
  int (*close_)(std::int64_t);
};

/// Opens a file that lies in memory, without any tie to one on disk: HDF5 would refuse to open the
/// same file twice, and a replaced one must not shine through.
/// @return H5Fclose it; negative if it is no HDF5 file or is damaged
std::int64_t OpenHdf5Image(const std::string& content, bool writable);

/// "evaluations: unable to create dataset", from the bottom of HDF5's error stack.
std::string LastHdf5Error();

/// Is there a link of this path? Every group above it has to exist for HDF5's own question.
bool Hdf5PathExists(std::int64_t file, const std::string& path);

}  // namespace emplace::internal
