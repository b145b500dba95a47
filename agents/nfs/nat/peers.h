// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "nfs/flow_rows.h"
#include "nfs/flow_store.h"
#include "nfs/translation/port_map.h"

namespace orrery::nat {

// An inside endpoint and an outside one to which it has sent. The remote port is 0 for ICMP queries.
struct PeerKey {
  uint32_t address;
  uint32_t remote_address;
  uint16_t port;
  uint16_t remote_port;
  uint32_t space;

  bool operator==(const PeerKey&) const = default;
};

// Which outside endpoints may answer (RFC 4787 5, address and port-dependent filtering).
class Peers {
 public:
  struct Peer {};
  using Store = FlowStore<PeerKey, Peer>;

  // Of exported state: port space, internal address, internal port, remote address, remote port, idle ms; youngest
  // first.
  static constexpr RowLayout<6> kRow{kPortSpaces - 1, UINT32_MAX, UINT16_MAX, UINT32_MAX, UINT16_MAX, kMaxAgeMs};

  explicit Peers(const FlowLimits& limits) : store_(limits) {}

  const Store& store() const { return store_; }
  Store& store() { return store_; }

  // The inside has sent to it. False: there is no room.
  bool note(const PeerKey& key, uint64_t now_ns) {
    const uint32_t hash = store_.table().hash(key);
    if (Store::Entry* entry = store_.find(key, hash)) {
      store_.touch(*entry, now_ns);
      return true;
    }
    if (!store_.make_room(now_ns)) return false;
    store_.insert(key, hash, now_ns);
    return true;
  }

  // Whether the inside has sent to it, and not too long ago.
  bool knows(const PeerKey& key, uint64_t now_ns) { return find(key, now_ns) != nullptr; }

  // The same for a packet that comes from it, which keeps it alive (RFC 4787 6).
  bool admits(const PeerKey& key, uint64_t now_ns) {
    Store::Entry* entry = find(key, now_ns);
    if (entry != nullptr) store_.touch(*entry, now_ns);
    return entry != nullptr;
  }

 private:
  Store::Entry* find(const PeerKey& key, uint64_t now_ns) {
    Store::Entry* entry = store_.find(key, store_.table().hash(key));
    return entry == nullptr || store_.idle_too_long(*entry, now_ns) ? nullptr : entry;
  }

  Store store_;
};

}  // namespace orrery::nat
