// SPDX-License-Identifier: Apache-2.0
#include "p4/service/arbiter.h"

#include <algorithm>

namespace orrery::p4::service {
namespace {

constexpr size_t kMostRoles = 64;

// Roles by number are of P4Runtime 1.3; no name has a NUL character.
std::string key_of(const std::string& name, uint64_t id) {
  return name.empty() && id != 0 ? std::string(1, '\0') + std::to_string(id) : name;
}

}  // namespace

std::vector<Notice> Arbiter::update(StreamId stream, const pb::MasterArbitrationUpdate& update) {
  const std::string field = "arbitration";
  const std::string key = key_of(update.role().name(), update.role().id());
  const auto known = clients_.find(stream);
  const bool is_new = known == clients_.end();
  if (update.device_id() != device_id_)
    refuse(is_new ? Code::NOT_FOUND : Code::FAILED_PRECONDITION,
           field + ".device_id: this is device " + std::to_string(device_id_));
  if (!is_new && known->second.role != key)
    refuse(Code::FAILED_PRECONDITION, field + ".role: must not change; open another stream");
  if (update.role().has_config())
    refuse(Code::INVALID_ARGUMENT, field + ".role.config: each role has the whole pipeline here");
  std::optional<ElectionId> election;
  if (update.has_election_id()) election = ElectionId{update.election_id().high(), update.election_id().low()};
  const bool taken = std::ranges::any_of(clients_, [&](const auto& each) {
    return each.first != stream && each.second.role == key && each.second.election == election;
  });
  if (election && taken)
    refuse(Code::INVALID_ARGUMENT, field + ".election_id: this election id is used by another client");
  if (!roles_.contains(key) && roles_.size() >= kMostRoles)
    refuse(Code::RESOURCE_EXHAUSTED, field + ".role: there are too many roles");
  Role& role = roles_[key];
  role.message = update.role();
  clients_[stream] = {key, election};
  if (election && (!role.highest || *election >= *role.highest)) {
    role.highest = election;
    role.primary = stream;
    return notices(key);
  }
  if (role.primary == stream) {
    role.primary.reset();
    return notices(key);
  }
  return {notice(stream, role)};
}

std::vector<Notice> Arbiter::closed(StreamId stream) {
  const auto client = clients_.find(stream);
  if (client == clients_.end()) return {};
  const std::string key = client->second.role;
  clients_.erase(client);
  Role& role = roles_.at(key);
  if (role.primary != stream) return {};
  role.primary.reset();
  return notices(key);
}

void Arbiter::check_writer(const std::string& role, uint64_t role_id, const std::optional<ElectionId>& election) const {
  const std::string key = key_of(role, role_id);
  const auto found = roles_.find(key);
  if (found == roles_.end() && !key.empty()) refuse(Code::NOT_FOUND, "role: there is none of this name");
  if (found == roles_.end() || !found->second.primary)
    refuse(Code::PERMISSION_DENIED, "election_id: there is no primary client");
  if (!election) refuse(Code::PERMISSION_DENIED, "election_id: is missing, so this is not the primary client");
  if (election != clients_.at(*found->second.primary).election)
    refuse(Code::PERMISSION_DENIED, "election_id: is not that of the primary client");
}

bool Arbiter::is_primary(StreamId stream) const {
  const auto client = clients_.find(stream);
  return client != clients_.end() && roles_.at(client->second.role).primary == stream;
}

std::vector<StreamId> Arbiter::primaries() const {
  std::vector<StreamId> out;
  for (const auto& [name, role] : roles_)
    if (role.primary) out.push_back(*role.primary);
  return out;
}

bool Arbiter::has_default_primary() const {
  const auto found = roles_.find("");
  return found != roles_.end() && found->second.primary.has_value();
}

Notice Arbiter::notice(StreamId to, const Role& role) const {
  Notice out{to, {}};
  out.update.set_device_id(device_id_);
  if (!role.message.name().empty() || role.message.id() != 0) *out.update.mutable_role() = role.message;
  if (role.highest) {
    out.update.mutable_election_id()->set_high(role.highest->high);
    out.update.mutable_election_id()->set_low(role.highest->low);
  }
  auto* status = out.update.mutable_status();
  if (role.primary == to) {
    status->set_code(Code::OK);
    status->set_message("this client is the primary");
  } else if (role.primary) {
    status->set_code(Code::ALREADY_EXISTS);
    status->set_message("another client is the primary");
  } else {
    status->set_code(Code::NOT_FOUND);
    status->set_message("there is no primary");
  }
  return out;
}

// To all clients of a role, the primary last (P4Runtime 5.3, step 1.2).
std::vector<Notice> Arbiter::notices(const std::string& key) const {
  const Role& role = roles_.at(key);
  std::vector<Notice> out;
  for (const auto& [stream, client] : clients_)
    if (client.role == key && role.primary != stream) out.push_back(notice(stream, role));
  if (role.primary) out.push_back(notice(*role.primary, role));
  return out;
}

}  // namespace orrery::p4::service
