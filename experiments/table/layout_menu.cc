#include "experiments/table/layout_menu.h"

#include <algorithm>
#include <optional>

#include "experiments/console/config_edit.h"
#include "experiments/console/menu.h"
#include "framework/base/error.h"

namespace emplace {
namespace fs = std::filesystem;
namespace {

TableLayout ReadWith(ConfigNode layout, const std::vector<std::string>& settings) {
  ApplySettings(layout, settings);
  return ReadTableLayout(layout);
}

// Returns the file of a sweep that contains a layout; none if it has none or does not exist.
std::optional<fs::path> FindSweepWithTable(const std::string& name) {
  const std::optional<fs::path> path = FindSweep(name);
  return path && ConfigNode::FromFile(*path).Has("table") ? path : std::nullopt;
}

// Returns the names of layouts, and of sweeps that contain a layout.
std::vector<std::string> LayoutNames() {
  std::vector<std::string> names = MenuNames(LayoutMenu());
  for (const std::string& sweep : SweepNames()) {
    if (std::count(names.begin(), names.end(), sweep) == 0 && FindSweepWithTable(sweep)) {
      names.push_back(sweep);
    }
  }
  return names;
}

fs::path FileOf(const std::string& text, const std::string& where, const fs::path& beside) {
  const std::vector<std::string> layouts = MenuNames(LayoutMenu());
  if (LooksLikePath(LayoutMenu(), text) || std::count(layouts.begin(), layouts.end(), text) > 0) {
    return ResolveMenu(LayoutMenu(), text, where, beside);
  }
  if (const std::optional<fs::path> sweep = FindSweepWithTable(text)) return *sweep;
  ThrowUnknown(where, "layout", text, LayoutNames());
}

}  // namespace

TableLayout FindTableLayout(const std::string& text,
                            const std::string& where,
                            const fs::path& beside,
                            const std::vector<std::string>& settings) {
  const fs::path path = FileOf(text, where, beside);
  const ConfigNode root = ConfigNode::FromFile(path);
  if (!root.IsMap()) throw InputError(path.string() + ": expected a map: a layout, or a sweep");
  if (!root.Has("table")) {
    if (IsSweepConfig(root)) root.Fail("is a sweep without the key table");
    return ReadWith(root, settings);
  }
  const ConfigNode table = root.At("table");
  if (table.IsMap()) return ReadWith(table, settings);
  const fs::path named = FileOf(table.AsString(), table.Where(), path.parent_path());
  return ReadWith(ConfigNode::FromFile(named), settings);
}

TableLayout ReadSweepTable(const ConfigNode& table, const fs::path& beside) {
  return table.IsMap() ? ReadTableLayout(table)
                       : FindTableLayout(table.AsString(), table.Where(), beside);
}

}  // namespace emplace
