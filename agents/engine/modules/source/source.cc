// SPDX-License-Identifier: Apache-2.0
#include <rte_mbuf.h>

#include <array>
#include <cstring>
#include <optional>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "modules/source/pace.h"
#include "support/checksum.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

constexpr uint32_t kIpOffset = 14;
constexpr uint32_t kUdpOffset = kIpOffset + 20;
constexpr uint32_t kPayloadOffset = kUdpOffset + 8;
constexpr uint32_t kMaxFrame = 1500;

// Makes UDP packets, round robin over `flows` flows: 198.18.0.0/16, one address a flow, to 198.19.0.1 port 9
// (RFC 2544 C.2.2, discard).
class Source final : public TaskModule {
 public:
  explicit Source(const ModuleContext& context) : TaskModule({"no_memory"}), pool_(context.pool) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    bytes_ = static_cast<uint16_t>(fields.integer_or("packet_bytes", 60, kMaxFrame, 60));
    flows_ = static_cast<uint32_t>(fields.integer_or("flows", 1, 65536, 1));
    const double rate_pps = fields.number_or("rate_pps", 0, 0);
    if (rate_pps > 0) pace_.emplace(rate_pps);
    fields.done();
    write_template();
  }

  void process(Pass&, Batch&, uint8_t) override {}

  uint32_t poll(Pass& pass) override {
    const uint32_t count = pace_ ? pace_->take(pass.now_ns(), kBatchSize) : kBatchSize;
    if (count == 0) return 0;
    Batch& batch = pass.fresh_batch();
    if (rte_pktmbuf_alloc_bulk(pool_, batch.packets, count) != 0) [[unlikely]] {
      counters.drops[kDropNoMemory] += count;
      return 0;
    }
    for (uint32_t i = 0; i < count; ++i) write(batch.packets[i]);
    batch.common = {
        .ingress_ns = pass.now_ns(), .enqueue_ns = pass.now_ns(), .least_bytes = bytes_, .most_bytes = bytes_};
    batch.count = count;
    batch.bytes = count * bytes_;
    pass.count_in(batch.count, batch.bytes);
    pass.emit_all(0, batch);
    return count;
  }

  bool backlogged(uint64_t now_ns) const override { return !pace_ || now_ns >= pace_->next_ns(); }

  Wakeup wakeup() const override { return {.now = !pace_, .fd = -1, .due_ns = pace_ ? pace_->next_ns() : 0}; }

 private:
  static constexpr uint8_t kDropNoMemory = kFirstOwnReason;

  void write_template() {
    static constexpr uint8_t kDestination[6] = {0x02, 0, 0, 0, 0, 2};
    static constexpr uint8_t kSource[6] = {0x02, 0, 0, 0, 0, 1};
    uint8_t* frame = template_.data();
    std::memcpy(frame, kDestination, 6);
    std::memcpy(frame + 6, kSource, 6);
    store_be16(frame + 12, 0x0800);
    uint8_t* ip = frame + kIpOffset;
    ip[0] = 0x45;
    store_be16(ip + 2, static_cast<uint16_t>(bytes_ - kIpOffset));
    ip[8] = 64;
    ip[9] = 17;
    store_be32(ip + 12, kFirstAddress);
    store_be32(ip + 16, kTargetAddress);
    ip_sum_ = checksum_sum({ip, 20});
    uint8_t* udp = frame + kUdpOffset;
    store_be16(udp, 1024);
    store_be16(udp + 2, 9);
    store_be16(udp + 4, static_cast<uint16_t>(bytes_ - kUdpOffset));
    // Text, so that a scan of the payload meets what it would meet in practice.
    for (uint32_t i = kPayloadOffset; i < bytes_; ++i) frame[i] = static_cast<uint8_t>('a' + (i * 7 + i / 5) % 26);
  }

  void write(rte_mbuf* packet) {
    packet->data_len = bytes_;
    packet->pkt_len = bytes_;
    uint8_t* frame = bytes_of(packet);
    std::memcpy(frame, template_.data(), bytes_);
    store_be16(frame + kIpOffset + 14, static_cast<uint16_t>(flow_));
    store_be16(frame + kIpOffset + 10, static_cast<uint16_t>(~checksum_fold(ip_sum_ + flow_)));
    if (++flow_ == flows_) flow_ = 0;
  }

  static constexpr uint32_t kFirstAddress = (198u << 24) | (18u << 16);
  static constexpr uint32_t kTargetAddress = (198u << 24) | (19u << 16) | 1;

  rte_mempool* pool_;
  uint16_t bytes_;
  uint32_t flows_;
  std::optional<Pace> pace_;  // nothing: as fast as can be
  uint32_t flow_ = 0;
  uint64_t ip_sum_ = 0;
  std::array<uint8_t, kMaxFrame> template_{};
};

}  // namespace

extern const ModuleKind kSource{
    .name = "source",
    .inputs = 0,
    .gates = 1,
    .role = ModuleKind::Role::kTask,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Source>(context); },
};

}  // namespace orrery
