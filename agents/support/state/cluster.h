// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/state/connection.h"
#include "support/state/slots.h"
#include "support/state/store_address.h"

namespace orrery::state {

// The connections to a store: one, or one to each master of a cluster. Knows which has which slot.
class Cluster {
 public:
  // Of the command with which a cluster is asked for its slots.
  static constexpr Ticket kSlotsTicket = ~Ticket{0};

  Cluster(ConnectionOwner& owner, StoreAddress address, ConnectionOptions options, int epoll);

  // Who has the slot, ready or not; null where nobody is known.
  Connection* of_slot(uint16_t slot);
  // Ready ones in turn; null where none is.
  Connection* any();
  // Null where there is none.
  Connection* of_index(uint8_t index) { return nodes_[index].connection.get(); }

  // Follows a redirection. Null when there are too many masters.
  Connection* redirected(const Redirection& redirection);

  // Asks the cluster for its slots soon: something has changed.
  void want_slots() { wanted_ = true; }
  void slots_answered(Connection& by, const RespValue& answer);
  void slots_unanswered() { asked_ = false; }

  // A slot is no longer where it was, or a connection is no longer used: since the last call, of these connections what
  // they have read must be dropped.
  std::vector<uint8_t> take_outdated();

  void tick(uint64_t now_ns);
  void flush(uint64_t now_ns);
  uint64_t next_event_ns() const;
  void close_all(const std::string& reason, uint64_t now_ns);

  // To the store, or to a master for each slot.
  bool connected() const;
  std::string reason() const;
  uint64_t ready() const;
  uint64_t reconnects() const;

 private:
  static constexpr uint8_t kNobody = 0xff;

  struct Node {
    std::unique_ptr<Connection> connection;
    uint32_t slots = 0;
    bool seed = false;
    bool importing = false;  // a slot was being moved there since the slots were last told
  };

  uint8_t find_or_add(const Endpoint& endpoint);
  void add_seeds();
  void ask_for_slots(uint64_t now_ns);
  Connection* whom_to_ask();
  void give_slot(uint16_t slot, uint8_t node);
  void apply(const std::vector<SlotRange>& ranges);
  void retire_others(uint64_t now_ns);
  void retire(Node& node, uint64_t now_ns);

  ConnectionOwner& owner_;
  const StoreAddress address_;
  const ConnectionOptions options_;
  const int epoll_;
  std::array<Node, kMaxConnections> nodes_;
  std::vector<uint8_t> slots_;  // by slot: the node, or kNobody
  std::vector<uint8_t> outdated_;
  std::optional<std::vector<SlotRange>> answered_;  // to be applied
  std::string flaw_;                                // of the last answer
  uint8_t turn_ = 0;
  bool wanted_ = true;
  bool asked_ = false;
  uint64_t next_ask_ns_ = 0;    // not earlier
  uint64_t latest_ask_ns_ = 0;  // not later
  uint64_t reconnects_of_retired_ = 0;
};

}  // namespace orrery::state
