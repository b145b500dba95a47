// SPDX-License-Identifier: Apache-2.0
#include "p4/core/action_profile.h"

#include <algorithm>

#include "p4/core/action_data.h"
#include "p4/core/in_quotes.h"

namespace orrery::p4 {

namespace {

std::string numbered(const char* what, uint32_t id) {
  return std::string(what) + ' ' + std::to_string(id);
}

template <class T>
uint32_t free_slot(std::vector<T>& slots, std::vector<uint32_t>& unused) {
  if (unused.empty()) {
    slots.emplace_back();
    return static_cast<uint32_t>(slots.size() - 1);
  }
  const uint32_t slot = unused.back();
  unused.pop_back();
  return slot;
}

}  // namespace

std::vector<uint64_t> action_words(const Program& program, const ActionCall& call) {
  if (call.action >= program.actions.size())
    throw ControlError(Refusal::kInvalid, numbered("there is no action", call.action));
  const ActionInfo& info = program.actions[call.action];
  const ActionCode& code = program.code->actions[call.action];
  if (call.args.size() != info.params.size())
    throw ControlError(Refusal::kInvalid, "action " + info.name + " has " + std::to_string(info.params.size()) +
                                              " parameters, not " + std::to_string(call.args.size()));
  std::vector<uint64_t> words(code.args_size);
  for (size_t i = 0; i < call.args.size(); ++i)
    if (!to_words(call.args[i], info.params[i].width, &words[code.arg_words[i]]))
      throw ControlError(Refusal::kInvalid, "parameter " + info.params[i].name + " of action " + info.name +
                                                " has more than " + std::to_string(info.params[i].width) + " bits");
  return words;
}

ActionProfile::ActionProfile(const Program& program, uint32_t index)
    : program_(program), info_(program.action_profiles[index]) {
  bool first = true;
  for (const TableInfo& table : program.tables) {
    if (table.action_profile != index) continue;
    if (first) {
      actions_ = table.actions;
    } else {
      std::erase_if(actions_,
                    [&](uint32_t each) { return std::ranges::find(table.actions, each) == table.actions.end(); });
    }
    first = false;
  }
}

uint32_t ActionProfile::member_slot(uint32_t id) const {
  const auto it = member_slots_.find(id);
  if (it == member_slots_.end())
    throw ControlError(Refusal::kNotFound, numbered("there is no member", id) + " in " + in_quotes(info_.name));
  return it->second;
}

uint32_t ActionProfile::group_slot(uint32_t id) const {
  const auto it = group_slots_.find(id);
  if (it == group_slots_.end())
    throw ControlError(Refusal::kNotFound, numbered("there is no group", id) + " in " + in_quotes(info_.name));
  return it->second;
}

void ActionProfile::set_member(Member& member, const ActionCall& call) const {
  std::vector<uint64_t> words = action_words(program_, call);
  if (std::ranges::find(actions_, call.action) == actions_.end())
    throw ControlError(Refusal::kInvalid, in_quotes(program_.actions[call.action].name) +
                                              " is not an action of the tables of " + in_quotes(info_.name));
  member.action = call.action;
  member.args = std::move(words);
  member.call = call;
}

void ActionProfile::insert_member(uint32_t id, const ActionCall& call) {
  if (member_slots_.contains(id))
    throw ControlError(Refusal::kAlreadyExists, numbered("member", id) + " is there already");
  if (info_.max_size != 0 && size() >= info_.max_size)
    throw ControlError(Refusal::kFull, info_.name + " has its " + std::to_string(info_.max_size) + " members");
  Member member{.id = id, .args = {}, .call = {}};
  set_member(member, call);
  const uint32_t slot = free_slot(members_, free_members_);
  members_[slot] = std::move(member);
  member_slots_.emplace(id, slot);
}

void ActionProfile::modify_member(uint32_t id, const ActionCall& call) {
  set_member(members_[member_slot(id)], call);
}

void ActionProfile::remove_member(uint32_t id) {
  const uint32_t slot = member_slot(id);
  if (members_[slot].users != 0)
    throw ControlError(Refusal::kInUse, numbered("member", id) + " is named by a group or an entry");
  member_slots_.erase(id);
  free_members_.push_back(slot);
}

std::optional<ActionCall> ActionProfile::member(uint32_t id) const {
  const auto it = member_slots_.find(id);
  if (it == member_slots_.end()) return std::nullopt;
  return members_[it->second].call;
}

void ActionProfile::each_member(const std::function<void(uint32_t)>& visit) const {
  for (const auto& [id, slot] : member_slots_) visit(id);
}

std::vector<uint32_t> ActionProfile::choices_of(const std::vector<GroupMember>& members) const {
  if (!info_.has_selector) throw ControlError(Refusal::kInvalid, info_.name + " has no selector, hence no groups");
  std::vector<uint32_t> choices;
  uint64_t sum = 0;
  for (const GroupMember& each : members) {
    const uint32_t slot = member_slot(each.member);
    if (each.weight == 0) throw ControlError(Refusal::kInvalid, numbered("member", each.member) + " has weight 0");
    sum += each.weight;
    if (sum > kMaxChoices)
      throw ControlError(Refusal::kFull, "a group has at most " + std::to_string(kMaxChoices) + " weights");
    if (each.active) choices.insert(choices.end(), each.weight, slot);
  }
  return choices;
}

void ActionProfile::count_members(const std::vector<GroupMember>& members, int32_t by) {
  for (const GroupMember& each : members) members_[member_slot(each.member)].users += static_cast<uint32_t>(by);
}

void ActionProfile::insert_group(uint32_t id, std::vector<GroupMember> members) {
  std::vector<uint32_t> choices = choices_of(members);
  if (group_slots_.contains(id))
    throw ControlError(Refusal::kAlreadyExists, numbered("group", id) + " is there already");
  if (info_.max_size != 0 && group_slots_.size() >= info_.max_size)
    throw ControlError(Refusal::kFull, info_.name + " has its " + std::to_string(info_.max_size) + " groups");
  count_members(members, 1);
  const uint32_t slot = free_slot(groups_, free_groups_);
  groups_[slot] = {id, std::move(members), std::move(choices), 0};
  group_slots_.emplace(id, slot);
}

void ActionProfile::modify_group(uint32_t id, std::vector<GroupMember> members) {
  Group& group = groups_[group_slot(id)];
  std::vector<uint32_t> choices = choices_of(members);
  count_members(members, 1);
  count_members(group.members, -1);
  group.members = std::move(members);
  group.choices = std::move(choices);
}

void ActionProfile::remove_group(uint32_t id) {
  const uint32_t slot = group_slot(id);
  if (groups_[slot].users != 0) throw ControlError(Refusal::kInUse, numbered("group", id) + " is named by an entry");
  count_members(groups_[slot].members, -1);
  groups_[slot] = {};
  group_slots_.erase(id);
  free_groups_.push_back(slot);
}

const std::vector<GroupMember>* ActionProfile::group(uint32_t id) const {
  const auto it = group_slots_.find(id);
  return it == group_slots_.end() ? nullptr : &groups_[it->second].members;
}

void ActionProfile::each_group(const std::function<void(uint32_t)>& visit) const {
  for (const auto& [id, slot] : group_slots_) visit(id);
}

uint32_t ActionProfile::take_member(uint32_t id) {
  const uint32_t slot = member_slot(id);
  members_[slot].users += 1;
  return slot;
}

uint32_t ActionProfile::take_group(uint32_t id) {
  const uint32_t slot = group_slot(id);
  groups_[slot].users += 1;
  return slot;
}

}  // namespace orrery::p4
