// SPDX-License-Identifier: Apache-2.0
#include "core/graph_spec.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/module_kinds.h"
#include "nfs/metadata_fields.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

constexpr std::string_view kShape = "bad-request";
constexpr std::string_view kGraph = "invalid-graph";

std::string at(const char* list, size_t i) {
  return "/" + std::string(list) + "/" + std::to_string(i);
}

// A path becomes part of a device argument, in which these characters have a meaning.
std::string path_or_none(JsonFields& fields, const char* name) {
  const nlohmann::json* value = fields.optional(name);
  if (value == nullptr || value->is_null()) return {};
  std::string path = fields.string(name, 1024);
  if (path.find_first_of(",=[]\"\n") != std::string::npos) fields.fail(name, "must not contain , = [ ] \" or newline");
  return path;
}

std::string interface_name(JsonFields& fields) {
  std::string name = fields.string("iface", 15);
  if (name.find_first_of(",=[]/ ") != std::string::npos) fields.fail("iface", "is not the name of an interface");
  return name;
}

PortSpec parse_port(const nlohmann::json& value, const std::string& pointer) {
  JsonFields fields(value, pointer, kShape);
  PortSpec port;
  port.name = fields.id("name");
  const std::string driver = fields.string("driver", 32);
  if (driver == "af_packet") {
    port.driver = PortSpec::Driver::kAfPacket;
    port.iface = interface_name(fields);
  } else if (driver == "af_xdp") {
    port.driver = PortSpec::Driver::kAfXdp;
    port.iface = interface_name(fields);
  } else if (driver == "memif") {
    port.driver = PortSpec::Driver::kMemif;
    port.socket = fields.id("socket");
    const std::string role = fields.string("role", 6);
    port.server = role == "server";
    if (!port.server && role != "client") fields.fail("role", "must be server or client");
  } else if (driver == "ring") {
    port.driver = PortSpec::Driver::kRing;
  } else if (driver == "null") {
    port.driver = PortSpec::Driver::kNull;
    port.copy = fields.boolean_or("copy", false);
    port.packet_bytes = static_cast<uint16_t>(fields.integer_or("packet_bytes", 60, 1500, 60));
  } else if (driver == "pcap") {
    port.driver = PortSpec::Driver::kPcap;
    port.rx_file = path_or_none(fields, "rx_file");
    port.tx_file = path_or_none(fields, "tx_file");
    if (port.rx_file.empty() && port.tx_file.empty())
      throw EngineError(kGraph, pointer + "/rx_file", "rx_file or tx_file must name a file");
  } else {
    throw EngineError(kGraph, pointer + "/driver", "there is no port driver " + driver);
  }
  fields.done();
  return port;
}

const ModuleKind* find_kind(std::string_view name, std::span<const ModuleKind* const> more_kinds) {
  const auto it = std::ranges::find(more_kinds, name, &ModuleKind::name);
  return it == more_kinds.end() ? find_module_kind(name) : *it;
}

ModuleSpec parse_module(const nlohmann::json& value, const std::string& pointer,
                        std::span<const ModuleKind* const> more_kinds) {
  JsonFields fields(value, pointer, kShape);
  ModuleSpec module;
  module.name = fields.id("name");
  const std::string kind = fields.string("kind", 64);
  module.kind = find_kind(kind, more_kinds);
  if (module.kind == nullptr) throw EngineError(kGraph, pointer + "/kind", "there is no module kind " + kind);
  module.config = fields.object("config");
  if (is_nf(*module.kind))
    if (const nlohmann::json* metadata = fields.optional("metadata"); metadata != nullptr)
      module.metadata = parse_metadata(*metadata, fields.pointer_to("metadata"), kShape);
  fields.done();
  return module;
}

class Checker {
 public:
  Checker(GraphSpec& spec, uint32_t workers) : spec_(spec), workers_(workers), out_(spec.modules.size()) {}

  void run() {
    check_links();
    check_cycles();
    check_tasks();
    assign_workers();
  }

 private:
  using Role = ModuleKind::Role;

  Role role(size_t module) const { return spec_.modules[module].kind->role; }

  void check_links() {
    std::set<std::pair<size_t, uint8_t>> used;
    for (size_t i = 0; i < spec_.links.size(); ++i) {
      const LinkSpec& link = spec_.links[i];
      const ModuleSpec& from = spec_.modules[link.from];
      const ModuleSpec& to = spec_.modules[link.to];
      if (link.gate >= from.kind->gates)
        throw EngineError(
            kGraph, at("links", i) + "/gate",
            from.name + " (" + std::string(from.kind->name) + ") has no output gate " + std::to_string(link.gate));
      if (link.input >= to.kind->inputs)
        throw EngineError(kGraph, at("links", i) + "/input",
                          to.name + " (" + std::string(to.kind->name) + ") has no input " + std::to_string(link.input));
      if (!used.emplace(link.from, link.gate).second)
        throw EngineError(kGraph, at("links", i) + "/gate",
                          "gate " + std::to_string(link.gate) + " of " + from.name + " is linked already");
      out_[link.from].push_back(i);
    }
  }

  // Kahn's method over all edges but those that leave a queue, for there a new pass begins.
  void check_cycles() {
    std::vector<size_t> incoming(spec_.modules.size(), 0);
    for (const LinkSpec& link : spec_.links)
      if (role(link.from) != Role::kQueue) ++incoming[link.to];
    std::vector<size_t> sorted;
    for (size_t m = 0; m < incoming.size(); ++m)
      if (incoming[m] == 0) sorted.push_back(m);
    for (size_t done = 0; done < sorted.size(); ++done) {
      const size_t m = sorted[done];
      if (role(m) == Role::kQueue) continue;
      for (size_t link : out_[m])
        if (--incoming[spec_.links[link].to] == 0) sorted.push_back(spec_.links[link].to);
    }
    if (sorted.size() == spec_.modules.size()) return;
    throw EngineError(kGraph, at("links", link_on_cycle(incoming)),
                      "the links from here lead back to here without a queue between");
  }

  // From a module that has unsorted predecessors, walking backwards must meet a module twice: that one is on a cycle.
  size_t link_on_cycle(const std::vector<size_t>& incoming) const {
    std::vector<size_t> link_into(spec_.modules.size(), SIZE_MAX);
    for (size_t i = 0; i < spec_.links.size(); ++i) {
      const LinkSpec& link = spec_.links[i];
      if (role(link.from) != Role::kQueue && incoming[link.from] != 0 && incoming[link.to] != 0) link_into[link.to] = i;
    }
    size_t module = 0;
    while (incoming[module] == 0) ++module;
    std::vector<bool> seen(spec_.modules.size(), false);
    while (!seen[module]) {
      seen[module] = true;
      module = spec_.links[link_into[module]].from;
    }
    return link_into[module];
  }

  void check_tasks() {
    std::vector<bool> has_task(spec_.modules.size(), false);
    for (size_t i = 0; i < spec_.tasks.size(); ++i) {
      const TaskSpec& task = spec_.tasks[i];
      const ModuleSpec& module = spec_.modules[task.module];
      if (module.kind->role == Role::kStep)
        throw EngineError(kGraph, at("tasks", i) + "/module",
                          "a " + std::string(module.kind->name) + " does not start a task");
      if (has_task[task.module])
        throw EngineError(kGraph, at("tasks", i) + "/module", module.name + " has a task already");
      if (task.worker >= workers_)
        throw EngineError(kGraph, at("tasks", i) + "/worker",
                          "there are " + std::to_string(workers_) + " workers, counted from 0");
      has_task[task.module] = true;
    }
    for (size_t m = 0; m < has_task.size(); ++m)
      if (role(m) != Role::kStep && !has_task[m])
        throw EngineError(kGraph, at("modules", m), spec_.modules[m].name + " is in no task, so it would never run");
  }

  void assign_workers() {
    spec_.workers.assign(spec_.modules.size(), kNoWorker);
    for (const TaskSpec& task : spec_.tasks) spec_.workers[task.module] = task.worker;
    for (size_t i = 0; i < spec_.tasks.size(); ++i) {
      std::vector<size_t> ahead{spec_.tasks[i].module};
      std::set<size_t> seen{spec_.tasks[i].module};
      while (!ahead.empty()) {
        const size_t m = ahead.back();
        ahead.pop_back();
        for (size_t link : out_[m]) visit(spec_.links[link].to, i, ahead, seen);
      }
    }
  }

  void visit(size_t module, size_t task, std::vector<size_t>& ahead, std::set<size_t>& seen) {
    const uint32_t worker = spec_.tasks[task].worker;
    uint32_t& owner = spec_.workers[module];
    if (role(module) == Role::kQueue) return;
    if (owner != kNoWorker && owner != worker)
      throw EngineError(kGraph, at("tasks", task) + "/worker",
                        spec_.modules[module].name + " is reached from workers " + std::to_string(owner) + " and " +
                            std::to_string(worker) + "; put a queue before it");
    owner = worker;
    if (seen.insert(module).second) ahead.push_back(module);
  }

  GraphSpec& spec_;
  uint32_t workers_;
  std::vector<std::vector<size_t>> out_;  // by module: indices of links
};

void parse_schedulers(GraphSpec& spec, const nlohmann::json& schedulers, uint32_t workers,
                      const std::map<std::string, size_t>& by_name) {
  const FindTask find_task = [&](const std::string& module, uint32_t worker, const std::string& pointer) {
    const auto it = by_name.find(module);
    if (it == by_name.end()) throw EngineError(kGraph, pointer, "there is no module " + module);
    const auto task = std::ranges::find(spec.tasks, it->second, &TaskSpec::module);
    if (task == spec.tasks.end()) throw EngineError(kGraph, pointer, module + " does not start a task");
    if (task->worker != worker)
      throw EngineError(kGraph, pointer,
                        module + " is a task of worker " + std::to_string(task->worker) + ", not of this one");
    return it->second;
  };
  std::set<uint32_t> with_tree;
  for (size_t i = 0; i < schedulers.size(); ++i) {
    spec.schedulers.push_back(parse_schedule_tree(schedulers[i], at("schedulers", i), workers, find_task));
    if (!with_tree.insert(spec.schedulers.back().worker).second)
      throw EngineError(kGraph, at("schedulers", i) + "/worker", "the worker has a tree already");
  }
}

}  // namespace

GraphSpec parse_graph(const nlohmann::json& params, uint32_t workers, std::span<const ModuleKind* const> more_kinds) {
  JsonFields fields(params, "", kShape);
  GraphSpec spec;
  spec.generation = static_cast<uint64_t>(fields.integer("generation", 0, INT64_C(9007199254740991)));

  const nlohmann::json& ports = fields.array("ports", 0, 64);
  std::set<std::string> port_names, ifaces;
  for (size_t i = 0; i < ports.size(); ++i) {
    spec.ports.push_back(parse_port(ports[i], at("ports", i)));
    const PortSpec& port = spec.ports.back();
    if (!port_names.insert(port.name).second)
      throw EngineError(kGraph, at("ports", i) + "/name", "another port has the name " + port.name);
    if (!port.iface.empty() && !ifaces.insert(port.iface).second)
      throw EngineError(kGraph, at("ports", i) + "/iface", "another port uses the interface " + port.iface);
  }

  const nlohmann::json& modules = fields.array("modules", 0, 4096);
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < modules.size(); ++i) {
    spec.modules.push_back(parse_module(modules[i], at("modules", i), more_kinds));
    const std::string& name = spec.modules.back().name;
    if (!by_name.emplace(name, i).second)
      throw EngineError(kGraph, at("modules", i) + "/name", "another module has the name " + name);
  }
  const auto module_named = [&](JsonFields& from, const char* field) {
    const std::string name = from.id(field);
    const auto it = by_name.find(name);
    if (it == by_name.end()) throw EngineError(kGraph, from.pointer_to(field), "there is no module " + name);
    return it->second;
  };

  const nlohmann::json& links = fields.array("links", 0, 16384);
  for (size_t i = 0; i < links.size(); ++i) {
    JsonFields link(links[i], at("links", i), kShape);
    LinkSpec parsed{};
    parsed.from = module_named(link, "from");
    parsed.gate = static_cast<uint8_t>(link.integer("gate", 0, 255));
    parsed.to = module_named(link, "to");
    parsed.input = static_cast<uint8_t>(link.integer_or("input", 0, 255, 0));
    link.done();
    spec.links.push_back(parsed);
  }

  const nlohmann::json& tasks = fields.array("tasks", 0, 4096);
  for (size_t i = 0; i < tasks.size(); ++i) {
    JsonFields task(tasks[i], at("tasks", i), kShape);
    TaskSpec parsed{};
    parsed.module = module_named(task, "module");
    parsed.worker = static_cast<uint32_t>(task.integer_or("worker", 0, UINT32_MAX - 1, 0));
    task.done();
    spec.tasks.push_back(parsed);
  }
  const nlohmann::json& schedulers = fields.array_or_empty("schedulers", 256);
  fields.done();
  Checker(spec, workers).run();
  parse_schedulers(spec, schedulers, workers, by_name);
  return spec;
}

}  // namespace orrery
