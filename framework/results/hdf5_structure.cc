#include "framework/results/hdf5_structure.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

namespace emplace::internal {
namespace {

using Address = std::uint64_t;

constexpr Address kNowhere = ~Address{0};
constexpr size_t kWidth = 8;  // of addresses and lengths in the file [B]

// Messages of object headers.
constexpr int kNil = 0x00, kDataspace = 0x01, kDatatype = 0x03, kFillValue = 0x05, kLayout = 0x08,
              kFilters = 0x0B, kAttribute = 0x0C, kContinuation = 0x10, kSymbolTable = 0x11,
              kModified = 0x12;
constexpr int kDeflate = 1, kShuffle = 2;                        // filters
constexpr std::uint64_t kMostChunkRows = 16384;                  // that emplace writes
constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 31;  // of a dataset in chunks [B]

struct StructureDamage {
  std::string what;
};

[[noreturn]] void Damaged(const std::string& where, const std::string& what) {
  throw StructureDamage{where + ": " + what};
}

// Little-endian fields of one structure, one after the other.
class FieldReader {
 public:
  FieldReader(std::string_view bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  std::uint64_t Take(size_t width) {
    const std::string_view field = TakeBytes(width);
    std::uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(field[i]);
    return value;
  }
  std::string_view TakeBytes(size_t count) {
    if (count > bytes_.size()) Fail("it is cut off");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  // Up to a zero byte, and on to a multiple of `align` counted from its begin.
  std::string_view TakeName(size_t align) {
    const size_t length = bytes_.find('\0');
    if (length == std::string_view::npos) Fail("a name has no end");
    return TakeBytes((length / align + 1) * align).substr(0, length);
  }
  void Require(bool condition, const std::string& what) const {
    if (!condition) Fail(what);
  }
  [[noreturn]] void Fail(const std::string& what) const { Damaged(where_, what); }

  size_t left() const { return bytes_.size(); }
  std::string_view rest() const { return bytes_; }
  const std::string& where() const { return where_; }

 private:
  std::string_view bytes_;
  std::string where_;
};

struct ElementType {
  enum class Kind : std::uint8_t { kPlain, kText, kTable };  // kText: of variable length
  Kind kind = Kind::kPlain;
  std::uint64_t size = 0;  // [B]
};

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

ElementType TakeType(FieldReader& fields, bool is_member = false);

ElementType TakeTableType(FieldReader& fields, size_t num_columns, size_t size) {
  std::uint64_t end = 0;
  std::set<std::string_view> names;
  for (size_t i = 0; i < num_columns; ++i) {
    const std::string_view name = fields.TakeName(8);
    fields.Require(!name.empty() && names.insert(name).second, "two columns of one name");
    const std::uint64_t offset = fields.Take(4);
    fields.Require(fields.Take(1) == 0, "a column of lists");
    fields.TakeBytes(27);  // the dimensions it does not have
    const ElementType column = TakeType(fields, true);
    fields.Require(offset >= end && offset + column.size <= size, "columns overlap");
    end = offset + column.size;
  }
  fields.Require(num_columns > 0, "a table without columns");
  return {ElementType::Kind::kTable, size};
}

ElementType TakeType(FieldReader& fields, bool is_member) {
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
      const ElementType letter = TakeType(fields, true);
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

// Numbers of rows, columns, ...; none for a single value.
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

// The product; far less than 2^64 for what can lie in a file.
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
  struct SymbolTable {
    Address tree = kNowhere, heap = kNowhere;
    bool operator==(const SymbolTable&) const = default;
  };
  struct LinkedObject {
    Address address;
    std::optional<SymbolTable> cached;  // what the link says of a group's table
  };
  struct Message {
    int type;
    FieldReader fields;
  };
  struct Filter {
    int id;
    std::uint64_t parameter;
  };
  // In a global heap.
  struct HeapText {
    std::uint64_t length;   // [B]
    bool is_taken = false;  // by an attribute or dataset
  };
  // A node of a tree and the one at its right, by level, as far as the walk has come.
  struct Row {
    Address last = kNowhere, right = kNowhere;
  };
  struct TreeKind {
    std::uint64_t type;
    size_t key_bytes;
    size_t capacity;  // children of a node
    // Called in order. @param left, right  keys of the child's two sides
    std::function<void(Address child, std::string_view left, std::string_view right)> visit_leaf;
  };

  // The bytes of a structure, which no other may share.
  FieldReader Claim(Address address, std::uint64_t size, const std::string& what) {
    FieldReader fields("", fmt::format("{} at byte {}", what, address));
    fields.Require(address <= file_.size() && size <= file_.size() - address,
                   "it is not within the file");
    if (size > 0) {
      const auto next = claimed_.upper_bound(address);
      const bool overlaps = (next != claimed_.end() && next->first < address + size) ||
                            (next != claimed_.begin() && std::prev(next)->second > address);
      fields.Require(!overlaps, "its bytes belong to something else, too");
      claimed_.emplace(address, address + size);
    }
    return {file_.substr(address, size), fields.where()};
  }

  FieldReader ClaimSigned(Address address,
                          std::uint64_t size,
                          const char* signature,
                          const std::string& what) {
    FieldReader fields = Claim(address, size, what);
    fields.Require(fields.TakeBytes(4) == signature, "it is not there");
    return fields;
  }

  void CheckSuperblock() {
    FieldReader fields = Claim(0, 96, "superblock");
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
    fields.Require(end == file_.size(),
                   fmt::format("the file has {} bytes, expected {}", file_.size(), end));
    fields.TakeBytes(kWidth);
    const Address root = fields.Take(kWidth);
    const std::uint64_t cached = fields.Take(4);
    fields.Require(cached <= 1, "an unknown kind of root");
    fields.TakeBytes(4);
    objects_.push_back({root, TakeCached(fields, cached == 1)});
  }

  static std::optional<SymbolTable> TakeCached(FieldReader& fields, bool is_cached) {
    const Address tree = fields.Take(kWidth), heap = fields.Take(kWidth);
    if (!is_cached) return {};
    return SymbolTable{tree, heap};
  }

  std::vector<Message> TakeMessages(Address address) {
    FieldReader head = Claim(address, 16, "object header");
    const std::uint64_t version = head.Take(1);
    head.Require(version == 1, fmt::format("its version is {}, expected 1", version));
    head.TakeBytes(1);
    const std::uint64_t count = head.Take(2), links = head.Take(4), size = head.Take(4);
    head.Require(links == 1, fmt::format("{} links to it, expected 1", links));
    std::vector<Message> messages;
    std::vector<FieldReader> blocks = {Claim(address + 16, size, "object header")};
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
          blocks.push_back(Claim(where, length, "object header"));
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
      CheckGroup(table);
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
    CheckTexts(type, count, values);
  }

  void CheckTexts(const ElementType& type, std::uint64_t count, FieldReader values) {
    if (type.kind != ElementType::Kind::kText) return;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t length = values.Take(4);
      const Address heap = values.Take(kWidth);
      const std::uint64_t index = values.Take(4);
      if (heap == 0) {  // the empty text
        values.Require(length == 0 && index == 0, "an empty text with a length");
        continue;
      }
      std::map<std::uint64_t, HeapText>& texts = TextsOf(heap);
      const auto found = texts.find(index);
      values.Require(found != texts.end() && found->second.length == length,
                     fmt::format("its text is not in the heap at byte {}", heap));
      // Or a short list would be one long text a million times.
      values.Require(!std::exchange(found->second.is_taken, true),
                     fmt::format("its text in the heap at byte {} is something else's, too", heap));
    }
  }

  // The texts in a global heap by their indices.
  std::map<std::uint64_t, HeapText>& TextsOf(Address address) {
    const auto [at, is_new] = heaps_.try_emplace(address);
    if (!is_new) return at->second;
    constexpr std::uint64_t kLeast = 4096, kHead = 16;
    FieldReader beginning(file_.substr(std::min<Address>(address, file_.size()), kHead),
                          fmt::format("heap at byte {}", address));
    beginning.TakeBytes(8);
    const std::uint64_t size = beginning.Take(kWidth);
    beginning.Require(size >= kLeast, "it is too small");
    FieldReader fields = ClaimSigned(address, size, "GCOL", "heap");
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
      fields.Require(at->second.emplace(index, HeapText{bytes}).second, "two texts of one index");
    }
    return at->second;
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
      CheckTexts(type, count, FieldReader(layout.TakeBytes(bytes), layout.where()));
    } else if (storage == kContiguous) {
      const Address address = layout.Take(kWidth);
      layout.Require(layout.Take(kWidth) == bytes, "a dataset of another size than its data");
      if (bytes > 0) CheckTexts(type, count, Claim(address, bytes, "data"));
    } else {
      layout.Require(type.kind != ElementType::Kind::kText, "texts in chunks");
      CheckChunks(type, sizes, TakeFilters(messages), layout);
    }
  }

  static std::vector<Filter> TakeFilters(const std::map<int, FieldReader>& messages) {
    std::vector<Filter> filters;
    const auto found = messages.find(kFilters);
    if (found == messages.end()) return filters;
    FieldReader fields = found->second;
    const std::uint64_t version = fields.Take(1), count = fields.Take(1);
    fields.TakeBytes(6);
    fields.Require(version == 1 && count <= 2, "an unknown list of filters");
    for (std::uint64_t i = 0; i < count; ++i) {
      const int id = static_cast<int>(fields.Take(2));
      const std::uint64_t name = fields.Take(2), flags = fields.Take(2),
                          parameters = fields.Take(2);
      fields.Require(name % 8 == 0 && flags <= 1 && parameters == 1, "an unknown filter");
      const std::string_view text = fields.TakeBytes(name);
      fields.Require(text.empty() || text.find('\0') != std::string_view::npos,
                     "a filter's name has no end");
      filters.push_back({id, fields.Take(4)});
      fields.TakeBytes(4);
    }
    for (size_t i = 0; i < filters.size(); ++i) {
      const bool is_known =
          filters[i].id == kDeflate ? filters[i].parameter <= 9 : filters[i].id == kShuffle;
      fields.Require(is_known && (i == 0 || filters[0].id != filters[1].id), "an unknown filter");
    }
    return filters;
  }

  void CheckChunks(const ElementType& type,
                   const std::vector<std::uint64_t>& sizes,
                   const std::vector<Filter>& filters,
                   FieldReader& layout) {
    const size_t rank = sizes.size();
    layout.Require(rank >= 1 && layout.Take(1) == rank + 1, "chunks of another shape");
    const Address tree = layout.Take(kWidth);
    std::vector<std::uint64_t> chunk, chunks_along;
    std::uint64_t num_chunks = 1;
    for (size_t i = 0; i < rank; ++i) {
      chunk.push_back(layout.Take(4));
      layout.Require(chunk[i] > 0 && chunk[i] <= kMostChunkRows,
                     fmt::format("chunks of {} rows, expected 1 to {}", chunk[i], kMostChunkRows));
      chunks_along.push_back((sizes[i] + chunk[i] - 1) / chunk[i]);
    }
    layout.Require(layout.Take(4) == type.size, "chunks of another type");
    num_chunks = Product(chunks_along, layout);
    std::vector<std::uint64_t> factors = chunk;
    factors.push_back(type.size);
    const std::uint64_t chunk_bytes = Product(factors, layout);
    layout.Require(
        Product({num_chunks, chunk_bytes}, layout) <= kMostUnpacked,
        fmt::format("its {} chunks unpack to more than {} bytes", num_chunks, kMostUnpacked));
    for (const Filter& filter : filters) {
      layout.Require(filter.id != kShuffle || filter.parameter == type.size,
                     "shuffled by another size than its values have");
    }
    if (tree == kNowhere) {
      layout.Require(num_chunks == 0, "its chunks are missing");
      return;
    }
    // A key: bytes of the chunk, filters left out, first row, first column, ..., 0. All chunks are
    // there, so each place follows from the one before. The last key only has to be greater.
    std::vector<std::uint64_t> expected(rank + 1, 0);
    std::uint64_t seen = 0;
    const auto first_of = [&](FieldReader& key) {
      std::vector<std::uint64_t> first;
      while (first.size() <= rank) first.push_back(key.Take(kWidth));
      return first;
    };
    const auto visit = [&](Address address, std::string_view left, std::string_view right) {
      FieldReader key(left, fmt::format("chunk at byte {}", address)), next(right, key.where());
      const std::uint64_t bytes = key.Take(4), left_out = key.Take(4);
      key.Require(seen++ < num_chunks && first_of(key) == expected, "it is in the wrong place");
      CheckChunk(Claim(address, bytes, "chunk"), filters, left_out, chunk_bytes);
      next.TakeBytes(8);
      key.Require(first_of(next) > expected, "the next one is before it");
      for (size_t i = rank; i-- > 0;) {
        expected[i] += chunk[i];
        if (expected[i] < sizes[i] || i == 0) break;
        expected[i] = 0;
      }
    };
    constexpr std::uint64_t kChunkTree = 1;
    WalkTree(tree, {kChunkTree, 8 + kWidth * (rank + 1), 64, visit});
    layout.Require(seen == num_chunks,
                   fmt::format("it has {} chunks, expected {}", seen, num_chunks));
  }

  static void CheckChunk(const FieldReader& chunk,
                         const std::vector<Filter>& filters,
                         std::uint64_t left_out,
                         std::uint64_t chunk_bytes) {
    chunk.Require(left_out >> filters.size() == 0, "a filter that is not there is left out");
    std::uint64_t bytes = chunk.left();
    for (size_t i = 0; i < filters.size(); ++i) {
      if (filters[i].id != kDeflate || (left_out >> i & 1) != 0) continue;
      constexpr std::uint64_t kBestRatio = 1032;  // of deflate
      chunk.Require(chunk_bytes / kBestRatio <= bytes, "it cannot unpack to its size");
      std::vector<unsigned char> unpacked(chunk_bytes);
      uLongf size = unpacked.size();
      uLong taken = bytes;
      const auto* packed = reinterpret_cast<const unsigned char*>(chunk.rest().data());
      const int status = uncompress2(unpacked.data(), &size, packed, &taken);
      chunk.Require(status == Z_OK && taken == bytes, "it cannot be unpacked");
      bytes = size;
    }
    chunk.Require(bytes == chunk_bytes, "it is of another size than the dataset says");
  }

  void CheckGroup(const SymbolTable& table) {
    FieldReader heap = ClaimSigned(table.heap, 8 + 3 * kWidth, "HEAP", "name heap");
    heap.Require(heap.Take(1) == 0, "its version is not 0");
    heap.TakeBytes(3);
    const std::uint64_t size = heap.Take(kWidth), free_list = heap.Take(kWidth);
    heap.Require(size > 0, "it has no names");
    const FieldReader names = Claim(heap.Take(kWidth), size, "names");
    CheckFreeList(names, free_list);

    const auto name_at = [&](std::uint64_t offset) {
      names.Require(offset < names.left(), "a name is not within them");
      FieldReader rest(names.rest().substr(offset), names.where());
      return rest.TakeName(1);
    };
    std::string_view last;
    const auto visit = [&](Address address, std::string_view left, std::string_view right) {
      FieldReader leaf = ClaimSigned(address, 8 + 2 * kHalfLeaf * kLinkBytes, "SNOD", "links");
      const std::uint64_t version = leaf.Take(1);
      leaf.TakeBytes(1);
      const std::uint64_t count = leaf.Take(2);
      leaf.Require(version == 1 && count >= 1 && count <= 2 * kHalfLeaf,
                   "an unknown kind of links");
      FieldReader left_key(left, leaf.where()), right_key(right, leaf.where());
      const std::string_view before = name_at(left_key.Take(kWidth)),
                             until = name_at(right_key.Take(kWidth));
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::string_view name = name_at(leaf.Take(kWidth));
        const Address object = leaf.Take(kWidth);
        const std::uint64_t cached = leaf.Take(4);
        leaf.TakeBytes(4);
        leaf.Require(cached <= 1 && name.find('/') == std::string_view::npos,
                     "an unknown kind of link");
        leaf.Require(name > last && name > before && name <= until, "its names are not in order");
        objects_.push_back({object, TakeCached(leaf, cached == 1)});
        last = name;
      }
    };
    constexpr std::uint64_t kGroupTree = 0;
    WalkTree(table.tree, {kGroupTree, kWidth, 2 * kHalfNode, visit});
  }

  static void CheckFreeList(const FieldReader& names, std::uint64_t free_list) {
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

  void WalkTree(Address root, const TreeKind& kind) {
    std::map<std::uint64_t, Row> rows;
    WalkNode(root, kind, {}, {}, {}, rows);
    for (const auto& [level, row] : rows) {
      if (row.right != kNowhere) {
        Damaged(fmt::format("tree node at byte {}", row.last),
                "it has a neighbour that is not there");
      }
    }
  }

  // @param left, right  keys that the node above has, empty at the root
  void WalkNode(Address address,
                const TreeKind& kind,
                std::optional<std::uint64_t> expected_level,
                std::string_view left,
                std::string_view right,
                std::map<std::uint64_t, Row>& rows) {
    const size_t size =
        8 + 2 * kWidth + kind.capacity * kWidth + (kind.capacity + 1) * kind.key_bytes;
    FieldReader node = ClaimSigned(address, size, "TREE", "tree node");
    const std::uint64_t type = node.Take(1), level = node.Take(1), count = node.Take(2);
    node.Require(type == kind.type && level == expected_level.value_or(level) &&
                     count <= kind.capacity && (count > 0 || !expected_level),
                 "not of the kind that its tree is");
    Row& row = rows[level];
    const Address left_node = node.Take(kWidth), right_node = node.Take(kWidth);
    node.Require(left_node == row.last && (row.last == kNowhere || row.right == address),
                 "its neighbours are others");
    row = {address, right_node};
    std::string_view key = node.TakeBytes(kind.key_bytes);
    node.Require(left.empty() || key == left, "the node above has another key");
    for (std::uint64_t i = 0; i < count; ++i) {
      const Address child = node.Take(kWidth);
      const std::string_view next = node.TakeBytes(kind.key_bytes);
      if (level == 0) {
        kind.visit_leaf(child, key, next);
      } else {
        WalkNode(child, kind, level - 1, key, next, rows);
      }
      key = next;
    }
    node.Require(right.empty() || key == right, "the node above has another key");
  }

  static constexpr std::uint64_t kHalfLeaf = 4, kHalfNode = 16, kLinkBytes = 40;

  std::string_view file_;
  std::map<Address, Address> claimed_;  // begin, end
  std::vector<LinkedObject> objects_;   // to be checked
  std::map<Address, std::map<std::uint64_t, HeapText>> heaps_;
};

}  // namespace

std::string FindHdf5Damage(std::string_view file) {
  try {
    ClassicFile(file).Check();
  } catch (const StructureDamage& damage) {
    return damage.what;
  }
  return "";
}

}  // namespace emplace::internal
