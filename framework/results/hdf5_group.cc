#include "framework/results/hdf5_group.h"

#include <map>
#include <string_view>

#include "framework/results/hdf5_tree.h"

namespace emplace::internal::hdf5 {
namespace {

constexpr std::uint64_t kLinkBytes = 40;

void CheckFreeList(const FieldReader& names, std::uint64_t free_list) {
  constexpr std::uint64_t kEnd = 1, kHead = 2 * kWidth;
  std::map<std::uint64_t, std::uint64_t> blocks;  // begin, end
  while (free_list != kEnd) {
    names.Require(free_list < names.left() && names.left() - free_list >= kHead,
                  "free space is not within them");
    FieldReader block(names.rest().substr(free_list), names.where());
    const std::uint64_t next = block.Take(kWidth), size = block.Take(kWidth);
    names.Require(size >= kHead && size <= names.left() - free_list &&
                      blocks.emplace(free_list, free_list + size).second,
                  "their free space has no end");
    free_list = next;
  }
  std::uint64_t end = 0;
  for (const auto& [begin, block_end] : blocks) {
    names.Require(begin >= end, "their free space overlaps");
    end = block_end;
  }
}

}  // namespace

std::optional<SymbolTable> TakeCached(FieldReader& fields, bool is_cached) {
  const Address tree = fields.Take(kWidth), heap = fields.Take(kWidth);
  if (!is_cached) return {};
  return SymbolTable{tree, heap};
}

std::vector<LinkedObject> CheckGroup(ClaimedFile& file, const SymbolTable& table) {
  std::vector<LinkedObject> objects;
  FieldReader heap = file.ClaimSigned(table.heap, 8 + 3 * kWidth, "HEAP", "name heap");
  heap.Require(heap.Take(1) == 0, "its version is not 0");
  heap.TakeBytes(3);
  const std::uint64_t size = heap.Take(kWidth), free_list = heap.Take(kWidth);
  heap.Require(size > 0, "it has no names");
  const FieldReader names = file.Claim(heap.Take(kWidth), size, "names");
  CheckFreeList(names, free_list);

  const auto name_at = [&](std::uint64_t offset) {
    names.Require(offset < names.left(), "a name is not within them");
    FieldReader rest(names.rest().substr(offset), names.where());
    return rest.TakeName(1);
  };
  std::string_view last;
  const auto visit = [&](Address address, std::string_view left, std::string_view right) {
    FieldReader leaf = file.ClaimSigned(address, 8 + 2 * kHalfLeaf * kLinkBytes, "SNOD", "links");
    const std::uint64_t version = leaf.Take(1);
    leaf.TakeBytes(1);
    const std::uint64_t count = leaf.Take(2);
    leaf.Require(version == 1 && count >= 1 && count <= 2 * kHalfLeaf, "an unknown kind of links");
    FieldReader left_key(left, leaf.where()), right_key(right, leaf.where());
    const std::string_view before = name_at(left_key.Take(kWidth)),
                           until = name_at(right_key.Take(kWidth));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string_view name = name_at(leaf.Take(kWidth));
      const Address object = leaf.Take(kWidth);
      const std::uint64_t cached = leaf.Take(4);
      leaf.TakeBytes(4);
      leaf.Require(cached <= 1 && name.find('/') == std::string_view::npos && name != ".",
                   "an unknown kind of link");
      leaf.Require(name > last && name > before && name <= until, "its names are not in order");
      objects.push_back({object, TakeCached(leaf, cached == 1)});
      last = name;
    }
  };
  constexpr std::uint64_t kGroupTree = 0;
  WalkTree(file, table.tree, {kGroupTree, kWidth, 2 * kHalfNode, visit});
  return objects;
}

}  // namespace emplace::internal::hdf5
