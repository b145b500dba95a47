// SPDX-License-Identifier: Apache-2.0
#include "core/splitter.h"

#include <nlohmann/json.hpp>

namespace orrery {

nlohmann::json to_json(const SplitFigures& figures) {
  nlohmann::json gates = nlohmann::json::array();
  for (size_t gate = 0; gate < figures.gates.size(); ++gate) {
    const SplitGate& at = figures.gates[gate];
    gates.push_back({{"gate", gate}, {"packets", at.packets}, {"flows", at.flows}, {"exceptions", at.exceptions}});
  }
  return {
      {"tracks_flows", figures.tracks},   {"flows", figures.flows},
      {"exceptions", figures.exceptions}, {"exception_packets", figures.exception_packets},
      {"untracked", figures.untracked},   {"displaced", figures.displaced},
      {"gates", std::move(gates)},
  };
}

}  // namespace orrery
