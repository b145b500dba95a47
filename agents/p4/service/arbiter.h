// SPDX-License-Identifier: Apache-2.0
// Which client may write (P4Runtime 1.4, 5.3).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "p4/service/failure.h"
#include "p4/service/messages.h"

namespace orrery::p4::service {

using StreamId = uint64_t;

struct ElectionId {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const ElectionId&) const = default;
};

struct Notice {
  StreamId to;
  pb::MasterArbitrationUpdate update;
};

// For one device. Not for several threads at once.
class Arbiter {
 public:
  explicit Arbiter(uint64_t device_id) : device_id_(device_id) {}

  // What all concerned are to be told. Throws Failure with what ends the stream.
  std::vector<Notice> update(StreamId stream, const pb::MasterArbitrationUpdate& update);
  std::vector<Notice> closed(StreamId stream);

  // Throws Failure: NOT_FOUND for a role that nobody has named, PERMISSION_DENIED for one who is not its primary.
  void check_writer(const std::string& role, uint64_t role_id, const std::optional<ElectionId>& election) const;

  bool is_primary(StreamId stream) const;
  // One for each role that has one.
  std::vector<StreamId> primaries() const;
  bool has_default_primary() const;

 private:
  struct Client {
    std::string role;
    std::optional<ElectionId> election;
  };
  struct Role {
    pb::Role message;  // as it is told
    std::optional<ElectionId> highest;
    std::optional<StreamId> primary;
  };

  Notice notice(StreamId to, const Role& role) const;
  std::vector<Notice> notices(const std::string& role) const;

  uint64_t device_id_;
  std::map<StreamId, Client> clients_;
  std::map<std::string, Role> roles_;
};

}  // namespace orrery::p4::service
