#include "tests/support/thread_ranks.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "framework/base/error.h"

namespace emplace::testing {
namespace {

class RankHasLeft : public RunError {
 public:
  using RunError::RunError;
};

// Where the threads meet. One meeting ends when all have come and all have taken what they came
// for.
class MeetingPoint {
 public:
  explicit MeetingPoint(int size) : mine_(size) {}

  int size() const { return static_cast<int>(mine_.size()); }

  Gathered AllGather(int rank, std::span<const std::byte> mine) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !leaving_ || left_ >= 0; });
    RequireAll();
    mine_[rank] = mine;
    if (++here_ == size()) {
      leaving_ = true;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return leaving_ || left_ >= 0; });
    if (!leaving_) RequireAll();
    Gathered all{{}, {0}};
    for (const std::span<const std::byte> part : mine_) {
      all.bytes.insert(all.bytes.end(), part.begin(), part.end());
      all.begin.push_back(all.bytes.size());
    }
    if (--here_ == 0) {
      leaving_ = false;
      changed_.notify_all();
    } else {  // what a thread handed in is its own until the last has read it
      changed_.wait(lock, [&] { return !leaving_; });
    }
    return all;
  }

  void Leave(int rank) {
    const std::lock_guard lock(mutex_);
    if (left_ < 0) left_ = rank;
    changed_.notify_all();
  }

 private:
  void RequireAll() const {
    if (left_ >= 0) throw RankHasLeft("rank " + std::to_string(left_) + " has left");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::span<const std::byte>> mine_;
  int here_ = 0, left_ = -1;
  bool leaving_ = false;  // all have come, some have not taken yet
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(MeetingPoint& point, int rank) : point_(point), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return point_.size(); }
  void Broadcast(std::vector<std::byte>& bytes) override {
    const Gathered all =
        AllGather(rank_ == 0 ? std::span<const std::byte>(bytes) : std::span<const std::byte>());
    bytes.assign(all.of(0).begin(), all.of(0).end());
  }
  Gathered AllGather(std::span<const std::byte> mine) override {
    return point_.AllGather(rank_, mine);
  }

 private:
  MeetingPoint& point_;
  const int rank_;
};

}  // namespace

void RunThreadRanks(int count, const std::function<void(Communicator&)>& body) {
  EMPLACE_CHECK(count >= 1);
  MeetingPoint point(count);
  std::vector<std::exception_ptr> thrown(count), caused(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadCommunicator ranks(point, rank);
      try {
        body(ranks);
        return;
      } catch (const RankHasLeft&) {
        caused[rank] = std::current_exception();
      } catch (...) {
        thrown[rank] = std::current_exception();
      }
      point.Leave(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& list : {thrown, caused}) {
    for (const std::exception_ptr& exception : list) {
      if (exception) std::rethrow_exception(exception);
    }
  }
}

}  // namespace emplace::testing
