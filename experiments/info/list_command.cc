#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "agents/registry.h"
#include "experiments/commands.h"
#include "experiments/console/menu.h"
#include "experiments/console/output.h"
#include "experiments/info/shelves.h"
#include "framework/base/error.h"
#include "framework/base/json.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cost/cost_table.h"
#include "framework/graph/graph_io.h"

namespace emplace {
namespace {

struct Item {
  std::string name, sentence;
};

struct ListOptions {
  std::string what, name;
  bool json = false;
};

std::vector<Item> Agents() {
  std::vector<Item> items;
  for (const AgentEntry& entry : AllAgents().entries()) {
    items.push_back({entry.name, entry.sentence});
  }
  return items;
}

std::vector<Item> ConstructiveAgents() {
  std::vector<Item> items;
  for (const AgentEntry& entry : AllAgents().entries()) {
    if (entry.constructs) items.push_back({entry.name, entry.sentence});
  }
  return items;
}

// Returns the names on a menu with the sentences of their files.
template <const Menu& (*menu)(), std::string (*describe)(const std::filesystem::path&)>
std::vector<Item> OnMenu() {
  std::vector<Item> items;
  for (const std::string& name : menu == ProblemMenu ? ProblemNames() : MenuNames(menu())) {
    items.push_back({name, describe(ResolveMenu(menu(), name, "list"))});
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

std::string MachineOf(const std::filesystem::path& costs) {
  return ReadCostTable(costs).machine;
}

std::vector<Item> DeviceKinds() {
  std::vector<Item> items;
  for (const auto& [name, kind] : ReadDeviceKinds(ConfigsFolder() / "device_kinds")) {
    items.push_back({name, kind.source});
  }
  return items;
}

struct Shelf {
  const char* what;
  const char* folder;  // below the configs folder; nullptr: none
  std::vector<Item> (*items)();
  const Menu& (*menu)() = nullptr;  // whose names are the items, if they are those of one menu
};
constexpr Shelf kShelves[] = {
    {"agents", nullptr, Agents},
    {"clusters", "clusters", OnMenu<ClusterMenu, FirstComment>, ClusterMenu},
    {"constructive-agents", nullptr, ConstructiveAgents},
    {"costs", "costs", OnMenu<CostsMenu, MachineOf>, CostsMenu},
    {"device-kinds", "device_kinds", DeviceKinds},
    {"families", "families", OnMenu<FamilyMenu, FirstComment>, FamilyMenu},
    {"graphs", "graphs", OnMenu<GraphMenu, ReadGraphSource>, GraphMenu},
    {"layouts", "layouts", OnMenu<LayoutMenu, FirstComment>, LayoutMenu},
    {"problems", "problems", OnMenu<ProblemMenu, FirstComment>},
    {"sweeps", "sweeps", Sweeps}};

const Shelf& FindShelf(const std::string& what) {
  std::vector<std::string> names;
  for (const Shelf& shelf : kShelves) {
    if (shelf.what == what) return shelf;
    names.emplace_back(shelf.what);
  }
  ThrowUnknown("list", "menu", what, names);
}

std::vector<std::string> NamesOf(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

// Returns an agent's sentence and its settings with their defaults.
std::string AgentPage(const std::string& name) {
  const AgentEntry& entry = AllAgents().Find(name, "list agents");
  std::string text = fmt::format("{}: {}\n", entry.name, entry.sentence);
  text += entry.uses_seed ? "uses the seed\n" : "does not use the seed; it runs once\n";
  text += entry.growth + "\n";
  if (entry.most_groups < std::numeric_limits<int>::max()) {
    text += fmt::format("refuses graphs of more than {} groups\n", entry.most_groups);
  }
  const std::vector<FieldHelp> settings = entry.describe_settings();
  text += settings.empty() ? "no settings\n" : "settings, with their defaults:\n";
  for (const FieldHelp& field : settings) {
    text += fmt::format("  {}: {}\n      {}\n", field.key, field.default_value, field.help);
  }
  return text;
}

// Returns {"name": "sentence", ...}, one per line.
std::string FormatItemsJson(const std::vector<Item>& items) {
  std::string text = "{";
  for (const Item& item : items) {
    text += text == "{" ? "\n  " : ",\n  ";
    text += QuoteJson(item.name) + ": " + QuoteJson(item.sentence);
  }
  return text + (items.empty() ? "}\n" : "\n}\n");
}

// Returns the column at which sentences begin if it leaves them half of the line, else 2.
int FittingIndent(int indent, int columns) {
  return 2 * indent <= columns ? indent : 2;
}

std::string NothingIn(const Shelf& shelf) {
  const std::filesystem::path folder = ConfigsFolder() / (shelf.folder ? shelf.folder : "");
  std::error_code ignored;
  return fmt::format(
      "{}: {}",
      folder.string(),
      std::filesystem::is_directory(folder, ignored) ? "nothing is there" : "no such folder");
}

int List(const ListOptions& options) {
  const Shelf& shelf = FindShelf(options.what);
  std::vector<Item> items = shelf.items();
  if (!options.name.empty()) {
    if (options.what == "agents") {
      Print(WrapLines(AgentPage(options.name), ViewOfOutput().columns, 6));
      return 0;
    }
    const std::vector<std::string> names = NamesOf(items);
    std::erase_if(items, [&](const Item& item) { return item.name != options.name; });
    if (items.empty()) ThrowUnknown("list " + options.what, "name", options.name, names);
  }
  if (options.json) {
    Print(FormatItemsJson(items));
    return 0;
  }
  int width = 0;
  for (const Item& item : items) width = std::max(width, TextWidth(item.name));
  const int columns = ViewOfOutput().columns;
  for (const Item& item : items) {
    const std::string line = fmt::format("{:<{}}  {}", item.name, width, item.sentence);
    Print(item.sentence.empty()
              ? item.name + "\n"
              : WrapLines(line, columns, FittingIndent(width + 2, columns)) + "\n");
  }
  if (items.empty()) PrintWarning(NothingIn(shelf));
  return 0;
}

}  // namespace

std::vector<std::string> NamesOnShelf(const std::string& what) {
  const Shelf& shelf = FindShelf(what);
  return shelf.menu != nullptr ? MenuNames(shelf.menu()) : NamesOf(shelf.items());
}

void AddListCommand(Command program) {
  auto options = std::make_shared<ListOptions>();
  Command command = program.AddCommand(
      "list", "Names of agents, graphs, clusters and the like, with a sentence each");
  command
      .Add("what",
           options->what,
           "agents, clusters, constructive-agents, costs, device-kinds, families, graphs, layouts, "
           "problems or sweeps")
      .Required();
  command.Add("name", options->name, "describe only this name; for an agent, also its settings");
  command.AddFlag("--json", options->json, "as a JSON object");
  command.Does([options] { return List(*options); });
}

}  // namespace emplace
