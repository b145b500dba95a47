// SPDX-License-Identifier: Apache-2.0
// Members and groups of an action profile. The control side's calls: under Pipeline::control().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "p4/core/control_error.h"
#include "p4/core/entry.h"
#include "p4/program/code.h"
#include "p4/program/program.h"

namespace orrery::p4 {

struct GroupMember {
  uint32_t member = 0;
  uint32_t weight = 1;  // times that the member counts in the choice
  bool active = true;   // one that is not (its watch port is down) is passed over

  bool operator==(const GroupMember&) const = default;
};

class ActionProfile {
 public:
  static constexpr uint32_t kMaxChoices = 1 << 16;  // of a group: the sum of its weights

  ActionProfile(const Program& program, uint32_t index);

  // Numbers are the caller's. Actions must be those of each table with this profile.
  void insert_member(uint32_t id, const ActionCall& call);
  void modify_member(uint32_t id, const ActionCall& call);
  void remove_member(uint32_t id);  // kInUse while a group or an entry names it
  std::optional<ActionCall> member(uint32_t id) const;
  void each_member(const std::function<void(uint32_t)>& visit) const;

  // Refused where the profile has no selector. A group without active members acts as a miss.
  void insert_group(uint32_t id, std::vector<GroupMember> members);
  void modify_group(uint32_t id, std::vector<GroupMember> members);
  void remove_group(uint32_t id);  // kInUse while an entry names it
  const std::vector<GroupMember>* group(uint32_t id) const;
  void each_group(const std::function<void(uint32_t)>& visit) const;

  // For tables, by the number of the slot that stays as long as an entry has taken it.
  struct Member {
    uint32_t id = 0;
    uint32_t action = 0;
    std::vector<uint64_t> args;
    ActionCall call;
    uint32_t users = 0;
  };
  struct Group {
    uint32_t id = 0;
    std::vector<GroupMember> members;
    std::vector<uint32_t> choices;  // slots of members
    uint32_t users = 0;
  };
  uint32_t take_member(uint32_t id);
  uint32_t take_group(uint32_t id);
  void release_member(uint32_t slot) { members_[slot].users -= 1; }
  void release_group(uint32_t slot) { groups_[slot].users -= 1; }
  const Member& member_at(uint32_t slot) const { return members_[slot]; }
  const Group& group_at(uint32_t slot) const { return groups_[slot]; }

 private:
  uint32_t member_slot(uint32_t id) const;
  uint32_t group_slot(uint32_t id) const;
  void set_member(Member& member, const ActionCall& call) const;
  std::vector<uint32_t> choices_of(const std::vector<GroupMember>& members) const;
  void count_members(const std::vector<GroupMember>& members, int32_t by);
  size_t size() const { return member_slots_.size(); }

  const Program& program_;
  const ActionProfileInfo& info_;
  std::vector<uint32_t> actions_;  // of the tables
  std::map<uint32_t, uint32_t> member_slots_;
  std::map<uint32_t, uint32_t> group_slots_;
  std::vector<Member> members_;
  std::vector<Group> groups_;
  std::vector<uint32_t> free_members_;
  std::vector<uint32_t> free_groups_;
};

}  // namespace orrery::p4
