// SPDX-License-Identifier: Apache-2.0
#include "p4/program/loader.h"

#include <algorithm>
#include <functional>

namespace orrery::p4 {

namespace {

constexpr uint64_t kFormat = 2;

}  // namespace

std::optional<uint32_t> TableInfo::action(const std::vector<ActionInfo>& all, std::string_view action_name) const {
  for (const uint32_t index : actions)
    if (all[index].name == action_name) return index;
  return std::nullopt;
}

std::optional<uint32_t> Program::find_table(std::string_view table_name) const {
  const auto it = std::ranges::find(tables, table_name, &TableInfo::name);
  if (it == tables.end()) return std::nullopt;
  return static_cast<uint32_t>(it - tables.begin());
}

Loader::Loader(const nlohmann::json& json) : json_(json, "") {}

std::shared_ptr<const Program> Loader::run() {
  const JsonAt version = json_["__meta__"]["version"].tuple(2)[0];
  if (version.number(0, UINT32_MAX) != kFormat) version.unsupported("a format other than 2.x");
  if (const auto externs = json_.items("extern_instances"); !externs.empty())
    externs[0].unsupported("extern " + in_quotes(externs[0]["type"].text()));
  if (const auto name = json_.find("program")) program_->name = name->text();
  load_header_types();
  load_headers();
  load_unions();
  load_stacks();
  load_standard_fields();
  load_errors();
  load_field_lists();
  load_arrays();
  load_calculations();
  load_learn_lists();
  load_value_sets();
  load_actions();
  load_parser();
  load_checksums();
  load_deparser();
  load_pipelines();
  program_->code = code_;
  return program_;
}

void Loader::load_pipelines() {
  for (const JsonAt& at : json_["pipelines"].items()) {
    const std::string name = at["name"].text();
    if (name != "ingress" && name != "egress") at["name"].unsupported("pipeline " + in_quotes(name));
    PipelineCode& out = name == "ingress" ? code_->ingress : code_->egress;
    if (!out.name.empty()) at["name"].refuse("is the name of two pipelines");
    out = load_pipeline(at);
  }
  if (code_->ingress.name.empty() || code_->egress.name.empty())
    json_["pipelines"].refuse("must have ingress and egress");
}

PipelineCode Loader::load_pipeline(const JsonAt& at) {
  PipelineCode out{.name = at["name"].text(), .nodes = {}};
  for (const JsonAt& profile : at.items("action_profiles")) load_action_profile(profile);
  const std::vector<JsonAt> tables = at.items("tables");
  const std::vector<JsonAt> conditions = at.items("conditionals");
  const std::vector<JsonAt> calls = at.items("action_calls");
  Names nodes;
  for (const auto* list : {&tables, &conditions, &calls})
    for (const JsonAt& each : *list)
      if (!nodes.emplace(each["name"].text(), nodes.size()).second)
        each["name"].refuse("is the name of two tables or conditions");
  const auto node = [&](const JsonAt& of, const char* name) {
    const auto next = of.find(name);
    return next ? static_cast<int32_t>(lookup(nodes, *next, "table or condition")) : kNone;
  };
  for (const JsonAt& table : tables) {
    load_table(table, out.name);
    load_next(table, program_->tables.back(), code_->tables.back(), nodes);
    out.nodes.push_back({Node::Kind::kTable, static_cast<uint32_t>(code_->tables.size() - 1)});
  }
  for (const JsonAt& condition : conditions) {
    std::string source;
    if (const auto info = condition.find("source_info"))
      if (const auto text = info->find("source_fragment")) source = text->text();
    code_->conditions.push_back({.name = condition["name"].text(),
                                 .source = std::move(source),
                                 .expression = operand(condition["expression"], {}, 0, Term::Type::kBool),
                                 .true_next = node(condition, "true_next"),
                                 .false_next = node(condition, "false_next")});
    out.nodes.push_back({Node::Kind::kCondition, static_cast<uint32_t>(code_->conditions.size() - 1)});
  }
  for (const JsonAt& call : calls) {
    const auto action = action_ids_.find(call["action_id"].number(0, UINT32_MAX));
    if (action == action_ids_.end()) call["action_id"].refuse("is the id of no action");
    if (!program_->actions[action->second].params.empty()) call["action_id"].refuse("must have no parameters");
    out.nodes.push_back({Node::Kind::kAction, action->second, node(call, "next_node")});
  }
  out.first = node(at, "init_table");
  check_acyclic(out, at);
  return out;
}

void Loader::check_acyclic(const PipelineCode& pipeline, const JsonAt& at) const {
  const auto successors = [&](const Node& node) {
    if (node.kind == Node::Kind::kAction) return std::vector<int32_t>{node.next};
    if (node.kind == Node::Kind::kCondition) {
      const ConditionCode& condition = code_->conditions[node.index];
      return std::vector<int32_t>{condition.true_next, condition.false_next};
    }
    const TableCode& table = code_->tables[node.index];
    std::vector<int32_t> next = table.next;
    next.insert(next.end(), {table.next_hit, table.next_miss, table.next_none});
    return next;
  };
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(pipeline.nodes.size(), Mark::kNew);
  // Nodes whose successors are being looked at, with what is left of these.
  std::vector<std::pair<size_t, std::vector<int32_t>>> open;
  for (size_t first = 0; first < marks.size(); ++first) {
    if (marks[first] != Mark::kNew) continue;
    marks[first] = Mark::kOpen;
    open.emplace_back(first, successors(pipeline.nodes[first]));
    while (!open.empty()) {
      auto& [index, left] = open.back();
      if (left.empty()) {
        marks[index] = Mark::kDone;
        open.pop_back();
        continue;
      }
      const int32_t next = left.back();
      left.pop_back();
      if (next == kNone || marks[static_cast<size_t>(next)] == Mark::kDone) continue;
      if (marks[static_cast<size_t>(next)] == Mark::kOpen) at.unsupported("a control flow that comes back to a table");
      marks[static_cast<size_t>(next)] = Mark::kOpen;
      open.emplace_back(static_cast<size_t>(next), successors(pipeline.nodes[static_cast<size_t>(next)]));
    }
  }
}

std::shared_ptr<const Program> load_program(const nlohmann::json& json) {
  return Loader(json).run();
}

}  // namespace orrery::p4
