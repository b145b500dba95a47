// SPDX-License-Identifier: Apache-2.0
#include "nfs/busy-loop/busy_loop_core.h"

#include <algorithm>

#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "support/clock.h"

namespace orrery::busy_loop {
namespace {

using nlohmann::json;

// What an NF in a virtual machine may take. The planner counts with it: the descriptor has its cycles.
constexpr uint64_t kDefaultPacketUs = 100;
constexpr uint64_t kMostPacketUs = 1000;

class BusyLoop final : public NfCore {
 public:
  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t) override {
    std::ranges::fill(verdicts, NfVerdict{.drop = false, .drop_reason = 0, .out = in});
    hold_core_for(packets.size());
  }

  bool passes_frames() const override { return true; }
  void pass_frames(std::span<const NfFrame> frames) override { hold_core_for(frames.size()); }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  std::unique_ptr<NextConfig> prepare(const json& config, std::span<const MetadataField>) const override {
    ConfigReader reader(config, "");
    const uint64_t packet_us = reader.integer_or("packet_us", 0, kMostPacketUs, kDefaultPacketUs);
    reader.done();
    return std::make_unique<Next>(packet_us * 1000);
  }

  void take(NextConfig& next) noexcept override { packet_ns_ = static_cast<Next&>(next).packet_ns; }

  std::unique_ptr<StateCopy> copy_state(size_t) const override {
    return copy_figures([this] { return packets_; },
                        [](uint64_t packets, RowForm) {
                          return json{{"packets", packets}};
                        });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return copy_no_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override { return import_no_flows(state); }

 private:
  void hold_core_for(size_t packets) {
    const uint64_t until_ns = monotonic_ns() + packet_ns_ * packets;
    while (monotonic_ns() < until_ns) {
    }
    packets_ += packets;
  }

  struct Next final : NextConfig {
    explicit Next(uint64_t ns) : packet_ns(ns) {}
    uint64_t packet_ns;
  };

  uint64_t packet_ns_ = 0;
  uint64_t packets_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  auto nf = std::make_unique<BusyLoop>();
  nf->configure(config);
  return nf;
}

}  // namespace orrery::busy_loop
