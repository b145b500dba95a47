// SPDX-License-Identifier: Apache-2.0
// A forwarding-pipeline config as it runs, with what P4Runtime keeps of its entities beside the core.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "p4/core/pipeline.h"
#include "p4/service/catalogue.h"
#include "p4/service/failure.h"
#include "p4/service/messages.h"
#include "p4/service/packet_header.h"

namespace orrery::p4::service {

// An action set that was written in one shot: a group and members of our own in the core.
struct OneShot {
  pb::ActionProfileActionSet set;
  uint32_t group;
  std::vector<uint32_t> members;
};

// Of a table entry.
struct EntryNotes {
  uint64_t controller_metadata = 0;
  std::string metadata;
  std::optional<OneShot> one_shot;

  bool empty() const { return controller_metadata == 0 && metadata.empty() && !one_shot; }
};

// Of the default entry of a table.
struct DefaultNotes {
  EntryNotes entry;
  bool written = false;  // by a client, else it is the program's
};

// Of a group in the core.
struct WatchedMember {
  uint32_t member;  // in the core
  uint32_t weight;
  std::optional<uint32_t> watch_port;
};
struct GroupNotes {
  std::vector<WatchedMember> members;
  pb::ActionProfileGroup written;  // empty for one of a one-shot action set
};

// Numbers of the clients and of the core, where one-shot action sets take numbers as well.
class NumberMap {
 public:
  std::optional<uint32_t> find(uint32_t client) const;
  std::optional<uint32_t> client_of(uint32_t core) const;
  void add(uint32_t client, uint32_t core);
  void remove(uint32_t client);
  const std::map<uint32_t, uint32_t>& all() const { return to_core_; }

 private:
  std::map<uint32_t, uint32_t> to_core_;
  std::unordered_map<uint32_t, uint32_t> to_client_;
};

struct ProfileNotes {
  NumberMap members;
  NumberMap groups;
  std::unordered_map<uint32_t, GroupNotes> group_notes;  // by number in the core
  uint32_t last_number = 0;

  uint32_t next_number() { return ++last_number; }
};

// What the packet thread needs. Never changes.
struct Running {
  std::shared_ptr<Pipeline> pipeline;
  PacketHeader packet_in;
  uint64_t generation = 0;  // of the config
};

struct InstanceOptions {
  uint32_t cpu_port = 510;
  uint32_t drop_port = 511;
};

struct Instance {
  // Throws Failure: INVALID_ARGUMENT or UNIMPLEMENTED. Entries that the program brings along are there.
  Instance(pb::ForwardingPipelineConfig config, const InstanceOptions& options, uint64_t generation);

  const pb::ForwardingPipelineConfig config;
  const std::shared_ptr<const Program> program;
  const Catalogue catalogue;
  const std::shared_ptr<Pipeline> pipeline;
  const std::shared_ptr<const Running> running;
  const PacketHeader packet_out;

  std::vector<std::unordered_map<EntryHandle, EntryNotes>> entries;  // by index of Catalogue::tables
  std::vector<DefaultNotes> defaults;                                // by index of Catalogue::tables
  std::vector<ProfileNotes> profiles;                                // by index of Catalogue::profiles
  std::map<uint32_t, pb::MulticastGroupEntry> groups;
  std::map<uint32_t, pb::CloneSessionEntry> sessions;
  std::map<uint32_t, pb::ValueSetEntry> value_sets;  // by P4Info id, as written
  std::map<uint32_t, pb::DigestEntry> digests;       // by P4Info id
};

// Ports of the switch that are up.
using PortsUp = std::set<uint32_t>;

// What reads and writes work on. Packets wait as long as it lives, but in pause().
class Context {
 public:
  Context(Instance& instance, const PortsUp& ports_up, uint64_t now_ns)
      : instance(instance), ports_up(ports_up), now_ns(now_ns), control_(instance.pipeline->control()) {}

  Control& control() { return *control_; }
  // Lets packets through that wait. They change counters, registers and the like, but no entry.
  void pause() {
    control_.reset();
    control_.emplace(instance.pipeline->control());
  }

  Instance& instance;
  const PortsUp& ports_up;
  const uint64_t now_ns;

 private:
  std::optional<Control> control_;
};

// A refusal of the core with our code.
[[noreturn]] void refuse_as(const ControlError& error, const std::string& field);

// Runs a call of the core; what it refuses is a Failure that begins with `field`.
template <typename Work>
decltype(auto) in_core(const std::string& field, Work&& work) {
  try {
    return work();
  } catch (const ControlError& error) {
    refuse_as(error, field);
  }
}

}  // namespace orrery::p4::service
