// The pages that define the file formats against the readers and writers: every example is read,
// and every table of keys names the keys that are known, and no other.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/file.h"
#include "framework/cluster/cluster_io.h"
#include "framework/cost/cost_model.h"
#include "framework/cost/cost_table.h"
#include "framework/graph/graph_io.h"
#include "framework/placement/placement.h"
#include "framework/results/results_reader.h"
#include "tests/support/pages.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

using nlohmann::json;
using Names = std::set<std::string>;

const std::string kGraphPage = "framework/graph/FORMAT.md";
const std::string kClusterPage = "framework/cluster/FORMAT.md";
const std::string kPlacementPage = "framework/placement/FORMAT.md";
const std::string kCostPage = "framework/cost/FORMAT.md";
const std::string kResultsPage = "framework/results/FORMAT.md";
const std::string kNothing = "(nothing was thrown)";

// A table of keys: key -> is it required?
using KeyTable = std::map<std::string, bool>;

KeyTable KeysOf(const std::string& page, const std::string& heading) {
  KeyTable keys;
  for (const auto& row : TableOf(SectionOf(ReadPage(page), heading))) {
    const std::vector<std::string> names = CodeSpans(row.at("key"));
    REQUIRE(names.size() == 1);
    CHECK_MESSAGE(keys.emplace(names[0], row.at("default") == "required").second, names[0]);
  }
  return keys;
}

Names NamesOf(const KeyTable& keys) {
  Names names;
  for (const auto& [key, is_required] : keys) names.insert(key);
  return names;
}

std::string Text(const Names& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Example(const std::string& page, const std::string& language, size_t index = 0) {
  const std::vector<std::string> blocks = FencedBlocks(ReadPage(page), language);
  REQUIRE(blocks.size() > index);
  return blocks[index];
}

// JSON.

// Where in an example the records of a table of keys stand; the first is the one that is changed.
struct Records {
  std::string heading;
  std::vector<std::string> places;  // JSON pointers
};

void AddKeys(const json& record, Names& keys) {
  for (const auto& [key, value] : record.items()) keys.insert(key);
}

Names KeysAt(const json& document, const std::vector<std::string>& places) {
  Names keys;
  for (const std::string& place : places) AddKeys(document.at(json::json_pointer(place)), keys);
  return keys;
}

// A key is known if its value is looked at: of two that make no sense one is refused.
void CheckKnown(const json& example,
                const std::string& place,
                const KeyTable& keys,
                const std::function<void(const std::string&)>& parse) {
  CHECK_NOTHROW(parse(example.dump()));
  for (const auto& [key, is_required] : keys) {
    CAPTURE(place);
    CAPTURE(key);
    bool is_known = false;
    for (const json& poison : {json{{"no such", {0}}}, json(0)}) {
      json changed = example;
      changed[json::json_pointer(place)][key] = poison;
      const std::string message = MessageOf<InputError>([&] { parse(changed.dump()); });
      is_known = is_known || message != kNothing;
    }
    CHECK_MESSAGE(is_known, "no reader looks at the key");
    json shorter = example;
    shorter[json::json_pointer(place)].erase(key);
    const std::string message = MessageOf<InputError>([&] { parse(shorter.dump()); });
    const bool is_missed = message.find("required key \"" + key + "\"") != std::string::npos;
    CHECK_MESSAGE(is_missed == is_required, message);
  }
}

// The texts of a list that a source keeps to itself: `kOpKeys = {"id", ...};`
Names ListInSource(const std::string& path, const std::string& name) {
  const std::string source = ReadPage(path);
  const std::regex pattern(name + R"(\s*=\s*\{([^}]*)\})");
  std::smatch match;
  REQUIRE_MESSAGE(std::regex_search(source, match, pattern), name);
  const std::string list = match[1];
  Names names;
  static const std::regex text("\"([^\"]*)\"");
  for (std::sregex_iterator at(list.begin(), list.end(), text), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

TEST_CASE("graph: the example has every key, is read without warnings and written the same") {
  const std::string example = Example(kGraphPage, "json");
  std::vector<std::string> warnings;
  const Graph graph =
      ParseGraph(example, "page", [&](const std::string& warning) { warnings.push_back(warning); });
  CHECK(warnings.empty());
  CHECK(json::parse(FormatGraph(graph)) == json::parse(example));
  CHECK(graph.num_ops() > 0);
}

TEST_CASE("graph: the tables name the keys that the reader knows") {
  const json example = json::parse(Example(kGraphPage, "json"));
  const auto parse = [](const std::string& text) { ParseGraph(text, "page"); };
  const std::string reader = "framework/graph/graph_io.cc";
  const auto check = [&](const Records& records, const std::string& list) {
    CAPTURE(records.heading);
    const KeyTable keys = KeysOf(kGraphPage, records.heading);
    CHECK(Text(NamesOf(keys)) == Text(KeysAt(example, records.places)));
    CHECK(Text(NamesOf(keys)) == Text(ListInSource(reader, list)));
    CheckKnown(example, records.places[0], keys, parse);
  };
  check({"Keys of the file", {""}}, "kFileKeys");
  check({"Keys of a tensor", {"/tensors/0", "/tensors/4"}}, "kTensorKeys");
  check({"Keys of an op", {"/ops/3", "/ops/1", "/ops/2"}}, "kOpKeys");
}

TEST_CASE("graph: an unknown key is kept under a warning, as the page says") {
  json example = json::parse(Example(kGraphPage, "json"));
  example["ops"][1]["colour"] = "red";
  std::vector<std::string> warnings;
  const Graph graph = ParseGraph(
      example.dump(), "page", [&](const std::string& warning) { warnings.push_back(warning); });
  CHECK(warnings.size() == 1);
  CHECK(json::parse(FormatGraph(graph))["ops"][1]["colour"] == "red");
}

TEST_CASE("costs: the example has every key, is read and written the same") {
  const std::string example = Example(kCostPage, "json");
  CHECK(json::parse(FormatCostTable(ParseCostTable(example, "page"))) == json::parse(example));
}

TEST_CASE("costs: the tables name the keys that reader and writer know") {
  const json example = json::parse(Example(kCostPage, "json"));
  const auto parse = [](const std::string& text) { ParseCostTable(text, "page"); };
  const KeyTable timing = KeysOf(kCostPage, "Keys of a timing");
  const std::vector<Records> tables = {
      {"Keys of the file", {""}},
      {"Keys of a device kind", {"/device_kinds/0"}},
      {"Keys of an op", {"/ops/0", "/ops/1"}},
      {"Keys of a timing", {"/ops/0/isolated", "/ops/0/in_situ", "/ops/1/cold"}},
      {"Keys of a fit", {"/fits/0", "/fits/1"}},
      {"Keys of a link", {"/links/0"}},
      {"Keys of a point", {"/links/0/points/1", "/links/0/points/0"}},
      {"Keys of a range", {"/links/0/ranges/0", "/links/0/ranges/1"}},
      {"Keys of a dispatch record", {"/dispatch/0"}},
      {"Keys of a slowdown", {"/link_contention/0", "/interference/0"}}};
  for (const Records& records : tables) {
    CAPTURE(records.heading);
    KeyTable keys = KeysOf(kCostPage, records.heading);
    if (records.heading == "Keys of a point") keys.insert(timing.begin(), timing.end());
    CHECK(Text(NamesOf(keys)) == Text(KeysAt(example, records.places)));
    for (const std::string& place : records.places) CheckKnown(example, place, keys, parse);
  }
}

// YAML.

// The value as flow style YAML, without the entry at path `left_out`.
std::string FlowText(const ConfigNode& node,
                     const std::string& left_out = "",
                     const std::string& path = "") {
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  std::vector<std::string> parts;
  if (node.IsMap()) {
    for (const std::string& key : node.Keys()) {
      if (below(key) == left_out) continue;
      parts.push_back(
          fmt::format("{}: {}", QuoteYaml(key), FlowText(node.At(key), left_out, below(key))));
    }
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  if (node.IsSequence()) {
    for (const ConfigNode& element : node.Elements()) {
      parts.push_back(FlowText(element, left_out, below(std::to_string(parts.size()))));
    }
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  const std::string text = node.AsString();
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyz"
                                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_./") == text.npos;
  return is_plain ? text : QuoteYaml(text);
}

std::map<std::string, DeviceKind> KindsOf(const std::string& yaml) {
  const TempDir folder;
  WriteFileAtomically(folder / "kinds.yaml", yaml);
  return ReadDeviceKinds(folder.path());
}

const std::string& KindsExample() {
  static const std::string text =
      FencedBlocks(SectionOf(ReadPage(kClusterPage), "Example: device kinds"), "yaml").at(0);
  return text;
}

std::vector<std::string> ClusterExamples() {
  return FencedBlocks(SectionOf(ReadPage(kClusterPage), "Example: a cluster"), "yaml");
}

Cluster ReadExample(const std::string& yaml) {
  return ParseCluster(ConfigNode::FromString(yaml, "page"), KindsOf(KindsExample()));
}

// The choices that the reader names for a key that it does not know.
// @param map  path of the map that gets it
Names KnownKeys(const ConfigNode& root,
                const std::string& map,
                const std::function<void(const std::string&)>& parse) {
  ConfigNode changed = root;
  changed.Set(map + (map.empty() ? "" : ".") + "zzzzzzzzzzzz", "1");
  const std::string message = MessageOf<InputError>([&] { parse(FlowText(changed)); });
  const std::string mark = "choices: ";
  const size_t begin = message.find(mark);
  REQUIRE_MESSAGE(begin != std::string::npos, message);
  Names names;
  const std::string list = message.substr(begin + mark.size());
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(", ", at), list.size());
    names.insert(list.substr(at, end - at));
    at = end + 2;
  }
  return names;
}

void CheckYamlKeys(const ConfigNode& root,
                   const std::string& heading,
                   const std::string& map,
                   const std::function<void(const std::string&)>& parse) {
  CAPTURE(heading);
  CHECK_NOTHROW(parse(FlowText(root)));
  const KeyTable keys = KeysOf(kClusterPage, heading);
  CHECK(Text(NamesOf(keys)) == Text(KnownKeys(root, map, parse)));
  for (const auto& [key, is_required] : keys) {
    const std::string path = map.empty() ? key : map + "." + key;
    const std::string message = MessageOf<InputError>([&] { parse(FlowText(root, path)); });
    const bool is_missed = message.find("required key \"" + key + "\"") != std::string::npos;
    CHECK_MESSAGE(is_missed == is_required, key << ": " << message);
  }
}

TEST_CASE("cluster: the examples are read, and equal when written and read again") {
  const std::vector<std::string> examples = ClusterExamples();
  REQUIRE(examples.size() == 2);
  for (const std::string& example : examples) {
    const Cluster cluster = ReadExample(example);
    CHECK(FormatCluster(ReadExample(FormatCluster(cluster))) == FormatCluster(cluster));
  }
  const Cluster cluster = ReadExample(examples[0]);
  CHECK(cluster.num_devices() == 3);
  CHECK(cluster.route(1, 2).size() == 2);
  CHECK(cluster.channel(cluster.route(0, 1)[0]).broadcast);
  CHECK(ReadExample(examples[1]).channel(0).name == "left->*");
}

TEST_CASE("cluster: the tables name the keys that the reader knows") {
  const auto parse = [](const std::string& text) { ReadExample(text); };
  const std::vector<std::string> examples = ClusterExamples();
  const ConfigNode root = ConfigNode::FromString(examples.at(0), "page");
  CheckYamlKeys(root, "Keys of a cluster file", "", parse);
  CheckYamlKeys(root, "Keys of a device", "devices.0", parse);
  CheckYamlKeys(root, "Keys of a channel", "channels.0", parse);
  CheckYamlKeys(root, "Keys of a route", "routes.0", parse);
  CheckYamlKeys(root, "Keys of a device kind", "device_kinds.my_cpu", parse);

  ConfigNode bus = ConfigNode::FromString(examples.at(1), "page");
  CheckYamlKeys(bus, "Keys of `egress_bus`", "egress_bus", parse);
  bus = ConfigNode::FromString(FlowText(bus, "egress_bus"), "page");
  bus.Set("all_to_all", "{latency: 1us, bandwidth: 1GB/s, gap: 2us}");
  CheckYamlKeys(bus, "Keys of `all_to_all`", "all_to_all", parse);
}

// The texts in backticks up to the first full stop.
Names NamesInProse(const std::string& heading) {
  const std::string section = SectionOf(ReadPage(kClusterPage), heading);
  const std::vector<std::string> names = CodeSpans(section.substr(0, section.find('.')));
  return {names.begin(), names.end()};
}

TEST_CASE("device kinds: the example and its keys") {
  const auto kinds = KindsOf(KindsExample());
  REQUIRE(kinds.contains("k80"));
  CHECK(kinds.at("k80").issue == 4000);
  const auto parse = [](const std::string& text) { KindsOf(text); };
  const ConfigNode root = ConfigNode::FromString(KindsExample(), "page");
  CheckYamlKeys(root, "Keys of a device kind", "device_kinds.k80", parse);
  const auto known = [&](const std::string& map) {
    return Text(KnownKeys(root, "device_kinds.k80." + map, parse));
  };
  CHECK(Text(NamesInProse("Keys of `peak`")) == known("peak"));
  CHECK(Text(NamesInProse("Keys of `efficiency`")) == known("efficiency"));
  // The cost page tells the defaults for the same keys.
  const auto defaults = TableOf(SectionOf(ReadPage(kCostPage), "Default efficiencies"));
  Names named;
  for (const auto& [key, value] : defaults.at(0)) named.insert(key);
  CHECK(Text(named) == known("efficiency"));
}

TEST_CASE("placement: the example is one of the other pages' graph and cluster") {
  const Graph graph = ParseGraph(Example(kGraphPage, "json"), "graph page");
  const Cluster cluster = ReadExample(ClusterExamples().at(0));
  const std::string example = Example(kPlacementPage, "json");
  std::vector<std::string> warnings;
  const auto parse = [&](const std::string& text) {
    return ParsePlacement(text, graph, cluster, "page", [&](const std::string& warning) {
      warnings.push_back(warning);
    });
  };
  const std::vector<DeviceIndex> devices = parse(example);
  CHECK(warnings.empty());
  CHECK(devices == std::vector<DeviceIndex>{1, 1, 2, 1});
  CHECK(json::parse(FormatPlacement(devices, graph, cluster)) == json::parse(example));

  const KeyTable keys = KeysOf(kPlacementPage, "Keys of the file");
  CHECK(Text(NamesOf(keys)) == Text(KeysAt(json::parse(example), {""})));
  CHECK(Text(NamesOf(keys)) == Text(ListInSource("framework/placement/placement.cc", "kKeys")));
  CheckKnown(json::parse(example), "", keys, parse);
}

// HDF5: the page names what the committed examples hold, and the examples hold what it names.

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

// What no committed file has: only resumed and stopped runs do, and matrices that were left out.
const Names kNotInExamples = {"/config@resumed",
                              "/config@earlier_programs",
                              "/agents/<label>/checkpoint",
                              "/families/<family>/training/<label>/checkpoint",
                              "/validation/<graph>/placement"};

TEST_CASE("results: the page names all that the example files hold, with its type") {
  const std::string page = ReadPage(kResultsPage);
  std::map<std::string, std::string> type_of;  // name on the page -> type
  for (const std::string heading :
       {"Every file",
        "`/config`: how the results came about",
        "`/problem`: what was placed where",
        "`/agents/<label>`: one search",
        "`/verification` and `/validation/<graph>`: placements executed",
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
  const auto folder = SourceDir() / "scripts" / "emplace_results" / "examples";
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

TEST_CASE("every page of a format is on the list, and links lead somewhere") {
  const std::string list = ReadPage("framework/FORMATS.md");
  for (const std::string& page :
       {kGraphPage, kClusterPage, kPlacementPage, kCostPage, kResultsPage}) {
    CHECK_MESSAGE(list.find(page.substr(std::string("framework/").size())) != std::string::npos,
                  page);
    CHECK_NOTHROW(SectionOf(ReadPage(page), "History"));
  }
  int pages = 0;
  for (const char* room : {"framework", "simulator", "agents", "profilers", "configs"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(SourceDir() / room)) {
      if (entry.path().extension() != ".md") continue;
      ++pages;
      for (const std::string& target : LinkedFiles(ReadFile(entry.path()))) {
        CHECK_MESSAGE(std::filesystem::exists(entry.path().parent_path() / target),
                      entry.path().string() << ": " << target);
      }
    }
  }
  CHECK(pages >= 10);
}

}  // namespace
