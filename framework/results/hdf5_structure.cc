#include "framework/results/hdf5_structure.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/results/hdf5_chunks.h"
#include "framework/results/hdf5_fields.h"
#include "framework/results/hdf5_group.h"
#include "framework/results/hdf5_heaps.h"
#include "framework/results/hdf5_types.h"

namespace emplace::internal {
namespace hdf5 {
namespace {

// Messages of object headers.
constexpr int kNil = 0x00, kDataspace = 0x01, kDatatype = 0x03, kFillValue = 0x05, kLayout = 0x08,
              kFilters = 0x0B, kAttribute = 0x0C, kContinuation = 0x10, kSymbolTable = 0x11,
              kModified = 0x12;

// The superblock, and every object that is reachable from it.
class ClassicFile {
 public:
  explicit ClassicFile(std::string_view file) : file_(file) {}

  void Check() {
    CheckSuperblock();
    while (!objects_.empty()) {
      const LinkedObject object = objects_.back();
      objects_.pop_back();
      CheckObject(object);
    }
  }

 private:
  struct Message {
    int type;
    FieldReader fields;
  };

  void CheckSuperblock() {
    FieldReader fields = file_.Claim(0, 96, "superblock");
    fields.TakeBytes(8);  // the signature, seen before
    const std::uint64_t version = fields.Take(1);
    fields.Require(version == 0, fmt::format("its version is {}, expected 0", version));
    const std::uint64_t free_space = fields.Take(1), root_group = fields.Take(1);
    fields.TakeBytes(1);
    const std::uint64_t shared_headers = fields.Take(1), address_width = fields.Take(1),
                        length_width = fields.Take(1);
    fields.TakeBytes(1);
    const std::uint64_t names_of_leaf = fields.Take(2), children_of_node = fields.Take(2),
                        flags = fields.Take(4);
    fields.Require(free_space == 0 && root_group == 0 && shared_headers == 0 &&
                       address_width == kWidth && length_width == kWidth &&
                       names_of_leaf == kHalfLeaf && children_of_node == kHalfNode && flags == 0,
                   "not as emplace writes it");
    const Address base = fields.Take(kWidth), free_list = fields.Take(kWidth),
                  end = fields.Take(kWidth), driver = fields.Take(kWidth);
    fields.Require(base == 0 && free_list == kNowhere && driver == kNowhere,
                   "not as emplace writes it");
    fields.Require(end == file_.bytes().size(),
                   fmt::format("the file has {} bytes, expected {}", file_.bytes().size(), end));
    fields.TakeBytes(kWidth);
    const Address root = fields.Take(kWidth);
    const std::uint64_t cached = fields.Take(4);
    fields.Require(cached <= 1, "an unknown kind of root");
    fields.TakeBytes(4);
    objects_.push_back({root, TakeCached(fields, cached == 1)});
  }

  std::vector<Message> TakeMessages(Address address) {
    FieldReader head = file_.Claim(address, 16, "object header");
    const std::uint64_t version = head.Take(1);
    head.Require(version == 1, fmt::format("its version is {}, expected 1", version));
    head.TakeBytes(1);
    const std::uint64_t count = head.Take(2), links = head.Take(4), size = head.Take(4);
    head.Require(links == 1, fmt::format("{} links to it, expected 1", links));
    std::vector<Message> messages;
    std::vector<FieldReader> blocks = {file_.Claim(address + 16, size, "object header")};
    for (size_t b = 0; b < blocks.size(); ++b) {
      FieldReader block = blocks[b];
      while (block.left() > 0) {
        const int type = static_cast<int>(block.Take(2));
        const std::uint64_t bytes = block.Take(2), flags = block.Take(1);
        block.TakeBytes(3);
        block.Require(flags <= 1 && bytes % 8 == 0, "a message of unknown kind");
        FieldReader fields(block.TakeBytes(bytes), block.where());
        if (type == kContinuation) {
          FieldReader next = fields;
          const Address where = next.Take(kWidth);
          const std::uint64_t length = next.Take(kWidth);
          next.Require(length > 0, "an empty part of it");
          blocks.push_back(file_.Claim(where, length, "object header"));
        }
        messages.push_back({type, std::move(fields)});
      }
    }
    head.Require(messages.size() == count,
                 fmt::format("it has {} messages, expected {}", messages.size(), count));
    return messages;
  }

  void CheckObject(const LinkedObject& object) {
    const std::vector<Message> messages = TakeMessages(object.address);
    std::map<int, FieldReader> single;
    for (const Message& message : messages) {
      switch (message.type) {
        case kNil:
        case kContinuation:
        case kModified:
          break;
        case kAttribute:
          CheckAttribute(message.fields);
          break;
        case kDataspace:
        case kDatatype:
        case kFillValue:
        case kLayout:
        case kFilters:
        case kSymbolTable:
          message.fields.Require(single.emplace(message.type, message.fields).second,
                                 fmt::format("two messages of kind {}", message.type));
          break;
        default:
          message.fields.Fail(
              fmt::format("a message of kind {}, which emplace does not write", message.type));
      }
    }
    const std::string where = fmt::format("object header at byte {}", object.address);
    if (single.contains(kSymbolTable)) {
      if (single.size() > 1) Damaged(where, "a group and a dataset in one");
      FieldReader fields = single.at(kSymbolTable);
      SymbolTable table;
      table.tree = fields.Take(kWidth);
      table.heap = fields.Take(kWidth);
      fields.Require(!object.cached || *object.cached == table, "a link says another table");
      for (const LinkedObject& linked : CheckGroup(file_, table)) objects_.push_back(linked);
      return;
    }
    for (const int type : {kDataspace, kDatatype, kFillValue, kLayout}) {
      if (!single.contains(type)) Damaged(where, fmt::format("it has no message of kind {}", type));
    }
    if (object.cached) Damaged(where, "a link says that it is a group");
    CheckDataset(single);
  }

  // An attribute of version 1 pads its parts to eight bytes; later ones do not.
  void CheckAttribute(FieldReader fields) {
    const std::uint64_t version = fields.Take(1), flags = fields.Take(1);
    fields.Require(version >= 1 && version <= 3 && (version == 1 || flags == 0),
                   "an attribute of unknown kind");
    const std::uint64_t name_size = fields.Take(2), type_size = fields.Take(2),
                        space_size = fields.Take(2);
    if (version == 3) fields.Require(fields.Take(1) <= 1, "a name in unknown letters");
    const auto part = [&](std::uint64_t size) {
      return FieldReader(fields.TakeBytes(version == 1 ? (size + 7) / 8 * 8 : size),
                         fields.where());
    };
    FieldReader name_part = part(name_size);
    const std::string_view name = name_part.TakeName(1);
    fields.Require(!name.empty() && name.size() + 1 == name_size, "an attribute without a name");
    FieldReader type_part = part(type_size), space_part = part(space_size);
    const ElementType type = TakeType(type_part);
    const std::uint64_t count = Product(TakeDimensions(space_part), space_part);
    const FieldReader values(fields.rest(),
                             fmt::format("{}: attribute \"{}\"", fields.where(), name));
    values.Require(count <= values.left() / type.size, "its value is cut off");
    heaps_.CheckTexts(type, count, values);
  }

  void CheckDataset(const std::map<int, FieldReader>& messages) {
    FieldReader type_part = messages.at(kDatatype), space_part = messages.at(kDataspace),
                fill = messages.at(kFillValue), layout = messages.at(kLayout);
    const ElementType type = TakeType(type_part);
    const std::vector<std::uint64_t> sizes = TakeDimensions(space_part);
    const std::uint64_t count = Product(sizes, space_part);
    const std::uint64_t bytes = Product({count, type.size}, space_part);
    space_part.Require(sizes.size() < 2 || sizes[1] > 0 || sizes[0] == 0, "rows without columns");

    const std::uint64_t version = fill.Take(1), allocated = fill.Take(1), written = fill.Take(1),
                        defined = fill.Take(1);
    fill.Require(version == 2 && allocated <= 3 && written <= 2 && defined <= 1 &&
                     (defined == 0 || fill.Take(4) == 0),
                 "an unknown kind of default value");

    constexpr std::uint64_t kCompact = 0, kContiguous = 1, kChunked = 2;
    const std::uint64_t layout_version = layout.Take(1), storage = layout.Take(1);
    layout.Require(layout_version == 3 && storage <= kChunked, "an unknown layout");
    layout.Require(storage == kChunked || !messages.contains(kFilters), "filters without chunks");
    if (storage == kCompact) {
      layout.Require(layout.Take(2) == bytes, "a dataset of another size than its data");
      heaps_.CheckTexts(type, count, FieldReader(layout.TakeBytes(bytes), layout.where()));
    } else if (storage == kContiguous) {
      const Address address = layout.Take(kWidth);
      layout.Require(layout.Take(kWidth) == bytes, "a dataset of another size than its data");
      if (bytes > 0) heaps_.CheckTexts(type, count, file_.Claim(address, bytes, "data"));
    } else {
      layout.Require(type.kind != ElementType::Kind::kText, "texts in chunks");
      const auto filters = messages.find(kFilters);
      CheckChunks(file_,
                  type,
                  sizes,
                  filters == messages.end() ? std::vector<Filter>() : TakeFilters(filters->second),
                  layout);
    }
  }

  ClaimedFile file_;
  GlobalHeaps heaps_{file_};
  std::vector<LinkedObject> objects_;  // to be checked
};

}  // namespace
}  // namespace hdf5

std::string FindHdf5Damage(std::string_view file) {
  try {
    hdf5::ClassicFile(file).Check();
  } catch (const hdf5::Damage& damage) {
    return damage.what;
  }
  return "";
}

}  // namespace emplace::internal
