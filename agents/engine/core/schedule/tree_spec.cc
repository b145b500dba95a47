// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/tree_spec.h"

#include <map>
#include <set>

#include "support/errors.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

constexpr std::string_view kShape = "bad-request";
constexpr std::string_view kGraph = "invalid-graph";

// Wider than any weight that a plan derives from loads.
constexpr double kMinWeight = 1e-15;
constexpr double kMaxWeight = 1e15;
constexpr int64_t kMaxLevel = UINT32_MAX;

using Below = PolicyKind::Below;

class TreeParser {
 public:
  TreeParser(const std::string& pointer, uint32_t worker, const FindTask& find_task)
      : pointer_(pointer), find_task_(find_task), tree_{.worker = worker, .nodes = {}} {}

  void add(const nlohmann::json& value) {
    const size_t index = tree_.nodes.size();
    JsonFields fields(value, pointer_ + "/" + std::to_string(index), kShape);
    ScheduleNodeSpec node{};
    const std::string kind = fields.string("kind", 32);
    node.policy = find_policy_kind(kind);
    if (node.policy == nullptr && kind != "task") refuse(fields, "kind", "there is no policy " + kind);
    node.id = fields.id("id");
    if (!index_.emplace(node.id, index).second) refuse(fields, "id", "another node has the id " + node.id);
    const Below place = place_of(fields, node);
    node.weight = weight_of(fields, place == Below::kWeight);
    node.level = level_of(fields, place == Below::kLevel);
    if (node.policy == nullptr) {
      node.module = task_of(fields);
    } else {
      node.make = node.policy->parse(fields);
    }
    fields.done();
    tree_.nodes.push_back(std::move(node));
  }

  ScheduleTreeSpec take() { return std::move(tree_); }

 private:
  [[noreturn]] static void refuse(const JsonFields& fields, const char* name, const std::string& detail) {
    throw EngineError(kGraph, fields.pointer_to(name), detail);
  }

  // Finds the parent; what it wants of the nodes below it.
  Below place_of(JsonFields& fields, ScheduleNodeSpec& node) {
    const bool first = tree_.nodes.empty();
    if (fields.required("parent").is_null()) {
      if (!first) refuse(fields, "parent", "only the first node is the root");
      depth_.push_back(1);
      return Below::kNothing;
    }
    const std::string parent = fields.id("parent");
    const auto it = index_.find(parent);
    if (it == index_.end() || it->second >= tree_.nodes.size())
      refuse(fields, "parent", "there is no node " + parent + " before this one");
    node.parent = it->second;
    const ScheduleNodeSpec& above = tree_.nodes[node.parent];
    if (above.policy == nullptr) refuse(fields, "parent", parent + " is a task");
    depth_.push_back(depth_[node.parent] + 1);
    if (depth_.back() > kMaxScheduleDepth)
      refuse(fields, "parent", "the tree is deeper than " + std::to_string(kMaxScheduleDepth) + " nodes");
    return above.policy->below;
  }

  static double weight_of(JsonFields& fields, bool wanted) {
    const bool given = !fields.required("weight").is_null();
    if (given != wanted)
      refuse(fields, "weight",
             wanted ? "is required below weighted-fair" : "must be null: the parent is not weighted-fair");
    if (!given) return 1;
    const double weight = fields.number_or("weight", 0, 0);
    if (weight < kMinWeight || weight > kMaxWeight) fields.fail("weight", "must be a number from 1e-15 to 1e15");
    return weight;
  }

  static uint32_t level_of(JsonFields& fields, bool wanted) {
    const bool given = !fields.required("level").is_null();
    if (given != wanted)
      refuse(fields, "level", wanted ? "is required below priority" : "must be null: the parent is not priority");
    return given ? static_cast<uint32_t>(fields.integer("level", 0, kMaxLevel)) : 0;
  }

  size_t task_of(JsonFields& fields) {
    const std::string module = fields.id("module");
    const size_t index = find_task_(module, tree_.worker, fields.pointer_to("module"));
    if (!tasks_.insert(index).second) refuse(fields, "module", "the tree has " + module + " already");
    return index;
  }

  const std::string& pointer_;
  const FindTask& find_task_;
  ScheduleTreeSpec tree_;
  std::map<std::string, size_t> index_;  // by id
  std::vector<size_t> depth_;            // by node
  std::set<size_t> tasks_;
};

}  // namespace

ScheduleTreeSpec parse_schedule_tree(const nlohmann::json& value, const std::string& pointer, uint32_t workers,
                                     const FindTask& find_task) {
  JsonFields fields(value, pointer, kShape);
  const auto worker = static_cast<uint32_t>(fields.integer("worker", 0, UINT32_MAX - 1));
  if (worker >= workers)
    throw EngineError(kGraph, fields.pointer_to("worker"),
                      "there are " + std::to_string(workers) + " workers, counted from 0");
  const std::string nodes_pointer = fields.pointer_to("tree");
  TreeParser parser(nodes_pointer, worker, find_task);
  for (const nlohmann::json& node : fields.array("tree", 1, 4096)) parser.add(node);
  fields.done();
  return parser.take();
}

}  // namespace orrery
