#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "framework/results/results_image.h"
#include "tests/fuzz/mutators.h"

namespace emplace::fuzz {
namespace {

constexpr std::size_t kLine = 32;  // of the checksum

bool HasLine(std::string_view file) {
  return file.size() >= kLine &&
         file.substr(file.size() - kLine).starts_with("\nemplace-results crc32 ");
}

std::size_t PlaceIn(const std::string& file, Rng& rng) {
  return static_cast<std::size_t>(UniformInt(rng, static_cast<int>(file.size())));
}

void SetField(std::string& file, Rng& rng) {
  static const std::array<std::size_t, 4> kWidths = {1, 2, 4, 8};
  const std::size_t width = OneOf(kWidths, rng);
  std::size_t place = PlaceIn(file, rng);
  if (!OneIn(4, rng)) place -= place % width;
  if (OneIn(4, rng)) {  // where something begins
    static const std::array<std::string, 5> kSigns = {"TREE", "HEAP", "SNOD", "GCOL", "deflate"};
    const std::size_t found = file.find(OneOf(kSigns, rng), place);
    if (found != std::string::npos) {
      place = found + static_cast<std::size_t>(UniformInt(rng, 64));
    }
  }
  if (place + width > file.size()) return;
  std::uint64_t value = 0;
  std::memcpy(&value, &file[place], width);
  switch (UniformInt(rng, 7)) {
    case 0:
      value += static_cast<std::uint64_t>(UniformInt(rng, 17)) - 8;
      break;
    case 1:
      value ^= std::uint64_t{1} << UniformInt(rng, static_cast<int>(8 * width));
      break;
    case 2:
      value = ~std::uint64_t{0} >> UniformInt(rng, 64);
      break;
    case 3:
      value = static_cast<std::uint64_t>(UniformInt(rng, 300));
      break;
    case 4:  // another address
      value = PlaceIn(file, rng) / 8 * 8;
      break;
    case 5: {  // what stands elsewhere
      const std::size_t from = PlaceIn(file, rng) / width * width;
      if (from + width <= file.size()) std::memcpy(&value, &file[from], width);
      break;
    }
    default:
      value = std::uint64_t{1} << UniformInt(rng, 64);
  }
  std::memcpy(&file[place], &value, width);
}

}  // namespace

std::string MutateResults(std::string_view input, const Mutation& mutation) {
  Rng& rng = mutation.rng;
  const bool has_line = HasLine(input);
  std::string file(has_line ? input.substr(0, input.size() - kLine) : input);
  if (file.empty()) return std::string(input);
  const int changes = 1 + UniformInt(rng, 3);
  for (int i = 0; i < changes; ++i) {
    if (!OneIn(10, rng)) {
      SetField(file, rng);
    } else if (OneIn(2, rng)) {  // a part over another one
      const std::size_t from = PlaceIn(file, rng) / 8 * 8, to = PlaceIn(file, rng) / 8 * 8;
      const std::size_t size = std::min<std::size_t>(static_cast<std::size_t>(UniformInt(rng, 256)),
                                                     file.size() - std::max(from, to));
      std::memmove(&file[to], &file[from], size);
    } else if (OneIn(4, rng)) {
      file.resize(PlaceIn(file, rng) + 1);
    } else {
      const std::string changed = mutation.bytes(file, mutation.most - kLine);
      if (!changed.empty()) file = changed;
    }
  }
  if (has_line ? !OneIn(30, rng) : OneIn(30, rng)) file += internal::ChecksumLine(file);
  return file;
}

}  // namespace emplace::fuzz
