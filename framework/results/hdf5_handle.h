#pragma once

// The part of HDF5's C interface that writer and reader share. Internal to framework/results.
// HDF5's own header stays in the sources: its hid_t is std::int64_t, its herr_t int.

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace emplace::internal {

/// Held around every use of HDF5, also of different files: the packaged HDF5 is not thread-safe.
/// HDF5 prints no errors of its own meanwhile.
class Hdf5Lock {
 public:
  Hdf5Lock();
  ~Hdf5Lock();
  Hdf5Lock(const Hdf5Lock&) = delete;
  Hdf5Lock& operator=(const Hdf5Lock&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
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

/// "evaluations: unable to create dataset", from the bottom of HDF5's error stack.
std::string LastHdf5Error();

/// Returns whether HDF5's last error is that it got no memory.
bool Hdf5LacksMemory();

}  // namespace emplace::internal
