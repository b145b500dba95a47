// SPDX-License-Identifier: Apache-2.0
#include "p4/service/replication_entries.h"

#include <set>

#include "p4/service/table_codec.h"
#include "p4/service/values.h"

namespace orrery::p4::service {
namespace {

constexpr uint32_t kMostPort = 511;
constexpr uint32_t kMostNumber = 65535;
constexpr int kMostReplicas = 1024;

std::vector<Replica> replicas_of(const google::protobuf::RepeatedPtrField<pb::Replica>& replicas,
                                 const std::string& field) {
  std::vector<Replica> out;
  std::set<std::pair<uint32_t, uint32_t>> seen;
  if (replicas.size() > kMostReplicas)
    refuse(Code::RESOURCE_EXHAUSTED, field + ".replicas: at most " + std::to_string(kMostReplicas));
  for (int i = 0; i < replicas.size(); ++i) {
    const pb::Replica& each = replicas[i];
    const std::string place = field + ".replicas[" + std::to_string(i) + ']';
    uint32_t port = 0;
    if (each.has_port())
      port = to_u32(each.port(), place + ".port");
    else if (each.has_egress_port())
      port = each.egress_port();
    else
      refuse(Code::INVALID_ARGUMENT, place + ".port: is missing");
    if (port > kMostPort) refuse(Code::INVALID_ARGUMENT, place + ".port: must be at most 511");
    if (each.instance() > kMostNumber) refuse(Code::INVALID_ARGUMENT, place + ".instance: must be at most 65535");
    if (each.backup_replicas_size() > 0) refuse(Code::UNIMPLEMENTED, place + ".backup_replicas: are of P4Runtime 1.5");
    if (!seen.emplace(port, each.instance()).second)
      refuse(Code::INVALID_ARGUMENT, place + ": this port and instance are there twice");
    out.push_back({port, static_cast<uint16_t>(each.instance())});
  }
  return out;
}

// Byte strings in the shortest form, as they are read.
template <typename Entry>
Entry canonical(Entry entry) {
  for (pb::Replica& each : *entry.mutable_replicas())
    if (each.has_port()) each.set_port(std::string(shortest(each.port())));
  return entry;
}

void check_number(uint32_t number, const char* field) {
  if (number == 0 || number > kMostNumber) refuse(Code::INVALID_ARGUMENT, std::string(field) + ": must be 1 to 65535");
}

// Whether the update may go on: an entry is there or not, as its type needs.
template <typename Map>
void check_presence(const Map& map, uint32_t number, pb::Update::Type type, const std::string& field,
                    const std::string& what) {
  const bool there = map.contains(number);
  if (type == pb::Update::INSERT && there)
    refuse(Code::ALREADY_EXISTS, field + ": there is a " + what + ' ' + std::to_string(number));
  if (type != pb::Update::INSERT && !there)
    refuse(Code::NOT_FOUND, field + ": there is no " + what + ' ' + std::to_string(number));
}

void write_multicast_group(Context& context, pb::Update::Type type, const pb::MulticastGroupEntry& entry) {
  const std::string field = "multicast_group_entry";
  const uint32_t number = entry.multicast_group_id();
  check_number(number, "multicast_group_entry.multicast_group_id");
  auto& all = context.instance.groups;
  check_presence(all, number, type, field, "multicast group");
  Replication& replication = context.control().replication();
  if (type == pb::Update::DELETE) {
    in_core(field, [&] { replication.remove_group(number); });
    all.erase(number);
    return;
  }
  auto replicas = replicas_of(entry.replicas(), field);
  in_core(field, [&] {
    if (type == pb::Update::INSERT)
      replication.insert_group(number, std::move(replicas));
    else
      replication.modify_group(number, std::move(replicas));
  });
  all[number] = canonical(entry);
}

void write_clone_session(Context& context, pb::Update::Type type, const pb::CloneSessionEntry& entry) {
  const std::string field = "clone_session_entry";
  const uint32_t number = entry.session_id();
  check_number(number, "clone_session_entry.session_id");
  auto& all = context.instance.sessions;
  check_presence(all, number, type, field, "clone session");
  Replication& replication = context.control().replication();
  if (type == pb::Update::DELETE) {
    in_core(field, [&] { replication.remove_session(number); });
    all.erase(number);
    return;
  }
  if (entry.packet_length_bytes() < 0)
    refuse(Code::INVALID_ARGUMENT, field + ".packet_length_bytes: must not be negative");
  CloneSession session{.replicas = replicas_of(entry.replicas(), field),
                       .truncate_bytes = static_cast<uint32_t>(entry.packet_length_bytes())};
  in_core(field, [&] {
    if (type == pb::Update::INSERT)
      replication.insert_session(number, std::move(session));
    else
      replication.modify_session(number, std::move(session));
  });
  all[number] = canonical(entry);
}

// One member over the whole width of the set.
ValueSetMember value_set_match(const ValueSetSpec& spec, const pb::ValueSetMember& member, const std::string& field) {
  const std::string owner = "value set \"" + spec.name + '"';
  const std::string place = std::string(field).append(".match");
  BitWriter value;
  BitWriter mask;
  uint32_t width = 0;
  for (const FieldSpec& each : spec.fields) width += each.width;
  value.add(std::string(1, '\0'), (8 - width % 8) % 8);
  mask.add(std::string(1, '\0'), (8 - width % 8) % 8);
  for (const pb::FieldMatch& match : member.match()) {
    if (std::ranges::count(spec.fields, match.field_id(), &FieldSpec::id) != 0) continue;
    const std::string number = std::to_string(match.field_id());
    refuse(Code::INVALID_ARGUMENT,
           std::string(place).append(": ").append(owner).append(" has no field with id ").append(number));
  }
  for (const FieldSpec& each : spec.fields) {
    const auto found = std::ranges::find(member.match(), each.id, &pb::FieldMatch::field_id);
    const KeyMatch key =
        found == member.match().end() ? omitted(each, place, owner) : match_of(each, *found, place, owner);
    if (each.match == info::MatchField::RANGE && !key.any)
      refuse(Code::UNIMPLEMENTED, place + ": ranges in a value set are not supported");
    value.add(key.any ? std::string(1, '\0') : key.value, each.width);
    if (key.any)
      mask.add(std::string(1, '\0'), each.width);
    else if (each.match == info::MatchField::LPM)
      mask.add(prefix_mask(key.prefix_length, each.width), each.width);
    else
      mask.add(key.mask.empty() ? all_ones(each.width) : key.mask, each.width);
  }
  return {.value = value.bytes(), .mask = mask.bytes()};
}

}  // namespace

void write_replication(Context& context, pb::Update::Type type, const pb::PacketReplicationEngineEntry& entry) {
  if (entry.has_multicast_group_entry()) return write_multicast_group(context, type, entry.multicast_group_entry());
  if (entry.has_clone_session_entry()) return write_clone_session(context, type, entry.clone_session_entry());
  refuse(Code::INVALID_ARGUMENT, "packet_replication_engine_entry: must be a multicast group or a clone session");
}

void read_replication(Context& context, const pb::PacketReplicationEngineEntry& filter, Responses& out) {
  const bool all = filter.type_case() == pb::PacketReplicationEngineEntry::TYPE_NOT_SET;
  if (all || filter.has_multicast_group_entry()) {
    const uint32_t wanted = filter.multicast_group_entry().multicast_group_id();
    for (const auto& [number, entry] : context.instance.groups)
      if (wanted == 0 || wanted == number)
        *out.add().mutable_packet_replication_engine_entry()->mutable_multicast_group_entry() = entry;
  }
  if (all || filter.has_clone_session_entry()) {
    const uint32_t wanted = filter.clone_session_entry().session_id();
    for (const auto& [number, entry] : context.instance.sessions)
      if (wanted == 0 || wanted == number)
        *out.add().mutable_packet_replication_engine_entry()->mutable_clone_session_entry() = entry;
  }
}

void write_value_set(Context& context, pb::Update::Type type, const pb::ValueSetEntry& entry) {
  const std::string field = "value_set_entry";
  if (type != pb::Update::MODIFY) refuse(Code::INVALID_ARGUMENT, field + ": can only be modified");
  const ValueSetSpec& spec = context.instance.catalogue.value_set(entry.value_set_id(), field + ".value_set_id");
  if (spec.size > 0 && entry.members_size() > spec.size)
    refuse(Code::RESOURCE_EXHAUSTED,
           field + ".members: value set \"" + spec.name + "\" has at most " + std::to_string(spec.size) + " members");
  std::vector<ValueSetMember> members;
  std::set<std::pair<ByteString, ByteString>> seen;
  for (int i = 0; i < entry.members_size(); ++i) {
    const std::string place = field + ".members[" + std::to_string(i) + ']';
    members.push_back(value_set_match(spec, entry.members(i), place));
    if (!seen.emplace(members.back().value, members.back().mask).second)
      refuse(Code::ALREADY_EXISTS, place + ": is there twice");
  }
  in_core(field, [&] { context.control().value_set(spec.index).set(members); });
  context.instance.value_sets[spec.id] = entry;
}

void read_value_sets(Context& context, const pb::ValueSetEntry& filter, Responses& out) {
  if (filter.value_set_id() != 0)
    context.instance.catalogue.value_set(filter.value_set_id(), "value_set_entry.value_set_id");
  for (const ValueSetSpec& spec : context.instance.catalogue.value_sets()) {
    if (filter.value_set_id() != 0 && filter.value_set_id() != spec.id) continue;
    pb::ValueSetEntry* entry = out.add().mutable_value_set_entry();
    entry->set_value_set_id(spec.id);
    const auto written = context.instance.value_sets.find(spec.id);
    if (written != context.instance.value_sets.end()) *entry = written->second;
  }
}

void write_digest_entry(Context& context, pb::Update::Type type, const pb::DigestEntry& entry) {
  const std::string field = "digest_entry";
  const DigestSpec& spec = context.instance.catalogue.digest(entry.digest_id(), field + ".digest_id");
  check_presence(context.instance.digests, spec.id, type, field, "configuration of digest");
  if (type == pb::Update::DELETE) {
    context.instance.digests.erase(spec.id);
    return;
  }
  const auto& config = entry.config();
  if (config.max_timeout_ns() < 0 || config.ack_timeout_ns() < 0 || config.max_list_size() < 0)
    refuse(Code::INVALID_ARGUMENT, field + ".config: must not be negative (digest \"" + spec.name + "\")");
  context.instance.digests[spec.id] = entry;
}

void read_digest_entries(Context& context, const pb::DigestEntry& filter, Responses& out) {
  if (filter.digest_id() != 0) context.instance.catalogue.digest(filter.digest_id(), "digest_entry.digest_id");
  for (const auto& [id, entry] : context.instance.digests)
    if (filter.digest_id() == 0 || filter.digest_id() == id) *out.add().mutable_digest_entry() = entry;
}

}  // namespace orrery::p4::service
