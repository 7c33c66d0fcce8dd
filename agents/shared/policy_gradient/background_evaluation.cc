#include "agents/shared/policy_gradient/background_evaluation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "framework/base/error.h"

namespace emplace {

BackgroundEvaluation::BackgroundEvaluation(Evaluator& evaluator)
    : evaluator_(evaluator), at_once_(evaluator.ranks().size > 1), thread_([this] { Run(); }) {
}

BackgroundEvaluation::~BackgroundEvaluation() {
  if (thread_.joinable()) Stop(true);
}

void BackgroundEvaluation::Stop(bool abandon) {
  {
    const std::lock_guard lock(mutex_);
    if (abandon) waiting_.clear();
    complete_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void BackgroundEvaluation::Add(Placement placement) {
  EMPLACE_CHECK(thread_.joinable(), "Add after Finish");
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(placement));
  }
  changed_.notify_one();
}

std::vector<Score> BackgroundEvaluation::Finish() {
  EMPLACE_CHECK(thread_.joinable(), "Finish twice");
  Stop(false);
  if (error_) std::rethrow_exception(error_);
  return std::move(scores_);
}

void BackgroundEvaluation::Run() {
  for (;;) {
    std::vector<Placement> batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return complete_ || (!at_once_ && !waiting_.empty()); });
      if (waiting_.empty()) return;
      batch.swap(waiting_);
    }
    if (error_) continue;
    try {
      std::ranges::copy(evaluator_.Scores(batch), std::back_inserter(scores_));
    } catch (...) {
      error_ = std::current_exception();
    }
  }
}

}  // namespace emplace
