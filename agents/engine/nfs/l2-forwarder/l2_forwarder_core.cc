// SPDX-License-Identifier: Apache-2.0
#include "nfs/l2-forwarder/l2_forwarder_core.h"

#include <algorithm>
#include <cstring>

#include "nfs/config_reader.h"

namespace orrery {
namespace {

using nlohmann::json;

class L2Forwarder final : public NfCore {
 public:
  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t) override {
    std::ranges::fill(verdicts, NfVerdict{.drop = false, .drop_reason = 0, .out = in});
    if (swap_macs_) std::ranges::for_each(packets, swap_macs);
    packets_ += packets.size();
  }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  void configure(const json& config) override {
    ConfigReader reader(config, "");
    const bool swap = reader.boolean("swap_macs", false);
    reader.finish();
    swap_macs_ = swap;
  }

  json state(size_t) const override { return {{"packets", packets_}}; }

  json export_state() const override { return json::object(); }

  void import_state(const json& state) override { ConfigReader(state, "").finish(); }

 private:
  static void swap_macs(NfPacket& packet) {
    if (packet.length < 12) return;
    uint8_t first[6];
    std::memcpy(first, packet.data, 6);
    std::memcpy(packet.data, packet.data + 6, 6);
    std::memcpy(packet.data + 6, first, 6);
  }

  bool swap_macs_ = false;
  uint64_t packets_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make_l2_forwarder(const json& config, std::span<const MetadataField>) {
  auto nf = std::make_unique<L2Forwarder>();
  nf->configure(config);
  return nf;
}

}  // namespace orrery
