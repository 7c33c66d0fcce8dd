#pragma once

// The bytes of an HDF5 file as its structures have them, for hdf5_structure.h: little-endian fields
// one after the other, and who owns which bytes.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace emplace::internal::hdf5 {

using Address = std::uint64_t;  ///< of a byte in the file

inline constexpr Address kNowhere = ~Address{0};
inline constexpr std::size_t kWidth = 8;  ///< of addresses and lengths in the file [B]

/// Thrown for damage in a file.
struct Damage {
  std::string what;  ///< "object header at byte 96: it is cut off"
};

/// @throws Damage "where: what"
[[noreturn]] void Damaged(const std::string& where, const std::string& what);

/// The fields of one structure. Every call throws Damage when it finds none.
class FieldReader {
 public:
  /// @param where  for messages: "tree node at byte 136"
  FieldReader(std::string_view bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  /// A number of `width` bytes, at most 8.
  std::uint64_t Take(std::size_t width);
  std::string_view TakeBytes(std::size_t count);
  /// Up to a zero byte, and on to a multiple of `align` counted from its begin.
  std::string_view TakeName(std::size_t align);

  void Require(bool condition, const std::string& what) const {
    if (!condition) Fail(what);
  }
  [[noreturn]] void Fail(const std::string& what) const { Damaged(where_, what); }

  std::size_t left() const { return bytes_.size(); }
  std::string_view rest() const { return bytes_; }
  const std::string& where() const { return where_; }

 private:
  std::string_view bytes_;
  std::string where_;
};

/// A file whose structures claim their bytes, so that no two share any.
class ClaimedFile {
 public:
  explicit ClaimedFile(std::string_view bytes) : bytes_(bytes) {}

  std::string_view bytes() const { return bytes_; }
  /// The bytes of a structure. @throws Damage if they are not within the file, or another's
  FieldReader Claim(Address address, std::uint64_t size, const std::string& what);
  /// The same behind the structure's four-letter signature. @throws Damage if that is not there
  FieldReader ClaimSigned(Address address,
                          std::uint64_t size,
                          const char* signature,
                          const std::string& what);

 private:
  std::string_view bytes_;
  std::map<Address, Address> claimed_;  // begin, end
};

}  // namespace emplace::internal::hdf5
