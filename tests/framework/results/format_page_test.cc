// framework/results/FORMAT.md against the committed examples: the page names what they hold, and
// they hold what it names.

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <hdf5.h>

#include "framework/results/results_reader.h"
#include "tests/framework/format_pages.h"
#include "tests/support/pages.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct Item {
  std::string name, type;
};

std::string TypeName(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      return "text";
    case H5T_INTEGER:
      return "integer";
    case H5T_FLOAT:
      return "number";
    case H5T_COMPOUND:
      return "table";
    default:
      return "unknown";
  }
}

struct Walk {
  std::vector<Item>* items;
  std::string object;  // "/agents/x"
};

herr_t AddAttribute(hid_t object, const char* name, const H5A_info_t*, void* data) {
  const auto& walk = *static_cast<const Walk*>(data);
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute);
  walk.items->push_back({walk.object + "@" + name, TypeName(type)});
  H5Tclose(type);
  H5Aclose(attribute);
  return 0;
}

herr_t AddObject(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  const bool is_root = std::string(name) == ".";
  Walk walk{static_cast<std::vector<Item>*>(data), is_root ? "/" : "/" + std::string(name)};
  const hid_t object = H5Oopen(root, name, H5P_DEFAULT);
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, AddAttribute, &walk);
  if (info->type == H5O_TYPE_DATASET) {
    const hid_t type = H5Dget_type(object);
    const std::string type_name = TypeName(type);
    const bool is_table = type_name == "table";
    walk.items->push_back({walk.object, type_name + (is_table ? "" : "s")});
    for (int m = 0; is_table && m < H5Tget_nmembers(type); ++m) {
      char* member = H5Tget_member_name(type, m);
      const hid_t member_type = H5Tget_member_type(type, m);
      walk.items->push_back({fmt::format("{}[{}]", walk.object, member), TypeName(member_type)});
      H5Tclose(member_type);
      H5free_memory(member);
    }
    H5Tclose(type);
  }
  H5Oclose(object);
  return 0;
}

std::vector<Item> ItemsOf(const std::filesystem::path& path) {
  std::vector<Item> items;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  REQUIRE(file >= 0);
  CHECK(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, AddObject, &items) >= 0);
  H5Fclose(file);
  return items;
}

// "/agents/<label>/evaluations[index]" as a pattern.
std::regex PatternOf(const std::string& name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') {
      pattern += R"([^/@\[\]]+)";
      i = name.find('>', i);
    } else {
      if (std::string("[]().").find(name[i]) != std::string::npos) pattern += '\\';
      pattern += name[i];
    }
  }
  return std::regex(pattern);
}

// What no committed file has: only resumed and stopped runs, and those of several ranks, do,
// matrices that were left out, and intervals and residuals, which the files are older than.
const Names kNotInExamples = {"/config@resumed",
                              "/config@ranks",
                              "/config@earlier_programs",
                              "/problem@best_single_device",
                              "/problem@best_single_device_ns",
                              "/problem@priority",
                              "/problem/issue_order",
                              "/agents/<label>@bound_ns",
                              "/agents/<label>/best/issue_order",
                              "/agents/<label>/checkpoint",
                              "/families/<family>/training/<label>/checkpoint",
                              "/validation/<graph>/placement",
                              "/problem@interval_level",
                              "/problem@interval_low_ratio",
                              "/problem@interval_high_ratio",
                              "/problem@interval_source",
                              "/problem@resolved_difference",
                              "/validation/<graph>@interval_level",
                              "/validation/<graph>@interval_low_ratio",
                              "/validation/<graph>@interval_high_ratio",
                              "/validation/<graph>@interval_source",
                              "/validation/<graph>@held_out",
                              "/validation/<graph>@held_out_coverage",
                              "/validation/<graph>@coverage",
                              "/validation/<graph>@repeat_coverage",
                              "/validation/<graph>@distinct_pairs",
                              "/validation/<graph>@distinct_accuracy",
                              "/validation/<graph>@verdict",
                              "/validation/<graph>@resolved_difference",
                              "/validation/<graph>@paired_level",
                              "/validation/<graph>@differing_pairs",
                              "/validation/<graph>@differing_in_order",
                              "/validation/<graph>/steps[interval_low_ns]",
                              "/validation/<graph>/steps[interval_high_ns]",
                              "/validation/<graph>/steps[to_fastest]",
                              "/validation/<graph>/steps[to_fastest_low]",
                              "/validation/<graph>/steps[to_fastest_high]",
                              "/validation/<graph>/steps[crossing_bytes]",
                              "/validation/<graph>/steps[crossings]",
                              "/validation/<graph>/steps[overlap]",
                              "/validation/<graph>/residuals@graphs",
                              "/validation/<graph>/residuals@placements",
                              "/validation/<graph>/residuals@shuffles",
                              "/validation/<graph>/residuals@largest_above",
                              "/validation/<graph>/residuals@systematic",
                              "/validation/<graph>/residuals/traits",
                              "/validation/<graph>/residuals/correlations",
                              "/validation/<graph>/residuals/correlations[pearson]",
                              "/validation/<graph>/residuals/correlations[pearson_above]",
                              "/validation/<graph>/residuals/correlations[spearman]",
                              "/validation/<graph>/residuals/correlations[spearman_above]",
                              "/validation/<graph>/residuals/correlations[slope]",
                              "/residuals@graphs",
                              "/residuals@placements",
                              "/residuals@shuffles",
                              "/residuals@largest_above",
                              "/residuals@systematic",
                              "/residuals/traits",
                              "/residuals/correlations",
                              "/residuals/correlations[pearson]",
                              "/residuals/correlations[pearson_above]",
                              "/residuals/correlations[spearman]",
                              "/residuals/correlations[spearman_above]",
                              "/residuals/correlations[slope]"};

TEST_CASE("results: the page names all that the example files hold, with its type") {
  const std::string page = ReadPage(kResultsPage);
  std::map<std::string, std::string> type_of;  // name on the page -> type
  for (const std::string heading :
       {"Every file",
        "`/config`: how the results came about",
        "`/problem`: what was placed where",
        "`/agents/<label>`: one search",
        "`/stress`: placements with other costs",
        "`/verification` and `/validation/<graph>`: placements executed",
        "`/residuals`: what the errors of a validation go with",
        "`/families/<family>`: policies on graphs they never saw"}) {
    for (const auto& row : TableOf(SectionOf(page, heading))) {
      const std::vector<std::string> names = CodeSpans(row.at("name"));
      REQUIRE(names.size() == 1);
      const std::string type = row.at("type");
      CHECK_MESSAGE(type_of.emplace(names[0], type.substr(0, type.find(' '))).second, names[0]);
    }
  }
  std::map<std::string, std::regex> patterns;
  for (const auto& [name, type] : type_of) patterns.emplace(name, PatternOf(name));

  Names seen;
  int files = 0;
  const auto folder = SourceDir() / "scripts" / "emplace" / "examples";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".h5") continue;
    CAPTURE(entry.path().string());
    ++files;
    CHECK_NOTHROW(ResultsReader{entry.path()});  // version 1 of whatever commit is read
    for (const Item& item : ItemsOf(entry.path())) {
      const auto known = std::find_if(patterns.begin(), patterns.end(), [&](const auto& pattern) {
        return std::regex_match(item.name, pattern.second);
      });
      CHECK_MESSAGE(known != patterns.end(), item.name << " is not on the page");
      if (known == patterns.end()) continue;
      seen.insert(known->first);
      CHECK_MESSAGE(type_of[known->first] == item.type, item.name);
    }
  }
  CHECK(files >= 4);
  Names missing;
  for (const auto& [name, type] : type_of) {
    if (!seen.contains(name)) missing.insert(name);
  }
  CHECK(Text(missing) == Text(kNotInExamples));
}

}  // namespace
