// libFuzzer's side: `emplace_fuzz --target=NAME [options and folders of libFuzzer]`, or
// `emplace_fuzz --seeds=FOLDER`, which writes the seeds of all targets to FOLDER/NAME and ends.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace emplace::fuzz {
namespace {

const FuzzTarget* target = nullptr;

void WriteSeeds(const std::filesystem::path& folder) {
  for (const FuzzTarget& each : FuzzTargets()) {
    std::filesystem::create_directories(folder / each.name);
    if (each.seeds == nullptr) continue;
    int number = 0;
    for (const std::string& seed : each.seeds()) {
      WriteFileAtomically(folder / each.name / fmt::format("seed{}", number++), seed);
    }
  }
}

void ReadArguments(int count, char** words) {
  constexpr std::string_view kTarget = "--target=", kSeeds = "--seeds=";
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word.starts_with(kTarget)) target = FindTarget(word.substr(kTarget.size()));
    if (word.starts_with(kSeeds)) {
      WriteSeeds(word.substr(kSeeds.size()));
      std::exit(0);
    }
  }
  if (target != nullptr) return;
  std::fputs("expected --target=NAME; choices:", stderr);
  for (const FuzzTarget& each : FuzzTargets()) fmt::print(stderr, " {}", each.name);
  std::fputs("\n", stderr);
  std::exit(2);
}

std::string ChangeBytesOf(std::string_view text, std::size_t most) {
  std::string changed(std::max(most, text.size()), '\0');
  std::copy(text.begin(), text.end(), changed.begin());
  const std::size_t size = LLVMFuzzerMutate(
      reinterpret_cast<std::uint8_t*>(changed.data()), text.size(), changed.size());
  changed.resize(size);
  return changed;
}

}  // namespace
}  // namespace emplace::fuzz

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  emplace::fuzz::ReadArguments(*count, *words);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  emplace::fuzz::Reads([&] { emplace::fuzz::target->read(input); });
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t most,
                                               unsigned seed) {
  emplace::Rng rng(seed);
  most = std::min(most, emplace::fuzz::target->most_bytes);
  const emplace::fuzz::ChangeBytes bytes = emplace::fuzz::ChangeBytesOf;
  const std::string changed = emplace::fuzz::target->mutate(
      {reinterpret_cast<const char*>(data), size}, {rng, bytes, most});
  if (changed.empty()) return size;  // libFuzzer takes nothing for an answer
  const std::size_t kept = std::min(changed.size(), most);
  std::memcpy(data, changed.data(), kept);
  return kept;
}
