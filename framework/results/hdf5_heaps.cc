#include "framework/results/hdf5_heaps.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace emplace::internal::hdf5 {

void GlobalHeaps::CheckTexts(const ElementType& type, std::uint64_t count, FieldReader values) {
  if (type.kind != ElementType::Kind::kText) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t length = values.Take(4);
    const Address heap = values.Take(kWidth);
    const std::uint64_t index = values.Take(4);
    if (heap == 0) {  // the empty text
      values.Require(length == 0 && index == 0, "an empty text with a length");
      continue;
    }
    std::map<std::uint64_t, Text>& texts = TextsOf(heap);
    const auto found = texts.find(index);
    values.Require(found != texts.end() && found->second.length == length,
                   fmt::format("its text is not in the heap at byte {}", heap));
    values.Require(!std::exchange(found->second.is_taken, true),
                   fmt::format("its text in the heap at byte {} is something else's, too", heap));
  }
}

std::map<std::uint64_t, GlobalHeaps::Text>& GlobalHeaps::TextsOf(Address address) {
  const auto [at, is_new] = heaps_.try_emplace(address);
  if (!is_new) return at->second;
  constexpr std::uint64_t kLeast = 4096, kHead = 16;
  FieldReader beginning(
      file_.bytes().substr(std::min<Address>(address, file_.bytes().size()), kHead),
      fmt::format("heap at byte {}", address));
  beginning.TakeBytes(8);
  const std::uint64_t size = beginning.Take(kWidth);
  beginning.Require(size >= kLeast, "it is too small");
  FieldReader fields = file_.ClaimSigned(address, size, "GCOL", "heap");
  fields.Require(fields.Take(1) == 1, "its version is not 1");
  fields.TakeBytes(3 + kWidth);
  while (fields.left() >= kHead) {  // less is unused
    const size_t left = fields.left();
    const std::uint64_t index = fields.Take(2);
    fields.TakeBytes(6);
    const std::uint64_t bytes = fields.Take(kWidth);
    if (index == 0) {  // free to the end; its size counts its head
      fields.Require(bytes == left, "its free space does not end with it");
      break;
    }
    fields.Require(bytes <= fields.left(), "a text goes beyond its end");
    fields.TakeBytes((bytes + 7) / 8 * 8);
    fields.Require(at->second.emplace(index, Text{bytes}).second, "two texts of one index");
  }
  return at->second;
}

}  // namespace emplace::internal::hdf5
