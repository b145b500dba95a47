// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace orrery {

// Protocols that have a port space of their own; the values index tables. ICMPv6 has that of ICMP: no address has both.
enum class PortSpace : uint8_t { kTcp = 0, kUdp = 1, kIcmp = 2 };
inline constexpr size_t kPortSpaces = 3;
inline constexpr std::array<const char*, kPortSpaces> kPortSpaceNames = {"tcp", "udp", "icmp"};

constexpr std::optional<PortSpace> space_of_proto(uint8_t proto) {
  switch (proto) {
    case 6:
      return PortSpace::kTcp;
    case 17:
      return PortSpace::kUdp;
    case 1:
    case 58:
      return PortSpace::kIcmp;
    default:
      return std::nullopt;
  }
}

// An external port: position of its address in the configuration, and the port.
struct ExternalPort {
  uint16_t address_index;
  uint16_t port;
};

// Of a port that no mapping holds.
inline constexpr uint32_t kFreePort = UINT32_MAX;

// Which mapping holds each external port, and which ports are free. Free ports are given out least recently used first,
// so that late packets of an ended flow meet a stranger as late as possible.
template <class Address>
class PortMap {
 public:
  PortMap(std::vector<Address> addresses, uint16_t lo, uint16_t hi)
      : addresses_(std::move(addresses)), lo_(lo), hi_(hi) {
    const size_t pools = addresses_.size() * kPortSpaces;
    owner_.assign(pools * width(), kFreePort);
    pools_.resize(pools);
    for (Pool& pool : pools_) {
      pool.free.resize(width());
      for (size_t i = 0; i < width(); ++i) pool.free[i] = static_cast<uint16_t>(lo + i);
      pool.listed.assign(width(), true);
      pool.count = pool.available = static_cast<uint32_t>(width());
    }
  }

  const std::vector<Address>& addresses() const { return addresses_; }
  uint16_t lo() const { return lo_; }
  uint16_t hi() const { return hi_; }
  uint32_t free_ports(size_t address_index, PortSpace space) const {
    return pools_[pool_of(address_index, space)].available;
  }

  std::optional<uint16_t> index_of(const Address& address) const {
    for (size_t i = 0; i < addresses_.size(); ++i)
      if (addresses_[i] == address) return static_cast<uint16_t>(i);
    return std::nullopt;
  }

  // Slot that holds the owner of a port; nullptr when the port is out of range.
  const uint32_t* owner(uint16_t address_index, PortSpace space, uint16_t port) const {
    if (port < lo_ || port > hi_) return nullptr;
    return &owner_[pool_of(address_index, space) * width() + (port - lo_)];
  }

  // Takes a port of the preferred address, else of the next that has one (paired pooling as far as it goes, RFC 4787
  // 4.1). The caller gives it an owner at once.
  std::optional<ExternalPort> take(size_t preferred, PortSpace space) {
    for (size_t n = 0; n < addresses_.size(); ++n) {
      const size_t address = (preferred + n) % addresses_.size();
      const size_t index = pool_of(address, space);
      Pool& pool = pools_[index];
      if (pool.available == 0) continue;
      uint16_t port = pool.pop(lo_);
      while (owner_[index * width() + (port - lo_)] != kFreePort) port = pool.pop(lo_);
      --pool.available;
      return ExternalPort{static_cast<uint16_t>(address), port};
    }
    return std::nullopt;
  }

  void set_owner(ExternalPort at, PortSpace space, uint32_t owner) {
    owner_[pool_of(at.address_index, space) * width() + (at.port - lo_)] = owner;
  }

  // Takes one certain port; false when it is out of range or taken. For configuration and migration.
  bool take_exactly(ExternalPort at, PortSpace space, uint32_t owner) {
    if (at.port < lo_ || at.port > hi_) return false;
    const size_t index = pool_of(at.address_index, space);
    uint32_t& slot = owner_[index * width() + (at.port - lo_)];
    if (slot != kFreePort) return false;
    slot = owner;
    --pools_[index].available;
    return true;
  }

  // Precondition: the port is taken.
  void give_back(ExternalPort at, PortSpace space) {
    const size_t index = pool_of(at.address_index, space);
    owner_[index * width() + (at.port - lo_)] = kFreePort;
    Pool& pool = pools_[index];
    ++pool.available;
    if (pool.listed[at.port - lo_]) return;
    pool.listed[at.port - lo_] = true;
    pool.free[(pool.head + pool.count) % pool.free.size()] = at.port;
    ++pool.count;
  }

 private:
  struct Pool {
    std::vector<uint16_t> free;  // ring of every free port, and of some that take_exactly() took
    std::vector<bool> listed;    // whether a port is in the ring
    size_t head = 0;
    uint32_t count = 0;      // in the ring
    uint32_t available = 0;  // of them free

    uint16_t pop(uint16_t lo) {
      const uint16_t port = free[head];
      head = head + 1 == free.size() ? 0 : head + 1;
      --count;
      listed[static_cast<size_t>(port - lo)] = false;
      return port;
    }
  };

  size_t width() const { return size_t{hi_} - lo_ + 1; }
  size_t pool_of(size_t address_index, PortSpace space) const {
    return address_index * kPortSpaces + static_cast<size_t>(space);
  }

  std::vector<Address> addresses_;
  uint16_t lo_;
  uint16_t hi_;
  std::vector<uint32_t> owner_;
  std::vector<Pool> pools_;
};

}  // namespace orrery
