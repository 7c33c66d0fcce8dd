#include <algorithm>
#include <tuple>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/menu.h"
#include "experiments/output.h"
#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cost/cost_table.h"

namespace emplace {
namespace {

struct Item {
  std::string name, sentence;
};

struct Options {
  std::string what, name;
  bool json = false;
};

std::vector<Item> Agents() {
  std::vector<Item> items;
  for (const AgentEntry& entry : AllAgents().entries())
    items.push_back({entry.name, entry.sentence});
  return items;
}

std::vector<Item> WithComments(const Menu& menu) {
  std::vector<Item> items;
  for (const std::string& name : MenuNames(menu)) {
    items.push_back({name, FirstComment(ResolveMenu(menu, name, "list"))});
  }
  return items;
}

std::vector<Item> Sweeps() {
  std::vector<Item> items;
  for (const std::string& name : SweepNames()) {
    items.push_back({name, FirstComment(ResolveSweep(name, "list"))});
  }
  return items;
}

std::vector<Item> CostTables() {
  std::vector<Item> items;
  for (const std::string& name : MenuNames(CostsMenu())) {
    items.push_back({name, ReadCostTable(ResolveMenu(CostsMenu(), name, "list")).machine});
  }
  return items;
}

std::vector<Item> DeviceKinds() {
  std::vector<Item> items;
  for (const auto& [name, kind] : ReadDeviceKinds(ConfigsFolder() / "device_kinds")) {
    items.push_back({name, kind.source});
  }
  return items;
}

// "torch 2.5, torchvision inception_v3, batch 32" from the head of the file: its `source` stands
// before the tensors, and the megabytes behind it need not be read.
std::string SourceSentence(const std::filesystem::path& path) {
  std::string head(1 << 16, '\0');
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files, too
  if (file == nullptr) return "";
  const int length = gzread(file, head.data(), static_cast<unsigned>(head.size()));
  gzclose(file);
  head.resize(std::max(length, 0));

  std::string key;
  nlohmann::json source;
  using Event = nlohmann::json::parse_event_t;
  const auto look = [&](int depth, Event event, nlohmann::json& parsed) {
    if (event == Event::key && depth == 1) key = parsed.get<std::string>();
    if (event == Event::object_end && depth == 1 && key == "source") source = parsed;
    return true;
  };
  // The text breaks off in the middle; what came before that is all that is wanted.
  std::ignore = nlohmann::json::parse(head, look, false);
  std::vector<std::string> parts;
  for (const char* field : {"framework", "model", "batch"}) {
    if (!source.is_object() || !source.contains(field)) continue;
    const nlohmann::json& value = source[field];
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    parts.push_back(field == std::string("batch") ? "batch " + text : text);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Item> Graphs() {
  std::vector<Item> items;
  for (const std::string& name : MenuNames(GraphMenu())) {
    items.push_back({name, SourceSentence(ResolveMenu(GraphMenu(), name, "list"))});
  }
  return items;
}

struct Shelf {
  const char* what;
  std::vector<Item> (*items)();
};
constexpr Shelf kShelves[] = {{"agents", Agents},
                              {"clusters", [] { return WithComments(ClusterMenu()); }},
                              {"costs", CostTables},
                              {"device-kinds", DeviceKinds},
                              {"families", [] { return WithComments(FamilyMenu()); }},
                              {"graphs", Graphs},
                              {"layouts", [] { return WithComments(LayoutMenu()); }},
                              {"sweeps", Sweeps}};

std::vector<Item> ItemsOf(const std::string& what) {
  std::vector<std::string> names;
  for (const Shelf& shelf : kShelves) {
    if (shelf.what == what) return shelf.items();
    names.emplace_back(shelf.what);
  }
  ThrowUnknown("list", "menu", what, names);
}

// An agent's sentence and its settings with their defaults.
std::string AgentPage(const std::string& name) {
  const AgentEntry& entry = AllAgents().Find(name, "list agents");
  std::string text = fmt::format("{}: {}\n", entry.name, entry.sentence);
  text += entry.uses_seed ? "uses the seed\n" : "uses no seed: run once\n";
  const std::vector<FieldHelp> settings = entry.describe_settings();
  text += settings.empty() ? "no settings\n" : "settings, with their defaults:\n";
  for (const FieldHelp& field : settings) {
    text += fmt::format("  {}: {}\n      {}\n", field.key, field.default_value, field.help);
  }
  return text;
}

int List(const Options& options) {
  std::vector<Item> items = ItemsOf(options.what);
  if (!options.name.empty()) {
    if (options.what == "agents") {
      Print(AgentPage(options.name));
      return 0;
    }
    std::vector<std::string> names;
    for (const Item& item : items) names.push_back(item.name);
    std::erase_if(items, [&](const Item& item) { return item.name != options.name; });
    if (items.empty()) ThrowUnknown("list " + options.what, "name", options.name, names);
  }
  if (options.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const Item& item : items) json[item.name] = item.sentence;
    Print(json.dump(2) + "\n");
    return 0;
  }
  size_t width = 0;
  for (const Item& item : items) width = std::max(width, item.name.size());
  for (const Item& item : items) {
    Print(item.sentence.empty() ? item.name + "\n"
                                : fmt::format("{:<{}}  {}\n", item.name, width, item.sentence));
  }
  if (items.empty()) PrintWarning(fmt::format("nothing in {}", ConfigsFolder().string()));
  return 0;
}

}  // namespace

void AddListCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("list", "Names on the menus, with one sentence each");
  command
      ->add_option("what",
                   options->what,
                   "agents, clusters, costs, device-kinds, families, graphs, layouts or sweeps")
      ->required();
  command->add_option("name", options->name, "only this one; of an agent also its settings");
  command->add_flag("--json", options->json, "as a JSON object");
  command->callback([options, &action] { action = [options] { return List(*options); }; });
}

}  // namespace emplace
