// framework/cluster/FORMAT.md against reader and writer: clusters and device kinds.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/cluster/cluster_io.h"
#include "tests/framework/cluster/cluster_page.h"
#include "tests/framework/format_pages.h"
#include "tests/support/pages.h"
#include "tests/support/paths.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

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
    const Cluster cluster = ReadClusterExample(example);
    CHECK(FormatCluster(ReadClusterExample(FormatCluster(cluster))) == FormatCluster(cluster));
  }
  const Cluster cluster = ReadClusterExample(examples[0]);
  CHECK(cluster.num_devices() == 3);
  CHECK(cluster.route(1, 2).size() == 2);
  CHECK(cluster.channel(cluster.route(0, 1)[0]).broadcast);
  CHECK(ReadClusterExample(examples[1]).channel(0).name == "left->*");
}

TEST_CASE("cluster: the tables name the keys that the reader knows") {
  const auto parse = [](const std::string& text) { ReadClusterExample(text); };
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
  CHECK(Text(NamesInProse("Keys of `interference`")) == known("interference"));
  CheckYamlKeys(root, "Keys of `interference`", "device_kinds.k80.interference.elementwise", parse);
  // The cost page tells the defaults for the same keys.
  const auto defaults = TableOf(SectionOf(ReadPage(kCostPage), "Default efficiencies"));
  Names named;
  for (const auto& [key, value] : defaults.at(0)) named.insert(key);
  CHECK(Text(named) == known("efficiency"));
}

// As JSON, which is YAML, too.
nlohmann::json JsonOf(const ConfigNode& node) {
  nlohmann::json json;
  if (node.IsMap()) {
    json = nlohmann::json::object();
    for (const std::string& key : node.Keys()) json[key] = JsonOf(node.At(key));
  } else if (node.IsSequence()) {
    json = nlohmann::json::array();
    for (const ConfigNode& element : node.Elements()) json.push_back(JsonOf(element));
  } else {
    const std::string text = node.AsString();
    json = nlohmann::json::accept(text) ? nlohmann::json::parse(text) : nlohmann::json(text);
  }
  return json;
}

TEST_CASE("cluster: a key left out is its default on the page") {
  using nlohmann::json;
  const auto read = [](const std::string& text) { return FormatCluster(ReadClusterExample(text)); };
  const auto example = [](int i) {
    return JsonOf(ConfigNode::FromString(ClusterExamples().at(i), "page"));
  };
  const std::map<std::string, json> other = {
      {"latency", "7us"},
      {"setup", "7us"},
      {"gap", "7us"},
      {"broadcast", true},
      {"occupies", "source"},
      {"memory", "7GiB"},
      {"slots", 7},
      {"overhead", "7us"},
      {"issue", "7us"},
      {"launch", "7us"},
      {"cold_read", "7GB/s"},
      {"interference", {{"matmul", {{"pressure", 0.5}}}}},
      {"efficiency", {{"matmul", 0.5}}},
      {"multiprocessors", 7},
      {"power", 7},
      {"fitted",
       {{"dtype", "f32"},
        {"watts", 7},
        {"tile_start", 7},
        {"tiles", {{{"rows", 7}, {"columns", 7}, {"share", 0.5}}}},
        {"bandwidth", {{"matmul", 0.5}}},
        {"start", "7us"},
        {"error", 0.5}}},
      {"source", "a text"},
      {"sensitivity", 0.5},
      {"pressure", 0.5}};
  const auto check = [&](const json& document,
                         const std::string& place,
                         const std::string& heading,
                         decltype(DefaultsHelp::words) words = {}) {
    CheckDefaults(document, {place}, DefaultsOf(kClusterPage, heading), {words, other}, read);
  };
  const decltype(DefaultsHelp::words) kind_words = {{"peak", json::object()},
                                                    {"memory_bandwidth", {}},
                                                    {"cold_read", {}},
                                                    {"interference", json::object()},
                                                    {"efficiency", json::object()},
                                                    {"multiprocessors", {}},
                                                    {"power", {}},
                                                    {"fitted", {}}};
  json first = example(0);
  check(first, "/devices/0", "Keys of a device", {{"memory", {}}});
  check(first, "/channels/0", "Keys of a channel");
  CHECK(DefaultsOf(kClusterPage, "Keys of a route").empty());
  first["device_kinds"]["my_cpu"]["multiprocessors"] = 7;  // without both a fit is refused
  first["device_kinds"]["my_cpu"]["power"] = 7;
  check(first, "/device_kinds/my_cpu", "Keys of a device kind", kind_words);
  first["device_kinds"]["my_cpu"]["interference"]["copy"] = {{"sensitivity", 1}, {"pressure", 1}};
  check(first, "/device_kinds/my_cpu/interference/copy", "Keys of `interference`");

  json second = example(1);
  second["egress_bus"].erase("broadcast");
  check(second, "/egress_bus", "Keys of `egress_bus`");
  second["all_to_all"] = {{"bandwidth", "1GB/s"}};
  second.erase("egress_bus");
  check(second, "/all_to_all", "Keys of `all_to_all`");

  const json small = {
      {"name", "small"},
      {"devices", {{{"name", "a"}, {"kind", "k80"}}, {{"name", "b"}, {"kind", "k80"}}}},
      {"channels", {{{"name", "c"}, {"bandwidth", "1GB/s"}}}}};
  CheckDefaults(small,
                {""},
                DefaultsOf(kClusterPage, "Keys of a cluster file"),
                {.words = {{"channels", json::array()},
                           {"routes", json::array()},
                           {"all_to_all", {}},
                           {"egress_bus", {}},
                           {"shares", json::array()},
                           {"device_kinds", json::object()}},
                 .other = {{"routes", {{{"from", "a"}, {"to", "b"}, {"via", {"c"}}}}},
                           {"all_to_all", {{"bandwidth", "1GB/s"}}},
                           {"egress_bus", {{"bandwidth", "1GB/s"}}},
                           {"shares", {"*"}},
                           {"device_kinds", {{"k80", {{"class", "cpu"}}}}}}},
                read);
}

}  // namespace
