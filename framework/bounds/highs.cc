#include "framework/bounds/highs.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace emplace {
namespace internal {
extern const std::string_view kHighsSolver;  // highs_solver.py, which describes the lines
}
namespace {

constexpr double kTolerance = 1e-6;

std::mutex highs_mutex;
std::string highs_python;              // SetHighsPython()
std::optional<std::string> highs_why;  // WhyNoHighs()

std::string HighsPython() {
  const std::lock_guard lock(highs_mutex);
  if (!highs_python.empty()) return highs_python;
  const char* given = std::getenv("EMPLACE_PYTHON");
  return given != nullptr && *given != '\0' ? given : "python3";
}

std::string Numbers(std::span<const double> values) {
  std::string text = "[";
  for (const double value : values) {
    if (text.size() > 1) text += ',';
    text += std::isinf(value) ? (value > 0 ? "Infinity" : "-Infinity") : fmt::format("{}", value);
  }
  return text + "]";
}

// Returns the program as a line of JSON, with a row for the cutoff if it has one.
std::string ProgramText(LinearModel model,
                        const std::vector<std::vector<int>>& choices,
                        double cutoff,
                        double gap) {
  if (!std::isinf(cutoff)) {
    std::vector<std::pair<int, double>> cost;
    for (int c = 0; c < model.num_columns(); ++c) cost.emplace_back(c, model.cost[c]);
    model.AddRow(-kNoLimit, cutoff, cost);
  }
  std::vector<int> whole;
  for (const std::vector<int>& choice : choices) {
    whole.insert(whole.end(), choice.begin(), choice.end());
  }
  return fmt::format(
      "{{\"cost\":{},\"lower\":{},\"upper\":{},\"row_lower\":{},\"row_upper\":{},\"row_begin\":{},"
      "\"column\":{},\"value\":{},\"whole\":{},\"gap\":{}}}\n",
      Numbers(model.cost),
      Numbers(model.lower),
      Numbers(model.upper),
      Numbers(model.row_lower),
      Numbers(model.row_upper),
      model.row_begin,
      model.column,
      Numbers(model.value),
      whole,
      gap);
}

}  // namespace

struct HighsSearch::Process {
  int socket = -1;
  pid_t id = -1;
  std::string unsent, received;
  int num_columns;
  double cutoff, bound = -kNoLimit;
  bool ended = false;
  std::string failure;

  // Starts the process. Its input and output are one socket, which never blocks.
  void Start() {
    const std::string python = HighsPython(), script(internal::kHighsSolver);
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
      return End("no socket for its process");
    }
    socket = sockets[0];
    fcntl(socket, F_SETFL, O_NONBLOCK);
    char* const words[] = {const_cast<char*>(python.c_str()),
                           const_cast<char*>("-c"),
                           const_cast<char*>(script.c_str()),
                           nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, sockets[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, sockets[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;  // a process group of its own, which ctrl-C does not reach
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (posix_spawnp(&id, words[0], &files, &attributes, words, environ) != 0) {
      id = -1;
      End(fmt::format("no program \"{}\"", python));
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(sockets[1]);
  }

  ~Process() {
    if (socket >= 0) close(socket);
    if (id < 0) return;
    kill(id, SIGKILL);
    while (waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  void End(std::string why) {
    ended = true;
    failure = std::move(why);
  }

  std::vector<double> ReadSolution(const std::string& columns) const {
    std::vector<double> solution(num_columns, 0);
    std::istringstream words(columns);
    for (int column; words >> column;) {
      if (column >= 0 && column < num_columns) solution[column] = 1;
    }
    return solution;
  }

  // Waits until the process takes or gives something, at most for a time.
  void Exchange(int milliseconds) {
    pollfd waiting{.fd = socket,
                   .events = static_cast<short>(unsent.empty() ? POLLIN : POLLIN | POLLOUT),
                   .revents = 0};
    if (poll(&waiting, 1, milliseconds) <= 0) return;
    if ((waiting.revents & POLLOUT) != 0) {
      const ssize_t sent = send(socket, unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (sent > 0) unsent.erase(0, static_cast<std::size_t>(sent));
    }
    if ((waiting.revents & (POLLIN | POLLHUP)) == 0) return;
    char part[1 << 12];
    const ssize_t size = recv(socket, part, sizeof part, 0);
    if (size > 0) received.append(part, static_cast<std::size_t>(size));
    if (size == 0) End("its process ended without a result");
  }

  void ReadLine(const std::string& line,
                const std::function<void(double)>& improved,
                const std::function<void(std::span<const double>)>& found) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, space);
    const std::string rest = line.substr(std::min(space + 1, line.size()));
    if (word == "missing") return End(rest);
    if (word == "solution" && found) found(ReadSolution(rest));
    if (word != "bound" && word != "done") return;
    const double value = std::strtod(rest.c_str(), nullptr);
    const double next = std::isinf(value) && value > 0
                            ? cutoff
                            : std::min(cutoff, value - kTolerance * std::max(1.0, std::abs(value)));
    if (next > bound) {
      bound = next;
      improved(bound);
    }
    if (word == "done") End("");
  }
};

HighsSearch::HighsSearch(const LinearModel& model,
                         const std::vector<std::vector<int>>& choices,
                         double cutoff,
                         double gap)
    : process_(std::make_unique<Process>()) {
  process_->num_columns = model.num_columns();
  process_->cutoff = cutoff;
  process_->unsent = ProgramText(model, choices, cutoff, gap);
  process_->Start();
}

HighsSearch::~HighsSearch() = default;

void HighsSearch::Poll(int milliseconds,
                       const std::function<void(double)>& improved,
                       const std::function<void(std::span<const double>)>& found) {
  Process& process = *process_;
  if (process.ended) return;
  process.Exchange(milliseconds);
  for (std::size_t end; (end = process.received.find('\n')) != std::string::npos;) {
    const std::string line = process.received.substr(0, end);
    process.received.erase(0, end + 1);
    process.ReadLine(line, improved, found);
  }
}

bool HighsSearch::ended() const {
  return process_->ended;
}

const std::string& HighsSearch::failure() const {
  return process_->failure;
}

void SetHighsPython(const std::string& program) {
  const std::lock_guard lock(highs_mutex);
  highs_python = program;
  highs_why.reset();
}

std::string WhyNoHighs() {
  {
    const std::lock_guard lock(highs_mutex);
    if (highs_why) return *highs_why;
  }
  constexpr int kMilliseconds = 100;
  LinearModel model;
  model.AddColumn(1, 0, 1);
  HighsSearch search(model, {{0}});
  while (!search.ended()) search.Poll(kMilliseconds, [](double) {});
  const std::lock_guard lock(highs_mutex);
  highs_why = search.failure();
  return *highs_why;
}

}  // namespace emplace
