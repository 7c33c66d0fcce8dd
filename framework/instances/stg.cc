#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/instances/task_graph.h"

namespace emplace {
namespace {

class StgReader {
 public:
  StgReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  TaskGraph Read(const std::string& name) {
    if (!NextLine()) Fail("expected the number of tasks, got the end of the file");
    if (fields_.size() > 2) {
      Fail(fmt::format(
          "expected the number of tasks and optionally the number of processors, got {} fields",
          fields_.size()));
    }
    TaskGraph graph{.format = "stg", .name = name};
    last_ = Integer(0, "the number of tasks", 1, kMostTasks) + 1;
    if (fields_.size() == 2) graph.processors = Integer(1, "the number of processors", 1, 1 << 16);
    for (int number = 0; number <= last_; ++number) {
      if (!NextLine()) {
        Fail(fmt::format("expected task {} of {}, got the end of the file", number, last_));
      }
      if (number == 0) number = first_ = Integer(0, "the first task's number", 0, 1);
      ReadTask(number, graph);
    }
    if (NextLine()) Fail(fmt::format("expected the end of the file after task {}", last_));
    return graph;
  }

 private:
  static constexpr int kMostTasks = 10'000'000;

  [[noreturn]] void Fail(const std::string& message) const {
    throw InputError(fmt::format("{}:{}: {}", where_, line_, message));
  }

  /// Reads the fields of the next line that has any. @return false at the end
  bool NextLine() {
    fields_.clear();
    while (fields_.empty() && !text_.empty()) {
      ++line_;
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      line = line.substr(0, line.find('#'));
      constexpr std::string_view kBlanks = " \t\r";
      for (std::size_t at = 0; (at = line.find_first_not_of(kBlanks, at)) < line.size();) {
        const std::size_t stop = std::min(line.find_first_of(kBlanks, at), line.size());
        fields_.push_back(line.substr(at, stop - at));
        at = stop;
      }
    }
    return !fields_.empty();
  }

  int Integer(std::size_t field, const std::string& what, int least, int most) const {
    const std::string_view text = fields_[field];
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
      Fail(fmt::format(
          "{}: expected an integer from {} to {}, got \"{}\"", what, least, most, text));
    }
    return value;
  }

  Nanos Time(std::size_t field, const std::string& what) const {
    return AtPlace(fmt::format("{}:{}: {}", where_, line_, what),
                   [&] { return ParseWeight(fields_[field]); });
  }

  void ReadTask(int number, TaskGraph& graph) {
    const std::string task = fmt::format("task {}", number);
    if (fields_.size() < 3) {
      Fail(fmt::format("{}: expected number, time and number of predecessors, got {} fields",
                       task,
                       fields_.size()));
    }
    Integer(0, "the next task's number", number, number);
    graph.tasks.push_back({fmt::format("t{}", number), Time(1, task + ": time")});
    const std::size_t count = Integer(2, task + ": number of predecessors", 0, last_);
    const std::size_t given = fields_.size() - 3;
    std::vector<int> predecessors;
    const auto add = [&](std::size_t field, bool has_time) {
      const int from = Integer(field, task + ": predecessor", first_, last_);
      if (std::find(predecessors.begin(), predecessors.end(), from) != predecessors.end()) {
        Fail(fmt::format("{}: predecessor {} is listed twice", task, from));
      }
      predecessors.push_back(from);
      const Nanos time = has_time ? Time(field + 1, task + ": time of a message") : 0;
      graph.messages.push_back({from - first_, number - first_, time});
    };
    if (given == count || given == 2 * count) {
      const bool has_times = given > count;
      for (std::size_t i = 0; i < count; ++i) add(3 + (has_times ? 2 * i : i), has_times);
    } else if (given == 0) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!NextLine() || fields_.size() != 2) {
          Fail(
              fmt::format("{}: expected predecessor {} of {} and the time of its message, got {} "
                          "fields",
                          task,
                          i + 1,
                          count,
                          fields_.size()));
        }
        add(0, true);
      }
    } else {
      Fail(
          fmt::format("{}: expected {} predecessors, each optionally with the time of its message, "
                      "got {} fields",
                      task,
                      count,
                      given));
    }
  }

  std::string_view text_;
  const std::string& where_;
  int line_ = 0, first_ = 0, last_ = 0;  // first_, last_: numbers of tasks
  std::vector<std::string_view> fields_;
};

}  // namespace

TaskGraph ParseStg(std::string_view text, const std::string& name, const std::string& where) {
  return StgReader(text, where).Read(name);
}

}  // namespace emplace
