#include "framework/results/hdf5_fields.h"

#include <iterator>

#include <fmt/format.h>

namespace emplace::internal::hdf5 {

void Damaged(const std::string& where, const std::string& what) {
  throw Damage{where + ": " + what};
}

std::uint64_t FieldReader::Take(size_t width) {
  const std::string_view field = TakeBytes(width);
  std::uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(field[i]);
  return value;
}

std::string_view FieldReader::TakeBytes(size_t count) {
  if (count > bytes_.size()) Fail("it is cut off");
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

std::string_view FieldReader::TakeName(size_t align) {
  const size_t length = bytes_.find('\0');
  if (length == std::string_view::npos) Fail("a name has no end");
  return TakeBytes((length / align + 1) * align).substr(0, length);
}

FieldReader ClaimedFile::Claim(Address address, std::uint64_t size, const std::string& what) {
  FieldReader fields("", fmt::format("{} at byte {}", what, address));
  fields.Require(address <= bytes_.size() && size <= bytes_.size() - address,
                 "it is not within the file");
  if (size > 0) {
    const auto next = claimed_.upper_bound(address);
    const bool overlaps = (next != claimed_.end() && next->first < address + size) ||
                          (next != claimed_.begin() && std::prev(next)->second > address);
    fields.Require(!overlaps, "its bytes belong to something else, too");
    claimed_.emplace(address, address + size);
  }
  return {bytes_.substr(address, size), fields.where()};
}

FieldReader ClaimedFile::ClaimSigned(Address address,
                                     std::uint64_t size,
                                     const char* signature,
                                     const std::string& what) {
  FieldReader fields = Claim(address, size, what);
  fields.Require(fields.TakeBytes(4) == signature, "it is not there");
  return fields;
}

}  // namespace emplace::internal::hdf5
