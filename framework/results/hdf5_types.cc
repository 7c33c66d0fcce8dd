#include "framework/results/hdf5_types.h"

#include <array>
#include <set>

#include <fmt/format.h>

namespace emplace::internal::hdf5 {
namespace {

ElementType TakeNumberType(FieldReader& fields, int type_class, std::uint64_t bits, size_t size) {
  constexpr int kInteger = 0;
  const std::uint64_t offset = fields.Take(2), precision = fields.Take(2);
  fields.Require(offset == 0 && precision == 8 * size, "a number with unused bits");
  if (type_class == kInteger) {
    fields.Require((size == 1 || size == 2 || size == 4 || size == 8) && bits <= 0x0F,
                   "an unknown kind of integer");
    return {ElementType::Kind::kPlain, size};
  }
  std::array<std::uint64_t, 5> parts{};  // exponent at, its bits, mantissa at, its bits, bias
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = fields.Take(i < 4 ? 1 : 4);
  const bool is_double =
      size == 8 && bits >> 8 == 63 && parts == std::array{52UL, 11UL, 0UL, 52UL, 1023UL};
  const bool is_float =
      size == 4 && bits >> 8 == 31 && parts == std::array{23UL, 8UL, 0UL, 23UL, 127UL};
  fields.Require((is_double || is_float) && (bits & 0xFE) == 0x20,
                 "an unknown kind of floating-point number");
  return {ElementType::Kind::kPlain, size};
}

ElementType TakeTypeOf(FieldReader& fields, bool is_member);

ElementType TakeTableType(FieldReader& fields, size_t num_columns, size_t size) {
  std::uint64_t end = 0;
  std::set<std::string_view> names;
  for (size_t i = 0; i < num_columns; ++i) {
    const std::string_view name = fields.TakeName(8);
    fields.Require(!name.empty() && names.insert(name).second, "two columns of one name");
    const std::uint64_t offset = fields.Take(4);
    fields.Require(fields.Take(1) == 0, "a column of lists");
    fields.TakeBytes(27);  // the dimensions it does not have
    const ElementType column = TakeTypeOf(fields, true);
    fields.Require(offset >= end && offset + column.size <= size, "columns overlap");
    end = offset + column.size;
  }
  fields.Require(num_columns > 0, "a table without columns");
  return {ElementType::Kind::kTable, size};
}

ElementType TakeTypeOf(FieldReader& fields, bool is_member) {
  constexpr int kIntegerClass = 0, kFloatClass = 1, kStringClass = 3, kCompoundClass = 6,
                kVariableClass = 9;
  const std::uint64_t head = fields.Take(1), bits = fields.Take(3), size = fields.Take(4);
  fields.Require(head >> 4 == 1, fmt::format("version {} of a type, expected 1", head >> 4));
  const int type_class = static_cast<int>(head & 15);
  switch (type_class) {
    case kIntegerClass:
    case kFloatClass:
      return TakeNumberType(fields, type_class, bits, size);
    case kStringClass:
      fields.Require(size > 0 && (bits & 15) <= 2 && bits >> 4 <= 1, "an unknown kind of text");
      return {ElementType::Kind::kPlain, size};
    case kVariableClass: {
      fields.Require(!is_member && size == 2 * kWidth && (bits & 15) == 1 &&
                         (bits >> 4 & 15) <= 2 && bits >> 8 <= 1,
                     "an unknown kind of text of variable length");
      const ElementType letter = TakeTypeOf(fields, true);
      fields.Require(letter.size == 1, "a text whose letters are no bytes");
      return {ElementType::Kind::kText, size};
    }
    case kCompoundClass:
      fields.Require(!is_member && bits <= 0xFFFF, "a table within a table");
      return TakeTableType(fields, bits, size);
    default:
      fields.Fail(
          fmt::format("a type of HDF5's class {}, which emplace does not write", type_class));
  }
}

}  // namespace

ElementType TakeType(FieldReader& fields) {
  return TakeTypeOf(fields, false);
}

std::vector<std::uint64_t> TakeDimensions(FieldReader& fields) {
  const std::uint64_t version = fields.Take(1), rank = fields.Take(1), flags = fields.Take(1);
  fields.Require(version == 1 && rank <= 2 && flags <= 1, "an unknown kind of dimensions");
  fields.TakeBytes(5);
  std::vector<std::uint64_t> sizes;
  for (size_t i = 0; i < rank; ++i) sizes.push_back(fields.Take(kWidth));
  for (size_t i = 0; flags == 1 && i < rank; ++i) {
    fields.Require(fields.Take(kWidth) >= sizes[i], "more rows than there may be");
  }
  return sizes;
}

std::uint64_t Product(const std::vector<std::uint64_t>& factors, const FieldReader& fields) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors) {
    if (factor == 0) return 0;
    fields.Require(factor <= kMost / product, "it has more values than a file can hold");
    product *= factor;
  }
  return product;
}

}  // namespace emplace::internal::hdf5
