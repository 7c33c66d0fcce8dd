#include <algorithm>
#include <cstring>
#include <string>

#include <zlib.h>

#include "framework/base/error.h"
#include "tests/fuzz/gzip.h"
#include "tests/fuzz/mutators.h"

namespace emplace::fuzz {

std::string Gzip(std::string_view content, int level) {
  z_stream stream{};
  constexpr int kGzip = 16, kWindowBits = 12, kMemoryLevel = 4;  // little memory: inputs are short
  EMPLACE_CHECK(
      deflateInit2(
          &stream, level, Z_DEFLATED, kWindowBits + kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) ==
      Z_OK);
  std::string packed(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EMPLACE_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

std::string Gunzip(std::string_view packed, std::size_t most) {
  z_stream stream{};
  EMPLACE_CHECK(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
  std::string content(most, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(content.data());
  stream.avail_out = static_cast<uInt>(content.size());
  const int result = inflate(&stream, Z_FINISH);
  content.resize(content.size() - stream.avail_out);
  inflateEnd(&stream);
  return result == Z_STREAM_END ? content : std::string();
}

std::string MutateGzip(std::string_view input, const Mutation& mutation) {
  Rng& rng = mutation.rng;
  const std::string content = Gunzip(input, std::size_t{1} << 16);
  std::string changed(input);
  if (!content.empty() && !OneIn(3, rng)) {
    changed = Gzip(MutateJson(content, mutation), UniformInt(rng, 10));
    if (!OneIn(8, rng)) return changed;
  }
  if (changed.empty()) return Gzip(content, 6);
  const auto place = [&] {
    return static_cast<std::size_t>(UniformInt(rng, static_cast<int>(changed.size())));
  };
  switch (UniformInt(rng, 6)) {
    case 0:
      changed[std::min<std::size_t>(changed.size() - 1, place() % 10)] ^=
          static_cast<char>(1 << UniformInt(rng, 8));
      return changed;
    case 1:
      return changed.substr(0, place());
    case 2:
      return changed + changed;  // two members
    case 3:
      return changed + std::string(place(), '\0');
    case 4:
      changed[changed.size() - 1 - place() % std::min<std::size_t>(8, changed.size())] ^=
          1;  // checksum or length
      return changed;
    default:
      return mutation.bytes(changed, mutation.most);
  }
}

}  // namespace emplace::fuzz
