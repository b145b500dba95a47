// SPDX-License-Identifier: Apache-2.0
// A P4 program as it runs: what the control side needs to know of it. Lists are in the order of the JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::p4 {

// A program that cannot be run. `pointer` is a JSON Pointer into it; `unsupported` whether it is right but has what
// this switch does not do, which the text names.
class ProgramError : public std::runtime_error {
 public:
  ProgramError(std::string pointer, bool unsupported, const std::string& detail)
      : std::runtime_error(detail), pointer(std::move(pointer)), unsupported(unsupported) {}

  std::string pointer;
  bool unsupported;
};

enum class MatchKind : uint8_t { kExact, kLpm, kTernary, kRange, kValid };

struct KeyField {
  std::string name;    // of the P4 program, as in P4Info
  std::string target;  // header.field
  MatchKind match;
  uint32_t width;  // bits
};

struct ActionParam {
  std::string name;
  uint32_t width;  // bits
};

// p4c writes an action once for each use: names come up more than once.
struct ActionInfo {
  std::string name;
  uint32_t id;
  std::vector<ActionParam> params;
};

struct TableInfo {
  std::string name;
  uint32_t id;
  std::string pipeline;  // ingress, egress
  std::vector<KeyField> key;
  std::vector<uint32_t> actions;           // indexes in Program::actions
  std::optional<uint32_t> action_profile;  // index in Program::action_profiles
  uint32_t max_size;
  bool needs_priority;  // ternary or range
  bool constant;        // its entries are the program's
  bool constant_default;
  std::optional<uint32_t> direct_counter;  // index in Program::counters
  std::optional<uint32_t> direct_meter;    // index in Program::meters
  bool has_idle_timeout;

  // Index in Program::actions of the table's action of this name.
  std::optional<uint32_t> action(const std::vector<ActionInfo>& all, std::string_view action_name) const;
};

struct ActionProfileInfo {
  std::string name;
  uint32_t max_size;
  bool has_selector;
};
struct CounterInfo {
  std::string name;
  bool direct;
  uint64_t size;
  std::string table;  // of a direct one
};
struct MeterInfo {
  std::string name;
  bool direct;
  uint64_t size;
  bool bytes;         // else packets
  std::string table;  // of a direct one
};
struct RegisterInfo {
  std::string name;
  uint64_t size;
  uint32_t width;  // bits
};
struct ValueSetInfo {
  std::string name;
  uint32_t width;  // bits
};
struct LearnListInfo {
  std::string name;
  uint32_t id;
  std::vector<uint32_t> widths;  // bits
};

struct Code;  // what the packet path runs

struct Program {
  std::string name;
  std::vector<TableInfo> tables;
  std::vector<ActionInfo> actions;
  std::vector<ActionProfileInfo> action_profiles;
  std::vector<CounterInfo> counters;
  std::vector<MeterInfo> meters;
  std::vector<RegisterInfo> registers;
  std::vector<ValueSetInfo> value_sets;
  std::vector<LearnListInfo> learn_lists;
  std::shared_ptr<const Code> code;

  std::optional<uint32_t> find_table(std::string_view table_name) const;
};

// BMv2 JSON, format 2.x. Throws ProgramError.
std::shared_ptr<const Program> load_program(const nlohmann::json& json);

}  // namespace orrery::p4
