#include "framework/results/hdf5_chunks.h"

#include <string_view>

#include <fmt/format.h>
#include <zlib.h>

#include "framework/results/hdf5_tree.h"

namespace emplace::internal::hdf5 {
namespace {

constexpr int kDeflate = 1, kShuffle = 2;                        // filters
constexpr std::uint64_t kMostChunkRows = 16384;                  // that emplace writes
constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 31;  // of a dataset in chunks [B]

void CheckChunk(const FieldReader& chunk,
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

}  // namespace

std::vector<Filter> TakeFilters(FieldReader fields) {
  std::vector<Filter> filters;
  const std::uint64_t version = fields.Take(1), count = fields.Take(1);
  fields.TakeBytes(6);
  fields.Require(version == 1 && count <= 2, "an unknown list of filters");
  for (std::uint64_t i = 0; i < count; ++i) {
    const int id = static_cast<int>(fields.Take(2));
    const std::uint64_t name = fields.Take(2), flags = fields.Take(2), parameters = fields.Take(2);
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

void CheckChunks(ClaimedFile& file,
                 const ElementType& type,
                 const std::vector<std::uint64_t>& sizes,
                 const std::vector<Filter>& filters,
                 FieldReader layout) {
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
    CheckChunk(file.Claim(address, bytes, "chunk"), filters, left_out, chunk_bytes);
    next.TakeBytes(8);
    key.Require(first_of(next) > expected, "the next one is before it");
    for (size_t i = rank; i-- > 0;) {
      expected[i] += chunk[i];
      if (expected[i] < sizes[i] || i == 0) break;
      expected[i] = 0;
    }
  };
  constexpr std::uint64_t kChunkTree = 1;
  WalkTree(file, tree, {kChunkTree, 8 + kWidth * (rank + 1), 64, visit});
  layout.Require(seen == num_chunks,
                 fmt::format("it has {} chunks, expected {}", seen, num_chunks));
}

}  // namespace emplace::internal::hdf5
