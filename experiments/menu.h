#pragma once

// The folder configs/ holds menus: what a run may name instead of a path.

#include <filesystem>
#include <string>
#include <vector>

#include "framework/config/config_node.h"

namespace emplace {

/// $EMPLACE_CONFIGS, else the folder of the source tree this program was built from, else
/// ./configs.
std::filesystem::path ConfigsFolder();

/// One kind of thing that can be named.
struct Menu {
  const char* what;                     ///< in messages: "graph"
  const char* folder;                   ///< below ConfigsFolder()
  const char* prefix;                   ///< of the file names, not part of the menu's names
  std::vector<const char*> extensions;  ///< with the dot
};
const Menu& GraphMenu();        ///< graphs/NAME.json.gz or .json
const Menu& ClusterMenu();      ///< clusters/NAME.yaml
const Menu& CostsMenu();        ///< costs/NAME.json.gz or .json
const Menu& RunMenu();          ///< NAME.yaml
const Menu& SweepMenu();        ///< sweeps/NAME.yaml
const Menu& PaperMenu();        ///< papers/NAME.yaml
const Menu& LayoutMenu();       ///< layouts/NAME.yaml
const Menu& FamilyMenu();       ///< families/NAME.yaml
const Menu& ExpertRulesMenu();  ///< agents/expert_NAME.yaml

/// Names on the menu, sorted. Empty if the folder does not exist.
std::vector<std::string> MenuNames(const Menu& menu);

/// Does it contain '/' or end with one of the menu's extensions?
bool LooksLikePath(const Menu& menu, const std::string& text);

/// The file that `text` stands for: a path if it looks like one, else a name on the menu. A
/// relative path is looked for in the current folder, then in `beside`.
/// @param where  place of `text` in messages
/// @throws InputError "`where`: unknown graph "x"; did you mean ..." for a name not on the menu
std::filesystem::path ResolveMenu(const Menu& menu,
                                  const std::string& text,
                                  const std::string& where,
                                  const std::filesystem::path& beside = {});

/// Is it what `emplace sweep` reads, and not the config of one run?
bool IsSweepConfig(const ConfigNode& root);

/// Names of all sweeps, those of the papers included, sorted. @throws InputError for malformed YAML
std::vector<std::string> SweepNames();

/// The sweep that `text` stands for: as ResolveMenu() in sweeps/, then in papers/.
std::filesystem::path ResolveSweep(const std::string& text, const std::string& where);

/// First comment line of a YAML file without the '#'; empty if it has none.
std::string FirstComment(const std::filesystem::path& path);

}  // namespace emplace
