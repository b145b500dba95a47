// SPDX-License-Identifier: Apache-2.0
#include "segment_source.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/pass.h"
#include "full_batch.h"
#include "nfs/testing/tcp_frames.h"
#include "support/checksum.h"
#include "support/errors.h"
#include "support/json_fields.h"

namespace orrery::bench {
namespace {

constexpr uint32_t kConnections = 1024;
constexpr uint32_t kClients = 0xc6120000;  // 198.18.0.0 (RFC 2544 C.2.2)
constexpr uint32_t kServer = 0xc6130001;
constexpr uint16_t kTcpHeaders = 14 + 20 + 20;
constexpr uint16_t kSequenceAt = 14 + 20 + 4;
constexpr uint8_t kPshAck = 0x18;

std::string filler(size_t bytes) {
  std::string out(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>('a' + (i * 7 + i / 5) % 26);
  return out;
}

std::string http_request(size_t bytes) {
  const std::string head = "GET /videos/one.mp4 HTTP/1.1\r\nHost: www.origin.example\r\nX-Filler: ", end = "\r\n\r\n";
  if (bytes < head.size() + end.size()) throw EngineError("invalid-config", "/bytes", "a request needs more room");
  return head + filler(bytes - head.size() - end.size()) + end;
}

class SegmentSource final : public TaskModule {
 public:
  SegmentSource(const ModuleContext& context, BatchTimes& times)
      : TaskModule({"no_memory"}), pool_(context.pool), times_(times) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    bytes_ = static_cast<uint16_t>(fields.integer("bytes", 60, 1514));
    const std::string kind = fields.string("payload", 16);
    fields.done();
    const size_t payload_bytes = bytes_ - kTcpHeaders;
    const std::string payload = kind == "request" ? http_request(payload_bytes) : filler(payload_bytes);
    for (uint32_t n = 0; n < kConnections; ++n)
      segments_.push_back(testing::tcp_segment({.src = kClients + n, .dst = kServer, .payload = payload}, kPshAck, 0));
  }

  void process(Pass&, Batch&, uint8_t) override {}

  uint32_t poll(Pass& pass) override {
    times_.mark(pass.busy_cycles(), kBatchSize);
    return emit_full_batch(pass, *this, pool_, bytes_, [this](uint8_t* frame) {
      std::memcpy(frame, segments_[connection_].data(), bytes_);
      store_be32(frame + kSequenceAt, sequence_);
      if (++connection_ == kConnections) {
        connection_ = 0;
        sequence_ += bytes_ - kTcpHeaders;
      }
    });
  }

  Wakeup wakeup() const override { return {.now = true}; }

 private:
  rte_mempool* pool_;
  BatchTimes& times_;
  std::vector<testing::Frame> segments_;
  uint16_t bytes_;
  uint32_t connection_ = 0;
  uint32_t sequence_ = 0;  // of all connections; it wraps
};

}  // namespace

ModuleKind segment_source(BatchTimes& times) {
  return {.name = "segment_source",
          .inputs = 0,
          .gates = 1,
          .role = ModuleKind::Role::kTask,
          .port_use = ModuleKind::PortUse::kNone,
          .make = [&times](const ModuleContext& context) -> std::unique_ptr<Module> {
            return std::make_unique<SegmentSource>(context, times);
          }};
}

}  // namespace orrery::bench
