#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/base/error.h"
#include "framework/instances/task_graph.h"

namespace emplace {
namespace {

using DotAttributes = std::map<std::string, std::string, std::less<>>;

struct DotToken {
  enum class Kind { kEnd, kText, kSymbol } kind = Kind::kEnd;
  std::string text;
  bool quoted = false;  // never a keyword if quoted
  int line = 1;

  bool Is(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool IsWord(std::string_view word) const {
    return kind == Kind::kText && !quoted &&
           std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
             return std::tolower(static_cast<unsigned char>(a)) == b;
           });
  }
};

[[noreturn]] void FailInDot(const std::string& where, int line, const std::string& message) {
  throw InputError(fmt::format("{}:{}: {}", where, line, message));
}

class DotLexer {
 public:
  DotLexer(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  DotToken Next() {
    SkipBlanks();
    DotToken token{.line = line_};
    if (at_ == text_.size()) return token;
    if (text_[at_] == '"') {
      token.kind = DotToken::Kind::kText;
      token.quoted = true;
      token.text = Quoted();
    } else if (IsWordPart(text_[at_]) || IsNumberSign()) {
      token.kind = DotToken::Kind::kText;
      do token.text += text_[at_++];
      while (at_ < text_.size() && IsWordPart(text_[at_]));
    } else {
      token.kind = DotToken::Kind::kSymbol;
      token.text = text_.substr(at_, text_.substr(at_, 2) == "->" ? 2 : 1);
      at_ += token.text.size();
    }
    return token;
  }

 private:
  static bool IsWordPart(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
           static_cast<unsigned char>(c) >= 0x80;
  }
  bool IsNumberSign() const {
    return text_[at_] == '-' && at_ + 1 < text_.size() &&
           (text_[at_ + 1] == '.' || std::isdigit(static_cast<unsigned char>(text_[at_ + 1])));
  }

  void SkipTo(std::string_view end, bool required) {
    const std::size_t stop = text_.find(end, at_);
    if (stop == std::string_view::npos && required) {
      FailInDot(where_, line_, fmt::format("expected \"{}\", got the end of the file", end));
    }
    const std::size_t next = std::min(stop, text_.size());
    line_ += static_cast<int>(std::count(text_.begin() + at_, text_.begin() + next, '\n'));
    at_ = std::min(next + (required ? end.size() : 0), text_.size());
  }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else if (c == '#' || text_.substr(at_, 2) == "//") {
        SkipTo("\n", false);
      } else if (text_.substr(at_, 2) == "/*") {
        SkipTo("*/", true);
      } else {
        return;
      }
    }
  }

  std::string Quoted() {
    std::string value;
    const int begin = line_;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && text_.substr(at_ + 1, 1) == "\"") ++at_;
      if (text_[at_] == '\n') ++line_;
      value += text_[at_];
    }
    if (at_ == text_.size()) FailInDot(where_, begin, "a text in quotes is not closed");
    ++at_;
    return value;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  int line_ = 1;
};

class DotReader {
 public:
  DotReader(std::string_view text, const std::string& where)
      : lexer_(text, where), where_(where), token_(lexer_.Next()) {}

  TaskGraph Read(const std::string& name) {
    if (token_.IsWord("strict")) Advance();
    if (!token_.IsWord("digraph")) Expected("\"digraph\"");
    Advance();
    TaskGraph graph{.format = "dot", .name = name};
    if (token_.kind == DotToken::Kind::kText) graph.name = Text("a name");
    Take("{");
    while (!token_.Is("}")) ReadStatement();
    Advance();
    if (token_.kind != DotToken::Kind::kEnd) Expected("the end of the file");
    for (const Node& node : nodes_) {
      const std::string what = fmt::format("node \"{}\"", node.name);
      graph.tasks.push_back({node.name, Weight(node.attributes, node.line, what)});
    }
    for (const Edge& edge : edges_) {
      const std::string what =
          fmt::format("edge \"{}\" -> \"{}\"", nodes_[edge.from].name, nodes_[edge.to].name);
      graph.messages.push_back({edge.from, edge.to, Weight(edge.attributes, edge.line, what)});
    }
    ReadSchedule(graph);
    return graph;
  }

 private:
  struct Node {
    std::string name;
    DotAttributes attributes;
    int line;  // of its first name in the file
  };
  struct Edge {
    int from, to;
    DotAttributes attributes;
    int line;
  };

  void Advance() { token_ = lexer_.Next(); }

  [[noreturn]] void Expected(const std::string& what) const {
    const std::string got = token_.kind == DotToken::Kind::kEnd
                                ? "the end of the file"
                                : fmt::format("\"{}\"", token_.text);
    FailInDot(where_, token_.line, fmt::format("expected {}, got {}", what, got));
  }

  void Take(std::string_view symbol) {
    if (!token_.Is(symbol)) Expected(fmt::format("\"{}\"", symbol));
    Advance();
  }

  std::string Text(const std::string& what) {
    if (token_.kind != DotToken::Kind::kText) Expected(what);
    std::string text = token_.text;
    Advance();
    return text;
  }

  /// Reads zero or more lists [key=value, ...] and merges them into the attributes.
  void ReadAttributes(DotAttributes& attributes) {
    while (token_.Is("[")) {
      Advance();
      while (!token_.Is("]")) {
        const std::string key = Text("a name or \"]\"");
        Take("=");
        attributes[key] = Text("a value");
        if (token_.Is(",") || token_.Is(";")) Advance();
      }
      Advance();
    }
  }

  int NodeOf(const std::string& name, int line) {
    const auto [place, is_new] = node_of_.try_emplace(name, static_cast<int>(nodes_.size()));
    if (is_new) nodes_.push_back({name, node_defaults_, line});
    return place->second;
  }

  void ReadStatement() {
    const int line = token_.line;
    if (token_.Is(";")) return Advance();
    if (token_.IsWord("subgraph")) Expected("a node or an edge");
    for (const auto& [word, attributes] : {std::pair{"node", &node_defaults_},
                                           {"edge", &edge_defaults_},
                                           {"graph", &graph_attributes_}}) {
      if (!token_.IsWord(word)) continue;
      Advance();
      if (!token_.Is("[")) Expected("\"[\"");
      return ReadAttributes(*attributes);
    }
    const std::string first = Text("a node, an edge or \"}\"");
    if (token_.Is("=")) {
      Advance();
      graph_attributes_[first] = Text("a value");
      return;
    }
    std::vector<int> chain{NodeOf(first, line)};
    while (token_.Is("->")) {
      Advance();
      chain.push_back(NodeOf(Text("a node"), line));
    }
    if (chain.size() == 1) return ReadAttributes(nodes_[chain[0]].attributes);
    DotAttributes attributes = edge_defaults_;
    ReadAttributes(attributes);
    for (std::size_t i = 1; i < chain.size(); ++i) {
      edges_.push_back({chain[i - 1], chain[i], attributes, line});
    }
  }

  Nanos Weight(const DotAttributes& attributes, int line, const std::string& what) const {
    auto weight = attributes.find("Weight");
    if (weight == attributes.end()) weight = attributes.find("weight");
    if (weight == attributes.end()) {
      FailInDot(where_, line, fmt::format("{} has no Weight; expected a number >= 0", what));
    }
    return Number(weight->second, line, what + ": Weight");
  }

  Nanos Number(const std::string& text, int line, const std::string& what) const {
    return AtPlace(fmt::format("{}:{}: {}", where_, line, what), [&] { return ParseWeight(text); });
  }

  void ReadSchedule(TaskGraph& graph) const {
    constexpr std::string_view kEqual = "Homogeneous-";
    const auto system = graph_attributes_.find("TargetSystem");
    if (system == graph_attributes_.end() || !system->second.starts_with(kEqual)) return;
    const std::string_view count = std::string_view(system->second).substr(kEqual.size());
    const auto [end, error] =
        std::from_chars(count.data(), count.data() + count.size(), graph.processors);
    if (error != std::errc() || end != count.data() + count.size() || graph.processors < 1) {
      FailInDot(where_,
                1,
                fmt::format("TargetSystem: expected \"Homogeneous-N\" with N >= 1, got \"{}\"",
                            system->second));
    }
    const auto length = graph_attributes_.find("Total schedule length");
    if (length == graph_attributes_.end()) return;
    graph.optimum = Number(length->second, 1, "Total schedule length");

    std::map<Nanos, int> processors;  // values of Processor, ascending
    std::vector<Nanos> processor;
    for (const Node& node : nodes_) {
      const auto start = node.attributes.find("Start");
      const auto at = node.attributes.find("Processor");
      if (start == node.attributes.end() || at == node.attributes.end()) {
        graph.start.clear();
        return;
      }
      const std::string what = fmt::format("node \"{}\"", node.name);
      graph.start.push_back(Number(start->second, node.line, what + ": Start"));
      processor.push_back(Number(at->second, node.line, what + ": Processor"));
      processors[processor.back()] = 0;
      if (static_cast<int>(processors.size()) > graph.processors) {
        FailInDot(
            where_,
            node.line,
            fmt::format("{}: Processor: expected at most {} different values, as TargetSystem "
                        "says, got another, \"{}\"",
                        what,
                        graph.processors,
                        at->second));
      }
    }
    int next = 0;
    for (auto& [value, index] : processors) index = next++;
    for (Nanos value : processor) graph.processor_of.push_back(processors.at(value));
  }

  DotLexer lexer_;
  const std::string& where_;
  DotToken token_;
  std::vector<Node> nodes_;
  std::map<std::string, int, std::less<>> node_of_;
  std::vector<Edge> edges_;
  DotAttributes node_defaults_, edge_defaults_, graph_attributes_;
};

}  // namespace

TaskGraph ParseWeightedDot(std::string_view text,
                           const std::string& name,
                           const std::string& where) {
  return DotReader(text, where).Read(name);
}

}  // namespace emplace
