// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/packet.h"

namespace orrery::static_nat {

// From an address to its position in a list.
class AddressTable {
 public:
  // At most 2^15 addresses, which differ.
  explicit AddressTable(std::span<const Ipv6Address> addresses)
      : slots_(std::bit_ceil(2 * addresses.size() + 1), Slot{{}, kNone}) {
    for (size_t i = 0; i < addresses.size(); ++i) {
      size_t at = home_of(addresses[i]);
      while (slots_[at].position != kNone) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {addresses[i], static_cast<uint16_t>(i)};
    }
  }

  std::optional<uint16_t> find(const Ipv6Address& address) const {
    for (size_t at = home_of(address);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.position == kNone) return std::nullopt;
      if (slot.address == address) return slot.position;
    }
  }

 private:
  static constexpr uint16_t kNone = UINT16_MAX;

  struct Slot {
    Ipv6Address address;
    uint16_t position;
  };

  // The addresses are those of the configuration, so nobody can make them collide.
  size_t home_of(const Ipv6Address& address) const {
    const uint64_t mixed = (address.high * 0x9e3779b97f4a7c15u ^ address.low) * 0xd6e8feb86659fd93u;
    return static_cast<size_t>(mixed >> 40) & (slots_.size() - 1);
  }

  std::vector<Slot> slots_;
};

}  // namespace orrery::static_nat
