// SPDX-License-Identifier: Apache-2.0
#include "nfs/translation/port_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace orrery {
namespace {

using Taken = std::map<std::pair<uint16_t, uint16_t>, uint32_t>;  // address and port: owner

TEST(PortMap, GivesEachPortToOneOwnerHoweverItIsTaken) {
  std::mt19937_64 rng(1);
  PortMap<uint32_t> ports({1, 2}, 100, 119);
  Taken taken;
  for (uint32_t step = 0; step < 100'000; ++step) {
    const ExternalPort any{static_cast<uint16_t>(rng() % 2), static_cast<uint16_t>(98 + rng() % 24)};
    switch (rng() % 3) {
      case 0: {
        const auto port = ports.take(rng() % 2, PortSpace::kUdp);
        ASSERT_EQ(port.has_value(), taken.size() < 40);
        if (!port) break;
        ASSERT_TRUE(taken.emplace(std::pair(port->address_index, port->port), step).second) << "given twice";
        ports.set_owner(*port, PortSpace::kUdp, step);
        break;
      }
      case 1: {
        const bool free = any.port >= 100 && any.port <= 119 && !taken.contains({any.address_index, any.port});
        ASSERT_EQ(ports.take_exactly(any, PortSpace::kUdp, step), free);
        if (free) taken[{any.address_index, any.port}] = step;
        break;
      }
      default:
        if (taken.erase({any.address_index, any.port}) != 0) ports.give_back(any, PortSpace::kUdp);
    }
    for (uint16_t address : {0, 1}) {
      const auto used = std::ranges::count_if(taken, [&](const auto& entry) { return entry.first.first == address; });
      ASSERT_EQ(ports.free_ports(address, PortSpace::kUdp), 20u - static_cast<uint32_t>(used));
    }
    ASSERT_EQ(ports.free_ports(0, PortSpace::kTcp), 20u) << "another port space";
  }
}

}  // namespace
}  // namespace orrery
