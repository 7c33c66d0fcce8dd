#include "experiments/report/graph_layout.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "framework/base/error.h"

namespace emplace {
namespace {

constexpr double kPointsPerInch = 72;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

File TemporaryFile() {
  File file(std::tmpfile());
  if (file == nullptr) {
    throw RunError(fmt::format("dot: cannot create a temporary file: {}", std::strerror(errno)));
  }
  return file;
}

std::string ReadAll(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    text.append(buffer, got);
  }
  return text;
}

std::string DotText(const std::vector<LayoutNode>& nodes,
                    const std::vector<LayoutEdge>& edges,
                    bool left_to_right) {
  // Without limits the network simplex may take minutes for hundreds of nodes.
  std::string text = fmt::format(
      "digraph {{\n  graph [rankdir={}, nodesep=0.1, ranksep=0.3, nslimit=1, nslimit1=1, "
      "mclimit=0.5];\n  node [shape=box, fixedsize=true, label=\"\"];\n  edge [dir=none];\n",
      left_to_right ? "LR" : "TB");
  for (size_t i = 0; i < nodes.size(); ++i) {
    text +=
        fmt::format("  n{} [width={:.3f}, height={:.3f}];\n", i, nodes[i].width, nodes[i].height);
  }
  for (const LayoutEdge& edge : edges) {
    text += fmt::format("  n{} -> n{} [weight={:.0f}];\n", edge.from, edge.to, edge.weight);
  }
  return text + "}\n";
}

// Returns the exit status; none if the process had to be killed.
std::optional<int> WaitFor(pid_t child, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) {
      throw RunError(fmt::format("dot: cannot wait for it: {}", std::strerror(errno)));
    }
    if (Clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::optional<GraphLayout> LayOutGraph(const std::vector<LayoutNode>& nodes,
                                       const std::vector<LayoutEdge>& edges,
                                       bool left_to_right,
                                       double seconds) {
  const File in = TemporaryFile(), out = TemporaryFile(), err = TemporaryFile();
  const std::string text = DotText(nodes, edges, left_to_right);
  if (std::fwrite(text.data(), 1, text.size(), in.get()) != text.size() ||
      std::fflush(in.get()) != 0) {
    throw RunError(fmt::format("dot: cannot write its input: {}", std::strerror(errno)));
  }
  std::rewind(in.get());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(err.get()), STDERR_FILENO);
  char program[] = "dot", format[] = "-Tplain";
  char* const arguments[] = {program, format, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, program, &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT) {
    throw RunError(
        "dot, which lays out the drawn graph, is not installed; install the package graphviz, or "
        "leave out the drawing with --no-graph");
  }
  if (error != 0) throw RunError(fmt::format("dot: cannot be started: {}", std::strerror(error)));
  const std::optional<int> status = WaitFor(child, seconds);
  if (!status) return std::nullopt;
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    throw RunError(fmt::format("dot: failed ({}): {}",
                               WIFEXITED(*status)
                                   ? fmt::format("exit code {}", WEXITSTATUS(*status))
                                   : fmt::format("signal {}", WTERMSIG(*status)),
                               ReadAll(err.get())));
  }
  return ParsePlainLayout(ReadAll(out.get()), nodes.size(), edges);
}

GraphLayout ParsePlainLayout(const std::string& plain,
                             std::size_t num_nodes,
                             const std::vector<LayoutEdge>& edges) {
  GraphLayout layout;
  layout.nodes.resize(num_nodes);
  layout.edges.resize(edges.size());
  std::map<std::pair<std::string, std::string>, size_t> edge_index;
  for (size_t i = 0; i < edges.size(); ++i) {
    edge_index[{fmt::format("n{}", edges[i].from), fmt::format("n{}", edges[i].to)}] = i;
  }
  const auto require = [](bool good, const std::string& line) {
    if (!good) throw RunError(fmt::format("dot: wrote a line of unknown form: {}", line));
  };
  size_t nodes_seen = 0, edges_seen = 0;
  std::istringstream lines(plain);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    double x = 0, y = 0;
    const auto point = [&] {
      words >> x >> y;
      require(!words.fail(), line);
      return std::pair(x * kPointsPerInch, layout.height - y * kPointsPerInch);
    };
    if (what == "graph") {
      double scale = 0;
      words >> scale >> x >> y;
      require(!words.fail(), line);
      layout.width = x * kPointsPerInch;
      layout.height = y * kPointsPerInch;
    } else if (what == "node") {
      char n = 0;
      size_t index = 0;
      words >> n >> index;
      require(!words.fail() && index < num_nodes, line);
      layout.nodes[index] = point();
      ++nodes_seen;
    } else if (what == "edge") {
      std::string from, to;
      size_t count = 0;
      words >> from >> to >> count;
      const auto found = edge_index.find({from, to});
      require(!words.fail() && found != edge_index.end(), line);
      for (size_t i = 0; i < count; ++i) layout.edges[found->second].push_back(point());
      ++edges_seen;
    }
  }
  if (nodes_seen != num_nodes || edges_seen != edges.size()) {
    throw RunError(fmt::format("dot: placed {} of {} nodes and {} of {} edges",
                               nodes_seen,
                               num_nodes,
                               edges_seen,
                               edges.size()));
  }
  return layout;
}

}  // namespace emplace
