#include "experiments/sweep/sweep_config.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "experiments/console/config_edit.h"
#include "experiments/sweep/sweep_draw.h"
#include "experiments/sweep/sweep_merge.h"
#include "experiments/table/layout_menu.h"
#include "framework/base/error.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

// One key of the grid with its values.
struct Dimension {
  std::string key;
  std::vector<ConfigNode> values;
};

void AppendDimensions(const std::string& path,
                      const ConfigNode& node,
                      std::vector<Dimension>& grid) {
  if (node.IsMap()) {
    for (const std::string& key : node.Keys()) {
      AppendDimensions(path.empty() ? key : path + "." + key, node.At(key), grid);
    }
    return;
  }
  // Lists of agents and seeds are single values: all their entries run in every config.
  if (path == "agents" || path == "seeds") {
    grid.push_back({path, {node}});
    return;
  }
  if (!node.IsSequence()) node.Fail("expected a list of values");
  for (const Dimension& other : grid) {
    if (other.key == path) node.Fail("is twice in the grid");
  }
  grid.push_back({path, node.Elements()});
  if (grid.back().values.empty()) node.Fail("expected at least one value: a grid of 0 runs");
}

// The layers of a sweep config.
class Layers {
 public:
  Layers(const SweepConfig& config, const ConfigNode& root, const fs::path& path)
      : base_(config.base), where_(path.string()), beside_(path.parent_path()) {
    AppendDimensions("", config.grid, grid_);
    draws_ = DrawChoices(config.draw, config.draws, static_cast<std::uint64_t>(config.draw_seed));
    for (const std::string& key : config.draw.Keys()) {
      for (const Dimension& dimension : grid_) {
        if (dimension.key == key) config.draw.At(key).Fail("is also in the grid");
      }
    }
    overrides_ = config.overrides.Elements();
    if (overrides_.empty()) overrides_.push_back(ConfigNode::FromString("{}", where_));
    std::vector<std::string> scales = config.scales.Keys();
    for (const std::string& name : scales) {
      (name == config.scale ? scale_ : other_scales_.emplace_back()) = config.scales.At(name);
    }
    if (std::find(scales.begin(), scales.end(), config.scale) == scales.end() &&
        config.scale != "full") {
      scales.push_back("full");
      ThrowUnknown(
          (root.Has("scale") ? root.At("scale") : root).Where(), "scale", config.scale, scales);
    }
  }

  const std::vector<ConfigNode>& overrides() const { return overrides_; }
  const std::vector<Dimension>& grid() const { return grid_; }
  std::int64_t num_draws() const { return std::ssize(draws_); }
  const ConfigNode& scale() const { return scale_; }
  const std::vector<ConfigNode>& other_scales() const { return other_scales_; }

  std::int64_t num_combinations() const {
    std::int64_t count = std::max<std::int64_t>(1, std::ssize(draws_));
    for (const Dimension& dimension : grid_) {
      count *= static_cast<std::int64_t>(dimension.values.size());
      if (count > INT32_MAX) return INT32_MAX;  // above the limit in any case
    }
    return count;
  }

  std::vector<GridChoice> Combination(std::int64_t index) const {
    std::vector<GridChoice> choices;
    const auto num_draws = std::max<std::int64_t>(1, std::ssize(draws_));
    const std::int64_t draw = index % num_draws;
    index /= num_draws;
    for (auto dimension = grid_.rbegin(); dimension != grid_.rend(); ++dimension) {
      const auto size = static_cast<std::int64_t>(dimension->values.size());
      choices.emplace_back(dimension->key, dimension->values[static_cast<size_t>(index % size)]);
      index /= size;
    }
    std::reverse(choices.begin(), choices.end());
    if (!draws_.empty()) {
      const std::vector<GridChoice>& drawn = draws_[static_cast<size_t>(draw)];
      choices.insert(choices.end(), drawn.begin(), drawn.end());
    }
    return choices;
  }

  ConfigNode Merge(const ConfigNode& override,
                   const std::vector<GridChoice>& choices,
                   const ConfigNode& scale) const {
    std::optional<ConfigNode> file;
    for (const ConfigNode& layer : {base_, override}) {
      if (layer.IsMap() && layer.Has("config")) file = layer.At("config");
    }
    for (const auto& [key, value] : choices) {
      if (key == "config") file = value;
    }
    ConfigNode root = BeginRunConfig(file ? &*file : nullptr, where_, beside_);
    ApplyLayer(root, base_);
    ApplyLayer(root, override);
    ApplyChoices(root, choices);
    ApplyLayer(root, scale);
    LabelByChoices(root, choices);
    return root;
  }

 private:
  ConfigNode base_, scale_;
  std::vector<ConfigNode> other_scales_;
  std::string where_;
  fs::path beside_;
  std::vector<ConfigNode> overrides_;
  std::vector<Dimension> grid_;
  std::vector<std::vector<GridChoice>> draws_;
};

// Counts the runs before expansion: ten million run configs would fill the memory.
void RequireCount(const Layers& layers, const std::string& where) {
  double count = 0;
  for (const ConfigNode& override : layers.overrides()) {
    const ConfigNode root = layers.Merge(override, layers.Combination(0), layers.scale());
    const double agents = static_cast<double>(root.At("agents").Elements().size());
    const double seeds =
        root.Has("seeds") ? static_cast<double>(ParseSeeds(root.At("seeds")).size()) : 1;
    count += static_cast<double>(layers.num_combinations()) * agents * seeds;
  }
  if (count <= kMaxSweepRuns) return;
  std::string sizes = fmt::format("overrides: {}", layers.overrides().size());
  for (const Dimension& dimension : layers.grid()) {
    if (dimension.key == "agents" || dimension.key == "seeds") continue;
    sizes += fmt::format(", {}: {}", dimension.key, dimension.values.size());
  }
  if (layers.num_draws() > 0) sizes += fmt::format(", draws: {}", layers.num_draws());
  throw InputError(
      fmt::format("{}: describes {}{:.0f} runs ({}, times agents and seeds); expected at most {}",
                  where,
                  layers.num_combinations() == INT32_MAX ? "more than " : "",
                  count,
                  sizes,
                  kMaxSweepRuns));
}

// Describes the differences of a run config: graph, cluster, and single values set by override or
// grid.
std::string Describe(const ConfigNode& root,
                     const ConfigNode& override,
                     const std::vector<GridChoice>& choices) {
  std::string text = DescribeProblem(root.At("graph").AsString(), root.At("cluster").AsString());
  const auto add = [&](const std::string& key, const ConfigNode& value) {
    if (key == "graph" || key == "cluster" || key == "config" || key.starts_with("agents") ||
        key == "seeds" || !value.IsScalar()) {
      return;
    }
    text += fmt::format(" {}={}", key, value.AsString());
  };
  for (const std::string& key : override.Keys()) add(key, override.At(key));
  for (const auto& [key, value] : choices) add(key, value);
  return text;
}

// A map of `exclude` or `only`. It matches runs in which all of its keys have these values.
class RunPattern {
 public:
  explicit RunPattern(const ConfigNode& node) : node_(node) {
    std::vector<std::string> known = {"agent", "seed"};
    for (const FieldHelp& field : DescribeFields<RunConfig>()) known.push_back(field.key);
    node.RequireKnownKeys(known);
    if (node.Keys().empty()) node.Fail("expected at least one key");
  }

  bool Matches(const ConfigNode& resolved, const std::string& label, std::uint64_t seed) {
    for (const std::string& key : node_.Keys()) {
      const std::string value = FlowText(node_.At(key));
      if (key == "agent"  ? value != label
          : key == "seed" ? value != std::to_string(seed)
                          : value != ValueOf(resolved, key)) {
        return false;
      }
    }
    ++num_matched_;
    return true;
  }

  /// @param labels  labels of all agents
  void RequireMatched(const std::vector<std::string>& labels) const {
    if (num_matched_ > 0) return;
    if (node_.Has("agent")) {
      const std::string label = FlowText(node_.At("agent"));
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) {
        ThrowUnknown(node_.At("agent").Where(), "agent", label, labels);
      }
    }
    node_.Fail(fmt::format("{} matches no run", FlowText(node_)));
  }

 private:
  // Keys that resolved configs omit at their defaults have no value.
  static std::optional<std::string> ValueOf(ConfigNode node, std::string_view path) {
    for (size_t dot; (dot = path.find('.')) != std::string_view::npos;
         path.remove_prefix(dot + 1)) {
      node = node.At(path.substr(0, dot));
    }
    if (!node.Has(path)) return std::nullopt;
    return FlowText(node.At(path));
  }

  ConfigNode node_;
  int num_matched_ = 0;
};

// Adds the runs of run configs in sequence.
class Expansion {
 public:
  Expansion(SweepPlan& plan, std::string where) : plan_(plan), where_(std::move(where)) {
    for (const ConfigNode& node : plan.config.exclude.Elements()) exclude_.emplace_back(node);
    for (const ConfigNode& node : plan.config.only.Elements()) only_.emplace_back(node);
  }

  void Add(RunPlan run_plan, const std::string& description) {
    RunConfig problem = run_plan.config;
    problem.agents = problem.seeds = ConfigNode();
    const std::string yaml = WriteFields(problem);
    const bool has_patterns = !exclude_.empty() || !only_.empty();
    const ConfigNode resolved =
        has_patterns ? ConfigNode::FromString(yaml, plan_.name) : ConfigNode();
    const int config = static_cast<int>(plan_.configs.size());
    bool is_needed = only_.empty();
    for (int agent = 0; agent < std::ssize(run_plan.agents); ++agent) {
      const AgentSpec& spec = run_plan.agents[agent];
      labels_.insert(spec.label);
      const std::string key = fmt::format("{}\n{}\n{}\n{}\n",
                                          yaml,
                                          spec.entry->name,
                                          spec.entry->resolve_settings(spec.settings),
                                          spec.label);
      for (const std::uint64_t seed : run_plan.seeds) {
        if (IsWanted(resolved, spec.label, seed)) {
          is_needed = true;
          if (seen_.insert(key + std::to_string(seed)).second) {
            const std::string with_seed =
                spec.entry->uses_seed ? fmt::format(" seed={}", seed) : "";
            plan_.runs.push_back(
                {config,
                 agent,
                 seed,
                 fmt::format("{} agent={}{}", description, spec.label, with_seed)});
          } else {
            ++plan_.num_equal;
          }
          if (std::ssize(plan_.runs) + plan_.num_equal > kMaxSweepRuns) {
            throw InputError(fmt::format(
                "{}: describes too many runs; expected at most {}", where_, kMaxSweepRuns));
          }
        }
        if (!spec.entry->uses_seed) break;
      }
    }
    if (is_needed) plan_.configs.push_back(std::move(run_plan));
  }

  void RequirePatternsMatched() const {
    const std::vector<std::string> labels(labels_.begin(), labels_.end());
    for (const RunPattern& pattern : exclude_) pattern.RequireMatched(labels);
    for (const RunPattern& pattern : only_) pattern.RequireMatched(labels);
  }

 private:
  bool IsWanted(const ConfigNode& resolved, const std::string& label, std::uint64_t seed) {
    // Every pattern is tried, so that patterns without a match are found.
    bool excluded = false, chosen = only_.empty();
    for (RunPattern& pattern : exclude_) excluded |= pattern.Matches(resolved, label, seed);
    for (RunPattern& pattern : only_) chosen |= pattern.Matches(resolved, label, seed);
    return chosen && !excluded;
  }

  SweepPlan& plan_;
  std::string where_;
  std::vector<RunPattern> exclude_, only_;
  std::set<std::string> labels_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

void SweepConfig::Visit(FieldVisitor& v) {
  v.Field("base",
          base,
          "keys of a run config for all runs; config: NAME_OR_PATH starts from that run config");
  v.Field("overrides", overrides, "list of maps of such keys; each map gives further runs");
  v.Field("grid",
          grid,
          "key: [values]; every override is run with every combination of values; "
          "agents.LABEL.SETTING: [values] varies a setting");
  v.Field("draw",
          draw,
          "key: distribution of a random value, {int: [1, 64], log: true}, {float: [0.9, 0.99]} or "
          "{choice: [a, b]}; agents.LABEL.SETTING draws a setting. `emplace tune` of the Python "
          "package draws according to the results of earlier runs");
  v.Field("draws",
          draws,
          Between(1, kMaxSweepRuns),
          "number of draws of all keys of `draw`, for every override and combination of the grid");
  v.Field("draw_seed", draw_seed, AtLeast(0), "seed of the draws");
  v.Field("exclude",
          exclude,
          "list of maps of keys of a run config, agent (its label) and seed; a run that has all "
          "values of a map is left out");
  v.Field("only",
          only,
          "list of such maps; if it is not empty, only runs that have all values of one of them "
          "are done; --set 'only=[{graph: nmt, cluster: 2xk80}]' runs one cell");
  v.Field("scales",
          scales,
          "name: map of keys of a run config, which replace those of base, overrides and grid");
  v.Field("scale",
          scale,
          "scale of the runs, a name of `scales`; full changes nothing unless `scales` has it");
  v.Field("table",
          table,
          "layout of the table of `emplace table`: a map (`emplace table --help-layout` prints its "
          "keys), or a name of `emplace list layouts`");
  v.Field("allow_refusals",
          allow_refusals,
          "whether an agent may refuse some of its problems, whose runs then fail; false: a "
          "refusal ends the sweep before its first run");
  v.Field("checkpoint_seconds",
          checkpoint_seconds,
          AtLeast(0),
          "time between checkpoints of a run, the most that a killed run loses [s]");
  v.Field("jobs", jobs, AtLeast(0), "runs at a time, or workers of the launcher; 0: one per core");
  v.Group(
      "launcher", "launcher of the runs", [&](FieldVisitor& fields) { launcher.Visit(fields); });
  v.Field("output", output, "folder; empty: results/<config name>");
}

SweepPlan ReadSweepPlan(const fs::path& path,
                        const std::vector<std::string>& settings,
                        const AgentRegistry& registry) {
  const ConfigNode root = ReadWithSettings(path, settings);
  SweepPlan plan;
  plan.name = path.stem().string();
  plan.config = ReadFields<SweepConfig>(root);
  if (root.Has("table")) {
    plan.table = ReadSweepTable(plan.config.table, path.parent_path()).yaml;
  }
  const Layers layers(plan.config, root, path);
  RequireCount(layers, path.string());
  Expansion expansion(plan, path.string());
  for (const ConfigNode& override : layers.overrides()) {
    for (const ConfigNode& scale : layers.other_scales()) {  // also checks the scales not chosen
      MakeRunPlan(layers.Merge(override, layers.Combination(0), scale),
                  plan.name,
                  path.parent_path(),
                  registry);
    }
    for (std::int64_t i = 0; i < layers.num_combinations(); ++i) {
      const std::vector<GridChoice> choices = layers.Combination(i);
      const ConfigNode merged = layers.Merge(override, choices, layers.scale());
      expansion.Add(MakeRunPlan(merged, plan.name, path.parent_path(), registry),
                    Describe(merged, override, choices));
    }
  }
  expansion.RequirePatternsMatched();
  if (plan.runs.empty()) root.At("exclude").Fail("leaves 0 runs");
  return plan;
}

std::string DescribeProblem(const std::string& graph, const std::string& cluster) {
  if (graph != cluster) return fmt::format("graph={} cluster={}", graph, cluster);
  const std::string file = std::filesystem::path(graph).filename().string();
  return "instance=" + file.substr(0, file.find(".json"));
}

RunPlan PlanOfRun(const SweepPlan& sweep, const SweepRun& run) {
  RunPlan plan = sweep.configs[run.config];
  const ConfigNode agent = sweep.configs[run.config].config.agents.Elements()[run.agent];
  ConfigNode list;
  list.Set("agents", "[0]");
  list.Put("agents.0", agent);
  plan.config.agents = list.At("agents");
  plan.config.seeds = ConfigNode::FromString(fmt::format("[{}]", run.seed), plan.name);
  plan.agents = {sweep.configs[run.config].agents[run.agent]};
  plan.seeds = {run.seed};
  return plan;
}

}  // namespace emplace
