// SPDX-License-Identifier: Apache-2.0
#include "nfs/l2-forwarder/l2_forwarder_core.h"

#include <algorithm>
#include <cstring>

#include "nfs/config_reader.h"
#include "nfs/flow_state.h"

namespace orrery::l2_forwarder {
namespace {

using nlohmann::json;

using Vector [[gnu::vector_size(16)]] = uint8_t;

class L2Forwarder final : public NfCore {
 public:
  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t) override {
    if (swap_macs_)
      for (const NfPacket& packet : packets) swap_macs({packet.data, packet.length});
    std::ranges::fill(verdicts, NfVerdict{.drop = false, .drop_reason = 0, .out = in});
    packets_ += packets.size();
  }

  bool passes_frames() const override { return true; }

  void pass_frames(std::span<const NfFrame> frames) override {
    if (swap_macs_) _Pragma("GCC unroll 4") for (const NfFrame& frame : frames) swap_macs(frame);
    packets_ += frames.size();
  }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  std::unique_ptr<NextConfig> prepare(const json& config, std::span<const MetadataField>) const override {
    ConfigReader reader(config, "");
    const bool swap = reader.boolean_or("swap_macs", false);
    reader.done();
    return std::make_unique<Next>(swap);
  }

  void take(NextConfig& next) noexcept override { swap_macs_ = static_cast<Next&>(next).swap_macs; }

  std::unique_ptr<StateCopy> copy_state(size_t) const override {
    return copy_figures([this] { return packets_; },
                        [](uint64_t packets, RowForm) {
                          return json{{"packets", packets}};
                        });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return copy_no_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override { return import_no_flows(state); }

 private:
  static void swap_macs(NfFrame whole) {
    uint8_t* frame = whole.data;
    if (whole.length >= sizeof(Vector)) [[likely]] {
      Vector head;
      std::memcpy(&head, frame, sizeof(head));
      head = __builtin_shufflevector(head, head, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
      std::memcpy(frame, &head, sizeof(head));
    } else if (whole.length >= 12) {
      std::swap_ranges(frame, frame + 6, frame + 6);
    }
  }

  struct Next final : NextConfig {
    explicit Next(bool swap) : swap_macs(swap) {}
    bool swap_macs;
  };

  bool swap_macs_ = false;
  uint64_t packets_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  auto nf = std::make_unique<L2Forwarder>();
  nf->configure(config);
  return nf;
}

}  // namespace orrery::l2_forwarder
