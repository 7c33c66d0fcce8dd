#include "framework/search/replicated_search.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/search/meter.h"

namespace emplace {
namespace {

constexpr std::string_view kFails = "fails", kEnds = "ends its search";

// The head of every rank's message.
struct MessageHead {
  std::uint32_t word = 0, meeting = 0;  // `meeting` counts from 0
  char what[16] = {};
  std::uint64_t count = 0, checksum = 0;

  std::string_view place() const { return what; }
  bool IsAt(const MessageHead& other) const {
    return meeting == other.meeting && place() == other.place() && count == other.count &&
           checksum == other.checksum;
  }
};

MessageHead HeadOf(std::span<const std::byte> message) {
  EMPLACE_CHECK(message.size() >= sizeof(MessageHead));
  MessageHead head;
  std::memcpy(&head, message.data(), sizeof(head));
  return head;
}

std::string TextOf(std::span<const std::byte> message) {
  const auto text = message.subspan(sizeof(MessageHead));
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// Returns "rank 1 evaluates rows (256, checksum 5f..)".
std::string Tell(int rank, std::span<const std::byte> message) {
  const MessageHead head = HeadOf(message);
  if (head.place() == kEnds) {
    return fmt::format("rank {} {}{}", rank, head.place(), ": " + TextOf(message));
  }
  return fmt::format(
      "rank {} {} ({}, checksum {:016x})", rank, head.place(), head.count, head.checksum);
}

}  // namespace

std::uint64_t Checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  // Words of eight bytes, in independent chains that a processor computes in parallel.
  constexpr std::size_t kChains = 4, kStep = kChains * sizeof(std::uint64_t);
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;
  const auto mix = [](std::uint64_t hash, std::uint64_t value) {
    return std::rotl((hash ^ value) * kFactor, 29);
  };
  std::uint64_t chains[kChains] = {seed ^ bytes.size()};
  for (std::size_t c = 1; c < kChains; ++c) chains[c] = mix(chains[c - 1], kFactor);
  std::size_t i = 0;
  for (; i + kStep <= bytes.size(); i += kStep) {
    std::uint64_t words[kChains];
    std::memcpy(words, bytes.data() + i, kStep);
    for (std::size_t c = 0; c < kChains; ++c) chains[c] = mix(chains[c], words[c]);
  }
  std::uint64_t hash = chains[0];
  for (; i < bytes.size(); ++i) hash = mix(hash, static_cast<std::uint64_t>(bytes[i]));
  for (std::size_t c = 1; c < kChains; ++c) hash = mix(hash, chains[c]);
  return mix(hash, kFactor);
}

Gathered ReplicatedSearch::MeetAs(Word word, const Place& place, std::span<const std::byte> mine) {
  EMPLACE_CHECK(!broken_);
  MessageHead head{.word = static_cast<std::uint32_t>(word),
                   .meeting = static_cast<std::uint32_t>(meetings_),
                   .count = place.count,
                   .checksum = place.checksum};
  EMPLACE_CHECK(place.what.size() < sizeof(head.what), std::string(place.what));
  std::ranges::copy(place.what, head.what);
  std::vector<std::byte> message(sizeof(head) + mine.size());
  std::memcpy(message.data(), &head, sizeof(head));
  if (!mine.empty()) std::memcpy(message.data() + sizeof(head), mine.data(), mine.size());
  broken_ = true;  // reset if all goes well
  Gathered all = ranks_.AllGather(message);
  ++meetings_;
  for (int r = 0; r < size(); ++r) {
    if (HeadOf(all.of(r)).place() != kFails || r == rank()) continue;
    throw RunError(fmt::format("rank {}: {}", r, TextOf(all.of(r))));
  }
  broken_ = false;
  return all;
}

bool ReplicatedSearch::Begin(std::uint64_t checksum, bool wanted) {
  EMPLACE_CHECK(!searching_);
  searching_ = true;
  const bool ends = rank() == 0 && !wanted;
  try {
    const Gathered all = Meet({"begins", 0, checksum}, std::as_bytes(std::span(&ends, 1)));
    searching_ = all.of(0).front() == std::byte{0};
  } catch (...) {
    searching_ = false;
    throw;
  }
  return searching_;
}

Gathered ReplicatedSearch::Meet(const Place& place, std::span<const std::byte> mine) {
  EMPLACE_CHECK(searching_);
  Gathered all = MeetAs(Word::kGoOn, place, mine);
  const MessageHead first = HeadOf(all.of(0));
  if (first.word == static_cast<std::uint32_t>(Word::kEnd)) {
    searching_ = false;
    throw BudgetExhausted();
  }
  for (int r = 1; r < size(); ++r) {
    if (HeadOf(all.of(r)).IsAt(first)) continue;
    broken_ = true;
    searching_ = false;
    throw RunError(
        fmt::format("ranks diverged at meeting {}: {}, {}; they must run the same "
                    "program on the same files",
                    meetings_,
                    Tell(0, all.of(0)),
                    Tell(r, all.of(r))));
  }
  // Removes the heads.
  Gathered result{{}, {0}};
  result.bytes.reserve(all.bytes.size() - size() * sizeof(MessageHead));
  for (int r = 0; r < size(); ++r) {
    const auto part = all.of(r).subspan(sizeof(MessageHead));
    result.bytes.insert(result.bytes.end(), part.begin(), part.end());
    result.begin.push_back(result.bytes.size());
  }
  return result;
}

void ReplicatedSearch::End(std::string_view why) {
  if (!searching_ || broken_) return;  // rank 0 has ended it, or there are no meetings
  const auto text = std::as_bytes(std::span(why));
  if (rank() == 0) {
    searching_ = false;
    MeetAs(Word::kEnd, {kEnds}, text);
    return;
  }
  try {
    Meet({kEnds}, text);
  } catch (const BudgetExhausted&) {
    return;
  }
}

void ReplicatedSearch::Broadcast(std::string_view what, std::vector<std::byte>& bytes) {
  EMPLACE_CHECK(!searching_);
  MeetAs(Word::kGoOn, {what}, {});
  broken_ = true;  // reset if all goes well
  ranks_.Broadcast(bytes);
  broken_ = false;
}

void ReplicatedSearch::Fail(std::string_view error) {
  if (broken_) return;
  try {
    MeetAs(Word::kGoOn, {kFails}, std::as_bytes(std::span(error)));
  } catch (const RunError&) {  // another rank has failed, too
  }
  broken_ = true;
}

}  // namespace emplace
