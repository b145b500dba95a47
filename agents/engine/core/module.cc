// SPDX-License-Identifier: Apache-2.0
#include "core/module.h"

namespace orrery {

void ModuleCounters::add(const ModuleCounters& other) {
  packets_in += other.packets_in;
  packets_out += other.packets_out;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  cycles += other.cycles;
  for (size_t i = 0; i < drops.size(); ++i) drops[i] += other.drops[i];
  if (latency != nullptr && other.latency != nullptr) latency->add(*other.latency);
}

Module::Module(std::vector<std::string> own_drop_reasons, bool measures_latency) {
  drop_reasons_.reserve(kFirstOwnReason + own_drop_reasons.size());
  drop_reasons_.emplace_back("no_gate");
  drop_reasons_.emplace_back("emit_overflow");
  for (std::string& reason : own_drop_reasons) drop_reasons_.push_back(std::move(reason));
  counters.drops.assign(drop_reasons_.size(), 0);
  if (measures_latency) counters.latency = std::make_unique<Histogram>();
}

}  // namespace orrery
