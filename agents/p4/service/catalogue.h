// SPDX-License-Identifier: Apache-2.0
// P4Info joined with the program: what P4Runtime's numbers stand for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "p4/program/program.h"
#include "p4/service/messages.h"

namespace orrery::p4::service {

struct FieldSpec {
  uint32_t id;
  std::string name;
  uint32_t width;  // bits
  info::MatchField::MatchType match;
};

struct ParamSpec {
  uint32_t id;
  std::string name;
  uint32_t width;  // bits
};

struct ActionSpec {
  uint32_t id;
  std::string name;
  std::vector<ParamSpec> params;  // in the order of the program
};

// An action of one table or action profile.
struct ActionUse {
  const ActionSpec* action;
  uint32_t index;  // in Program::actions
  bool in_entries;
  bool as_default;
};

struct TableSpec {
  uint32_t id;
  std::string name;
  uint32_t index;  // in Program::tables
  std::vector<FieldSpec> fields;
  std::vector<ActionUse> actions;
  std::optional<uint32_t> profile;  // index in Catalogue::profiles
  uint32_t direct_counter = 0;      // P4Info id; 0: none
  uint32_t direct_meter = 0;
  info::CounterSpec::Unit counter_unit = info::CounterSpec::BOTH;
  bool needs_priority;
  bool is_constant;
  bool default_is_constant;
  bool has_idle_timeout;
};

struct ProfileSpec {
  uint32_t id;
  std::string name;
  uint32_t index;  // in Program::action_profiles
  std::vector<ActionUse> actions;
  bool has_selector;
  bool sum_of_members;  // else sum of weights
  int64_t size;
  int64_t max_group_size;
  int64_t max_member_weight;
};

struct CounterSpecOf {
  uint32_t id;
  std::string name;
  uint32_t index;  // in Program::counters
  info::CounterSpec::Unit unit;
};

struct MeterSpecOf {
  uint32_t id;
  std::string name;
  uint32_t index;  // in Program::meters
};

// How one number of the program is P4Data.
enum class DataForm : uint8_t { kUnsigned, kSigned, kBool, kEnum };

struct RegisterSpec {
  uint32_t id;
  std::string name;
  uint32_t index;  // in Program::registers
  uint32_t width;  // bits
  DataForm form;
};

struct ValueSetSpec {
  uint32_t id;
  std::string name;
  uint32_t index;  // in Program::value_sets
  std::vector<FieldSpec> fields;
  int64_t size;
};

// A type of a digest: a number, or a structure of such.
struct DataShape {
  DataForm form = DataForm::kUnsigned;
  uint32_t width = 0;
  bool is_struct = false;
  bool is_tuple = false;
  std::vector<DataShape> members = {};
};

struct DigestSpec {
  uint32_t id;
  std::string name;
  uint32_t index;  // in Program::learn_lists
  DataShape shape;
};

// A header that goes between controller and switch.
struct PacketHeaderSpec {
  std::string name;  // packet_in, packet_out
  std::vector<ParamSpec> fields;
  uint32_t bytes = 0;
};

class Catalogue {
 public:
  // Throws Failure: INVALID_ARGUMENT where the two do not fit together, UNIMPLEMENTED for what is not supported.
  Catalogue(const info::P4Info& p4info, const Program& program);
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  // Throw Failure with INVALID_ARGUMENT, which begins with `field`, where there is no such thing.
  const TableSpec& table(uint32_t id, const std::string& field) const;
  const ProfileSpec& profile(uint32_t id, const std::string& field) const;
  const CounterSpecOf& counter(uint32_t id, const std::string& field) const;
  const MeterSpecOf& meter(uint32_t id, const std::string& field) const;
  const RegisterSpec& register_of(uint32_t id, const std::string& field) const;
  const ValueSetSpec& value_set(uint32_t id, const std::string& field) const;
  const DigestSpec& digest(uint32_t id, const std::string& field) const;

  const ActionSpec* action(uint32_t id) const;
  // Of Program::tables.
  const TableSpec* table_at(uint32_t index) const;

  const std::vector<TableSpec>& tables() const { return tables_; }
  const std::vector<ProfileSpec>& profiles() const { return profiles_; }
  const std::vector<CounterSpecOf>& counters() const { return counters_; }
  const std::vector<MeterSpecOf>& meters() const { return meters_; }
  const std::vector<RegisterSpec>& registers() const { return registers_; }
  const std::vector<ValueSetSpec>& value_sets() const { return value_sets_; }
  const std::vector<DigestSpec>& digests() const { return digests_; }
  const PacketHeaderSpec& packet_in() const { return packet_in_; }
  const PacketHeaderSpec& packet_out() const { return packet_out_; }

 private:
  void add_actions(const info::P4Info& p4info, const Program& program);
  void add_table(const info::Table& table, const info::P4Info& p4info, const Program& program);
  void add_profile(const info::ActionProfile& profile, const info::P4Info& p4info, const Program& program);
  void add_arrays(const info::P4Info& p4info, const Program& program);
  void add_value_sets(const info::P4Info& p4info, const Program& program);
  void add_digests(const info::P4Info& p4info, const Program& program);
  void add_packet_headers(const info::P4Info& p4info);

  std::unordered_map<uint32_t, std::unique_ptr<ActionSpec>> actions_;
  std::vector<TableSpec> tables_;
  std::vector<ProfileSpec> profiles_;
  std::vector<CounterSpecOf> counters_;
  std::vector<MeterSpecOf> meters_;
  std::vector<RegisterSpec> registers_;
  std::vector<ValueSetSpec> value_sets_;
  std::vector<DigestSpec> digests_;
  PacketHeaderSpec packet_in_;
  PacketHeaderSpec packet_out_;
};

}  // namespace orrery::p4::service
