// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "core/port.h"
#include "support/hop_tag.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// Replaces the packet by a copy of its own where its bytes are shared or lie in the buffer of another. False, and
// nothing has changed, when the pool is empty.
bool own_buffer(rte_mbuf*& packet) {
  if (plainly_owns_bytes(packet)) return true;
  rte_mbuf* copy = copy_packet(packet, packet->pool);
  if (copy == nullptr) return false;
  rte_pktmbuf_free(packet);
  packet = copy;
  return true;
}

class PortOut final : public Module {
 public:
  explicit PortOut(const ModuleContext& context)
      : Module({"runt", "oversize", "port_full", "no_memory"}),
        port_(*context.port),
        hands_over_(port_.sends_buffers()) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    fields.id("port");
    fields.done();
  }

  bool takes_common_meta() const override { return true; }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    if (hands_over_ ? all_fit<true>(batch) : all_fit<false>(batch)) [[likely]] {
      send(pass, batch.packets, static_cast<uint16_t>(batch.count), batch.bytes);
    } else {
      send_what_fits(pass, batch);
    }
  }

 private:
  static constexpr uint8_t kDropRunt = kFirstOwnReason;
  static constexpr uint8_t kDropOversize = kFirstOwnReason + 1;
  static constexpr uint8_t kDropPortFull = kFirstOwnReason + 2;
  static constexpr uint8_t kDropNoMemory = kFirstOwnReason + 3;

  // True only if every packet can be sent as it is.
  template <bool hands_over>
  bool all_fit(const Batch& batch) const {
    if (batch.common.holds())
      return batch.common.least_bytes >= kEthernetHeader && batch.common.most_bytes <= port_.max_frame_bytes();
    const uint32_t most_behind_header = port_.max_frame_bytes() - kEthernetHeader;
    bool fit = true;
    for (uint32_t i = 0; i < batch.count; ++i) {
      const rte_mbuf* packet = batch.packets[i];
      fit &= packet->pkt_len - kEthernetHeader <= most_behind_header;
      if constexpr (hands_over) fit &= plainly_owns_bytes(packet);
    }
    // As in owns_bytes().
    if constexpr (hands_over) std::atomic_thread_fence(std::memory_order_acquire);
    return fit;
  }

  void send(Pass& pass, rte_mbuf** packets, uint16_t count, uint64_t bytes) {
    const uint16_t sent = port_.send(packets, count);
    for (uint16_t i = sent; i < count; ++i) {
      bytes -= packets[i]->pkt_len;
      pass.drop(packets[i], kDropPortFull);
    }
    pass.count_out(sent, bytes);
  }

  void send_what_fits(Pass& pass, Batch& batch) {
    rte_mbuf* packets[kBatchSize];
    const uint32_t max_bytes = port_.max_frame_bytes();
    uint16_t count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      if (packet->pkt_len < kEthernetHeader) [[unlikely]] {
        pass.drop(packet, kDropRunt);
      } else if (packet->pkt_len > max_bytes) [[unlikely]] {
        pass.drop(packet, kDropOversize);
      } else if (hands_over_ && !own_buffer(packet)) [[unlikely]] {
        pass.drop(packet, kDropNoMemory);
      } else {
        bytes += packet->pkt_len;
        packets[count++] = packet;
      }
    }
    send(pass, packets, count, bytes);
  }

  Port& port_;
  bool hands_over_;  // the very buffers
};

}  // namespace

extern const ModuleKind kPortOut{
    .name = "port_out",
    .inputs = 1,
    .gates = 0,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kSends,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<PortOut>(context); },
};

}  // namespace orrery
