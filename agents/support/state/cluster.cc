// SPDX-License-Identifier: Apache-2.0
#include "support/state/cluster.h"

#include <algorithm>
#include <utility>

#include "support/state/resp_command.h"

namespace orrery::state {
namespace {

constexpr uint64_t kShortestAskNs = 100'000'000;
// A master that hands its slots over on purpose stays reachable: only this shows it to who sends it nothing.
constexpr uint64_t kLongestAskNs = 1'000'000'000;

}  // namespace

Cluster::Cluster(ConnectionOwner& owner, StoreAddress address, ConnectionOptions options, int epoll)
    : owner_(owner),
      address_(std::move(address)),
      options_(std::move(options)),
      epoll_(epoll),
      slots_(kSlots, kNobody) {
  add_seeds();
  if (address_.cluster) return;
  std::ranges::fill(slots_, uint8_t{0});
  nodes_[0].slots = kSlots;
}

uint8_t Cluster::find_or_add(const Endpoint& endpoint) {
  uint8_t unused = kNobody;
  for (uint8_t i = 0; i < kMaxConnections; ++i) {
    if (nodes_[i].connection == nullptr) {
      unused = std::min(unused, i);
    } else if (nodes_[i].connection->endpoint() == endpoint) {
      return i;
    }
  }
  if (unused != kNobody)
    nodes_[unused] = {.connection = std::make_unique<Connection>(owner_, options_, endpoint, unused, epoll_)};
  return unused;
}

void Cluster::add_seeds() {
  for (const Endpoint& endpoint : address_.endpoints)
    if (const uint8_t node = find_or_add(endpoint); node != kNobody) nodes_[node].seed = true;
}

Connection* Cluster::of_slot(uint16_t slot) {
  const uint8_t node = slots_[slot];
  return node == kNobody ? nullptr : nodes_[node].connection.get();
}

Connection* Cluster::any() {
  for (size_t tried = 0; tried < kMaxConnections; ++tried) {
    turn_ = static_cast<uint8_t>((turn_ + 1) % kMaxConnections);
    const Node& node = nodes_[turn_];
    if (node.connection != nullptr && node.slots != 0 && node.connection->ready()) return node.connection.get();
  }
  return nullptr;
}

void Cluster::give_slot(uint16_t slot, uint8_t node) {
  const uint8_t before = slots_[slot];
  if (before == node) return;
  if (before != kNobody) {
    --nodes_[before].slots;
    if (std::ranges::find(outdated_, before) == outdated_.end()) outdated_.push_back(before);
  }
  if (node != kNobody) ++nodes_[node].slots;
  slots_[slot] = node;
}

Connection* Cluster::redirected(const Redirection& redirection) {
  wanted_ = wanted_ || !redirection.ask;
  const uint8_t node = find_or_add(redirection.to);
  if (node == kNobody) return nullptr;
  if (redirection.ask) {
    nodes_[node].importing = true;
  } else {
    give_slot(redirection.slot, node);
  }
  return nodes_[node].connection.get();
}

void Cluster::slots_answered(Connection& by, const RespValue& answer) {
  asked_ = false;
  answered_ = read_slots(answer, by.endpoint());
  if (answered_) {
    flaw_.clear();
  } else {
    const bool error = answer.type() == RespType::kError;
    flaw_ = error ? std::string(answer.text().substr(0, kMaxRefusalBytes)) : "its slots cannot be read";
  }
}

void Cluster::apply(const std::vector<SlotRange>& ranges) {
  std::vector<uint8_t> now(kSlots, kNobody);
  for (const SlotRange& range : ranges) {
    const uint8_t node = find_or_add(range.master);
    if (node == kNobody) flaw_ = "it has more than 64 masters";
    for (uint32_t slot = range.first; slot <= range.last; ++slot) now[slot] = node;
  }
  for (uint16_t slot = 0; slot < kSlots; ++slot) give_slot(slot, now[slot]);
}

// A seed without slots is kept as long as something is missing: it may be the only one that can be asked.
void Cluster::retire_others(uint64_t now_ns) {
  const bool complete = connected();
  for (Node& node : nodes_) {
    const bool used = std::exchange(node.importing, false) || node.slots != 0 || (node.seed && !complete);
    if (node.connection != nullptr && !used) retire(node, now_ns);
  }
}

void Cluster::retire(Node& node, uint64_t now_ns) {
  node.connection->close("it is no master", now_ns);
  reconnects_of_retired_ += std::max<uint64_t>(node.connection->established(), 1) - 1;
  node = {};
}

std::vector<uint8_t> Cluster::take_outdated() {
  return std::exchange(outdated_, {});
}

Connection* Cluster::whom_to_ask() {
  Connection* unsound = nullptr;
  for (size_t tried = 0; tried < kMaxConnections; ++tried) {
    turn_ = static_cast<uint8_t>((turn_ + 1) % kMaxConnections);
    Connection* const connection = nodes_[turn_].connection.get();
    if (connection == nullptr || !connection->ready()) continue;
    if (connection->sound()) return connection;
    unsound = connection;
  }
  return unsound;
}

void Cluster::ask_for_slots(uint64_t now_ns) {
  if (asked_ || now_ns < next_ask_ns_) return;
  if (!wanted_ && now_ns < latest_ask_ns_ && connected()) return;
  Connection* const connection = whom_to_ask();
  if (connection == nullptr) {
    add_seeds();
    return;
  }
  std::string command;
  append_command(command, {"CLUSTER", "SLOTS"});
  connection->send(kSlotsTicket, command, now_ns);
  asked_ = true;
  wanted_ = false;
  next_ask_ns_ = now_ns + kShortestAskNs;
  latest_ask_ns_ = now_ns + kLongestAskNs;
}

void Cluster::tick(uint64_t now_ns) {
  if (answered_) {
    apply(*std::exchange(answered_, std::nullopt));
    retire_others(now_ns);
  }
  for (const Node& node : nodes_)
    if (node.connection != nullptr) node.connection->tick(now_ns);
  if (address_.cluster) ask_for_slots(now_ns);
}

void Cluster::flush(uint64_t now_ns) {
  for (const Node& node : nodes_)
    if (node.connection != nullptr) node.connection->flush(now_ns);
}

uint64_t Cluster::next_event_ns() const {
  uint64_t next = ~uint64_t{0};
  for (const Node& node : nodes_)
    if (node.connection != nullptr) next = std::min(next, node.connection->next_event_ns());
  if (!address_.cluster || asked_) return next;
  // Without anybody to ask, what wakes is that somebody connects.
  return ready() == 0 ? next : std::min(next, wanted_ || !connected() ? next_ask_ns_ : latest_ask_ns_);
}

void Cluster::close_all(const std::string& reason, uint64_t now_ns) {
  for (const Node& node : nodes_)
    if (node.connection != nullptr) node.connection->close(reason, now_ns);
}

bool Cluster::connected() const {
  uint32_t slots = 0;
  for (const Node& node : nodes_)
    if (node.connection != nullptr && node.connection->ready()) slots += node.slots;
  return slots == kSlots;
}

std::string Cluster::reason() const {
  if (connected()) return {};
  const Node* first = nullptr;
  for (const Node& node : nodes_)
    if (node.connection != nullptr && !node.connection->ready() && (first == nullptr || node.slots > first->slots))
      first = &node;
  if (!flaw_.empty()) return "the cluster: " + flaw_;
  if (first == nullptr) return ready() == 0 ? "not connected yet" : "the cluster has slots without a master";
  return first->connection->endpoint().text() + ": " + first->connection->reason();
}

uint64_t Cluster::ready() const {
  uint64_t count = 0;
  for (const Node& node : nodes_) count += node.connection != nullptr && node.connection->ready() ? 1 : 0;
  return count;
}

uint64_t Cluster::reconnects() const {
  uint64_t count = reconnects_of_retired_;
  for (const Node& node : nodes_)
    if (node.connection != nullptr) count += std::max<uint64_t>(node.connection->established(), 1) - 1;
  return count;
}

}  // namespace orrery::state
