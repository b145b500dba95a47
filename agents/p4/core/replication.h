// SPDX-License-Identifier: Apache-2.0
// Copies of packets: multicast groups and clone sessions.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "p4/core/control_error.h"

namespace orrery::p4 {

// simple_switch keeps 15 bits of a session's number.
inline constexpr uint32_t kMaxSessions = 1 << 15;

struct Replica {
  uint32_t egress_port;
  uint16_t egress_rid;  // `instance` of P4Runtime

  bool operator==(const Replica&) const = default;
};

struct CloneSession {
  std::vector<Replica> replicas = {};
  uint32_t truncate_bytes = 0;  // length of the copy in bytes; 0: the whole packet

  bool operator==(const CloneSession&) const = default;
};

class Replication {
 public:
  // Numbers from 1; the replicas in the order given are those of the copies.
  void insert_group(uint32_t id, std::vector<Replica> replicas);
  void modify_group(uint32_t id, std::vector<Replica> replicas);
  void remove_group(uint32_t id);
  const std::vector<Replica>* group(uint32_t id) const;
  const std::unordered_map<uint32_t, std::vector<Replica>>& groups() const { return groups_; }

  void insert_session(uint32_t id, CloneSession session);
  void modify_session(uint32_t id, CloneSession session);
  void remove_session(uint32_t id);
  const CloneSession* session(uint32_t id) const;
  const std::unordered_map<uint32_t, CloneSession>& sessions() const { return sessions_; }

 private:
  std::unordered_map<uint32_t, std::vector<Replica>> groups_;
  std::unordered_map<uint32_t, CloneSession> sessions_;
};

}  // namespace orrery::p4
