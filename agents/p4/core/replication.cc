// SPDX-License-Identifier: Apache-2.0
#include "p4/core/replication.h"

#include <string>
#include <utility>

namespace orrery::p4 {

namespace {

// Of a group or session.
constexpr size_t kMaxReplicas = 4096;

template <class Map, class Value>
void insert_into(Map& map, uint32_t id, Value value, const char* what) {
  if (!map.emplace(id, std::move(value)).second)
    throw ControlError(Refusal::kAlreadyExists, std::string(what) + ' ' + std::to_string(id) + " is there already");
}

template <class Map>
auto& find_in(Map& map, uint32_t id, const char* what) {
  const auto it = map.find(id);
  if (it == map.end())
    throw ControlError(Refusal::kNotFound, "there is no " + std::string(what) + ' ' + std::to_string(id));
  return it->second;
}

void check_group(uint32_t id, const std::vector<Replica>& replicas) {
  if (id == 0 || id > UINT16_MAX)
    throw ControlError(Refusal::kInvalid, "a multicast group's number must be 1 to 65535");
  if (replicas.size() > kMaxReplicas)
    throw ControlError(Refusal::kInvalid,
                       "a multicast group has at most " + std::to_string(kMaxReplicas) + " replicas");
}

void check_session(uint32_t id, const CloneSession& session) {
  if (id >= kMaxSessions)
    throw ControlError(Refusal::kInvalid, "a clone session's number must be below " + std::to_string(kMaxSessions));
  if (session.replicas.size() > kMaxReplicas)
    throw ControlError(Refusal::kInvalid, "a clone session has at most " + std::to_string(kMaxReplicas) + " replicas");
}

}  // namespace

void Replication::insert_group(uint32_t id, std::vector<Replica> replicas) {
  check_group(id, replicas);
  insert_into(groups_, id, std::move(replicas), "multicast group");
}

void Replication::modify_group(uint32_t id, std::vector<Replica> replicas) {
  check_group(id, replicas);
  find_in(groups_, id, "multicast group") = std::move(replicas);
}

void Replication::remove_group(uint32_t id) {
  find_in(groups_, id, "multicast group");
  groups_.erase(id);
}

const std::vector<Replica>* Replication::group(uint32_t id) const {
  const auto it = groups_.find(id);
  return it == groups_.end() ? nullptr : &it->second;
}

void Replication::insert_session(uint32_t id, CloneSession session) {
  check_session(id, session);
  insert_into(sessions_, id, std::move(session), "clone session");
}

void Replication::modify_session(uint32_t id, CloneSession session) {
  check_session(id, session);
  find_in(sessions_, id, "clone session") = std::move(session);
}

void Replication::remove_session(uint32_t id) {
  find_in(sessions_, id, "clone session");
  sessions_.erase(id);
}

const CloneSession* Replication::session(uint32_t id) const {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

}  // namespace orrery::p4
