// SPDX-License-Identifier: Apache-2.0
#include "p4/service/profiles.h"

#include <set>

#include "p4/service/table_codec.h"
#include "p4/service/values.h"

namespace orrery::p4::service {
namespace {

std::string owner_of(const ProfileSpec& profile) {
  return "action profile \"" + profile.name + '"';
}

// An action profile with what belongs to it.
struct Profile {
  Profile(Context& context, const ProfileSpec& spec)
      : spec(spec),
        control(context.control().action_profile(spec.index)),
        notes(context.instance.profiles[static_cast<size_t>(&spec - context.instance.catalogue.profiles().data())]) {}
  Profile(Context& context, uint32_t id, const std::string& field)
      : Profile(context, context.instance.catalogue.profile(id, field)) {}

  const ProfileSpec& spec;
  ActionProfile& control;
  ProfileNotes& notes;
};

std::vector<GroupMember> in_choice(const std::vector<WatchedMember>& members, const PortsUp& up) {
  std::vector<GroupMember> out;
  out.reserve(members.size());
  for (const WatchedMember& each : members)
    out.push_back({each.member, each.weight, !each.watch_port || up.contains(*each.watch_port)});
  return out;
}

// `Watched` has a weight and the two forms of a watch port.
template <typename Watched>
WatchedMember watched(const Watched& each, const std::string& field) {
  if (each.weight() <= 0) refuse(Code::INVALID_ARGUMENT, field + ".weight: must be above 0");
  WatchedMember member{.member = 0, .weight = static_cast<uint32_t>(each.weight()), .watch_port = {}};
  switch (each.watch_kind_case()) {
    case Watched::kWatchPort:
      if (!each.watch_port().empty()) member.watch_port = to_u32(each.watch_port(), field + ".watch_port");
      break;
    case Watched::kWatch:
      if (each.watch() < 0) refuse(Code::INVALID_ARGUMENT, field + ".watch: must not be negative");
      member.watch_port = static_cast<uint32_t>(each.watch());
      break;
    default:
      break;
  }
  return member;
}

// Watch ports in the shortest form, as they are read.
template <typename List>
void shorten_watch_ports(List& list) {
  for (auto& each : list)
    if (!each.watch_port().empty()) each.set_watch_port(std::string(shortest(each.watch_port())));
}

// Precondition: weights are above 0. `most` is 0 where there is no bound.
void check_size(const ProfileSpec& spec, const std::vector<WatchedMember>& members, int64_t most, Code code,
                const std::string& field) {
  int64_t sum = 0;
  for (const WatchedMember& each : members) {
    sum += spec.sum_of_members ? 1 : each.weight;
    if (spec.sum_of_members && spec.max_member_weight > 0 && each.weight > spec.max_member_weight)
      refuse(Code::INVALID_ARGUMENT,
             field + ": a weight in " + owner_of(spec) + " must be at most " + std::to_string(spec.max_member_weight));
  }
  // What the core repeats in memory.
  static constexpr int64_t kMostWeight = 65536;
  if (most > 0 && sum > most)
    refuse(code, field + ": a group in " + owner_of(spec) + " has at most " + std::to_string(most) +
                     (spec.sum_of_members ? " members" : " as sum of the weights"));
  if (sum > kMostWeight) refuse(Code::RESOURCE_EXHAUSTED, field + ": the sum of the weights is above 65536");
}

int64_t most_of(const ProfileSpec& spec, const pb::ActionProfileGroup& group) {
  const std::string field = "action_profile_group.max_size: ";
  if (group.max_size() < 0) refuse(Code::INVALID_ARGUMENT, field + "must not be negative");
  if (spec.max_group_size > 0 && group.max_size() > spec.max_group_size)
    refuse(Code::INVALID_ARGUMENT,
           field + "must be at most " + std::to_string(spec.max_group_size) + " in " + owner_of(spec));
  return group.max_size() > 0 ? group.max_size() : spec.max_group_size;
}

std::vector<WatchedMember> members_of(const Profile& profile, const pb::ActionProfileGroup& group) {
  std::vector<WatchedMember> members;
  std::set<uint32_t> seen;
  for (int i = 0; i < group.members_size(); ++i) {
    const std::string field = "action_profile_group.members[" + std::to_string(i) + ']';
    const pb::ActionProfileGroup::Member& each = group.members(i);
    WatchedMember member = watched(each, field);
    const auto number = profile.notes.members.find(each.member_id());
    if (!number)
      refuse(Code::NOT_FOUND,
             field + ".member_id: " + owner_of(profile.spec) + " has no member " + std::to_string(each.member_id()));
    if (!seen.insert(each.member_id()).second)
      refuse(Code::INVALID_ARGUMENT, field + ".member_id: is there twice; use the weight");
    member.member = *number;
    members.push_back(member);
  }
  return members;
}

void insert_group(Context& context, Profile& profile, const pb::ActionProfileGroup& group) {
  const std::string field = "action_profile_group";
  if (group.group_id() == 0) refuse(Code::INVALID_ARGUMENT, field + ".group_id: must not be 0");
  if (profile.notes.groups.find(group.group_id()))
    refuse(Code::ALREADY_EXISTS,
           field + ".group_id: " + owner_of(profile.spec) + " has a group " + std::to_string(group.group_id()));
  auto members = members_of(profile, group);
  check_size(profile.spec, members, most_of(profile.spec, group), Code::RESOURCE_EXHAUSTED, field + ".members");
  const uint32_t number = profile.notes.next_number();
  in_core(field, [&] { profile.control.insert_group(number, in_choice(members, context.ports_up)); });
  profile.notes.groups.add(group.group_id(), number);
  GroupNotes& notes = profile.notes.group_notes[number] = {std::move(members), group};
  shorten_watch_ports(*notes.written.mutable_members());
}

void modify_group(Context& context, Profile& profile, uint32_t number, const pb::ActionProfileGroup& group) {
  const std::string field = "action_profile_group";
  GroupNotes& notes = profile.notes.group_notes.at(number);
  if (group.max_size() != notes.written.max_size())
    refuse(Code::INVALID_ARGUMENT, field + ".max_size: must stay " + std::to_string(notes.written.max_size()));
  auto members = members_of(profile, group);
  check_size(profile.spec, members, most_of(profile.spec, group), Code::RESOURCE_EXHAUSTED, field + ".members");
  in_core(field, [&] { profile.control.modify_group(number, in_choice(members, context.ports_up)); });
  notes = {std::move(members), group};
  shorten_watch_ports(*notes.written.mutable_members());
}

// Puts group and members of an action set into the core; takes all away again if one is refused.
OneShot insert_one_shot(Context& context, Profile& profile, const pb::ActionProfileActionSet& set,
                        const std::string& field) {
  std::vector<WatchedMember> members;
  std::vector<ActionCall> calls;
  for (int i = 0; i < set.action_profile_actions_size(); ++i) {
    const pb::ActionProfileAction& each = set.action_profile_actions(i);
    const std::string place = field + ".action_profile_actions[" + std::to_string(i) + ']';
    members.push_back(watched(each, place));
    calls.push_back(
        call_of(profile.spec.actions, each.action(), CallUse::kEntry, place + ".action", owner_of(profile.spec)));
  }
  check_size(profile.spec, members, profile.spec.max_group_size, Code::INVALID_ARGUMENT, field);
  OneShot made{.set = set, .group = 0, .members = {}};
  shorten_watch_ports(*made.set.mutable_action_profile_actions());
  try {
    for (size_t i = 0; i < members.size(); ++i) {
      const uint32_t number = profile.notes.next_number();
      in_core(field, [&] { profile.control.insert_member(number, calls[i]); });
      made.members.push_back(number);
      members[i].member = number;
      auto* action = made.set.mutable_action_profile_actions(static_cast<int>(i))->mutable_action();
      action->Clear();
      write_action(profile.spec.actions, calls[i], action);
    }
    const uint32_t number = profile.notes.next_number();
    in_core(field, [&] { profile.control.insert_group(number, in_choice(members, context.ports_up)); });
    made.group = number;
  } catch (...) {
    for (const uint32_t number : made.members) profile.control.remove_member(number);
    throw;
  }
  profile.notes.group_notes[made.group] = {std::move(members), {}};
  return made;
}

Profile profile_of(Context& context, const TableSpec& table) {
  return {context, context.instance.catalogue.profiles()[*table.profile]};
}

}  // namespace

void write_member(Context& context, pb::Update::Type type, const pb::ActionProfileMember& member) {
  const std::string field = "action_profile_member";
  Profile profile(context, member.action_profile_id(), field + ".action_profile_id");
  if (member.member_id() == 0) refuse(Code::INVALID_ARGUMENT, field + ".member_id: must not be 0");
  const auto number = profile.notes.members.find(member.member_id());
  if (type != pb::Update::INSERT && !number)
    refuse(Code::NOT_FOUND,
           field + ".member_id: " + owner_of(profile.spec) + " has no member " + std::to_string(member.member_id()));
  if (type == pb::Update::DELETE) {
    in_core(field, [&] { profile.control.remove_member(*number); });
    profile.notes.members.remove(member.member_id());
    return;
  }
  if (!member.has_action()) refuse(Code::INVALID_ARGUMENT, field + ".action: is missing");
  const ActionCall call =
      call_of(profile.spec.actions, member.action(), CallUse::kEntry, field + ".action", owner_of(profile.spec));
  if (number) {
    if (type == pb::Update::INSERT)
      refuse(Code::ALREADY_EXISTS,
             field + ".member_id: " + owner_of(profile.spec) + " has a member " + std::to_string(member.member_id()));
    in_core(field, [&] { profile.control.modify_member(*number, call); });
    return;
  }
  const uint32_t next = profile.notes.next_number();
  in_core(field, [&] { profile.control.insert_member(next, call); });
  profile.notes.members.add(member.member_id(), next);
}

void read_members(Context& context, const pb::ActionProfileMember& filter, Responses& out) {
  const auto read = [&](const ProfileSpec& spec) {
    const Profile profile(context, spec);
    const auto write = [&](uint32_t client, uint32_t number) {
      const auto call = profile.control.member(number);
      if (!call) return;
      pb::ActionProfileMember* member = out.add().mutable_action_profile_member();
      member->set_action_profile_id(spec.id);
      member->set_member_id(client);
      write_action(spec.actions, *call, member->mutable_action());
    };
    if (filter.member_id() == 0) {
      for (const auto& [client, number] : profile.notes.members.all()) write(client, number);
    } else if (const auto number = profile.notes.members.find(filter.member_id())) {
      write(filter.member_id(), *number);
    }
  };
  if (filter.action_profile_id() != 0)
    return read(
        context.instance.catalogue.profile(filter.action_profile_id(), "action_profile_member.action_profile_id"));
  for (const ProfileSpec& spec : context.instance.catalogue.profiles()) read(spec);
}

void write_group(Context& context, pb::Update::Type type, const pb::ActionProfileGroup& group) {
  const std::string field = "action_profile_group";
  Profile profile(context, group.action_profile_id(), field + ".action_profile_id");
  if (!profile.spec.has_selector)
    refuse(Code::INVALID_ARGUMENT, field + ".action_profile_id: " + owner_of(profile.spec) + " has no selector");
  if (type == pb::Update::INSERT) return insert_group(context, profile, group);
  const auto number = profile.notes.groups.find(group.group_id());
  if (!number)
    refuse(Code::NOT_FOUND,
           field + ".group_id: " + owner_of(profile.spec) + " has no group " + std::to_string(group.group_id()));
  if (type == pb::Update::MODIFY) return modify_group(context, profile, *number, group);
  in_core(field, [&] { profile.control.remove_group(*number); });
  profile.notes.groups.remove(group.group_id());
  profile.notes.group_notes.erase(*number);
}

void read_groups(Context& context, const pb::ActionProfileGroup& filter, Responses& out) {
  const auto read = [&](const ProfileSpec& spec) {
    const Profile profile(context, spec);
    for (const auto& [client, number] : profile.notes.groups.all())
      if (filter.group_id() == 0 || filter.group_id() == client)
        *out.add().mutable_action_profile_group() = profile.notes.group_notes.at(number).written;
  };
  if (filter.action_profile_id() != 0)
    return read(
        context.instance.catalogue.profile(filter.action_profile_id(), "action_profile_group.action_profile_id"));
  for (const ProfileSpec& spec : context.instance.catalogue.profiles()) read(spec);
}

EntryAction action_of(Context& context, const TableSpec& table, const pb::TableAction& action,
                      std::optional<OneShot>& one_shot) {
  const std::string field = "table_entry.action";
  const std::string owner = "table \"" + table.name + '"';
  const auto bad = [&](const char* wanted) {
    refuse(Code::INVALID_ARGUMENT, field + ": must be " + wanted + " in " + owner);
  };
  if (!table.profile) {
    if (!action.has_action()) bad("an action");
    return call_of(table.actions, action.action(), CallUse::kEntry, field + ".action", owner);
  }
  Profile profile = profile_of(context, table);
  if (!profile.spec.has_selector && action.type_case() != pb::TableAction::kActionProfileMemberId)
    bad("action_profile_member_id");
  switch (action.type_case()) {
    case pb::TableAction::kActionProfileMemberId: {
      const auto number = profile.notes.members.find(action.action_profile_member_id());
      if (!number)
        refuse(Code::NOT_FOUND, field + ".action_profile_member_id: " + owner_of(profile.spec) + " has no member " +
                                    std::to_string(action.action_profile_member_id()));
      return MemberRef{*number};
    }
    case pb::TableAction::kActionProfileGroupId: {
      const auto number = profile.notes.groups.find(action.action_profile_group_id());
      if (!number)
        refuse(Code::NOT_FOUND, field + ".action_profile_group_id: " + owner_of(profile.spec) + " has no group " +
                                    std::to_string(action.action_profile_group_id()));
      return GroupRef{*number};
    }
    case pb::TableAction::kActionProfileActionSet:
      one_shot =
          insert_one_shot(context, profile, action.action_profile_action_set(), field + ".action_profile_action_set");
      return GroupRef{one_shot->group};
    default:
      bad("a member, a group or an action set");
  }
  return ActionCall{};
}

void remove_one_shot(Context& context, const TableSpec& table, const OneShot& one_shot) {
  const Profile profile = profile_of(context, table);
  profile.control.remove_group(one_shot.group);
  for (const uint32_t number : one_shot.members) profile.control.remove_member(number);
  profile.notes.group_notes.erase(one_shot.group);
}

void write_table_action(Context& context, const TableSpec& table, const EntryAction& action, const OneShot* one_shot,
                        pb::TableAction* out) {
  if (one_shot != nullptr) {
    *out->mutable_action_profile_action_set() = one_shot->set;
    return;
  }
  if (const auto* call = std::get_if<ActionCall>(&action)) {
    write_action(table.actions, *call, out->mutable_action());
    return;
  }
  if (!table.profile) return;
  const Profile profile = profile_of(context, table);
  if (const auto* member = std::get_if<MemberRef>(&action))
    out->set_action_profile_member_id(profile.notes.members.client_of(member->id).value_or(0));
  else if (const auto* group = std::get_if<GroupRef>(&action))
    out->set_action_profile_group_id(profile.notes.groups.client_of(group->id).value_or(0));
}

void apply_watch_ports(Context& context) {
  for (const ProfileSpec& spec : context.instance.catalogue.profiles()) {
    const Profile profile(context, spec);
    for (const auto& [number, notes] : profile.notes.group_notes) {
      bool watches = false;
      for (const WatchedMember& each : notes.members) watches |= each.watch_port.has_value();
      if (watches) profile.control.modify_group(number, in_choice(notes.members, context.ports_up));
    }
  }
}

}  // namespace orrery::p4::service
