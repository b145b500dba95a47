// SPDX-License-Identifier: Apache-2.0
#include "test_modules.h"

#include <algorithm>
#include <array>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "support/checksum.h"
#include "support/json_fields.h"
#include "support/testing/frames.h"

namespace orrery::testing {
namespace {

int64_t read_one(const ModuleContext& context, const char* name) {
  JsonFields fields(context.config, context.pointer, "invalid-config");
  const int64_t value = fields.integer(name, 0, 100'000);
  fields.done();
  return value;
}

class Duplicator final : public Module {
 public:
  explicit Duplicator(const ModuleContext& context)
      : Module({"no_memory"}), pool_(context.pool), copies_(read_one(context, "copies")) {}

  void process(Pass& pass, Batch& batch, uint8_t) override {
    std::vector<rte_mbuf*> out;
    for (uint32_t i = 0; i < batch.count; ++i) {
      out.push_back(batch.packets[i]);
      for (int64_t n = 0; n < copies_; ++n) {
        if (rte_mbuf* copy = copy_packet(batch.packets[i], pool_)) {
          out.push_back(copy);
        } else {
          ++counters.drops[kFirstOwnReason];
        }
      }
    }
    pass.emit(0, out);
  }

 private:
  rte_mempool* pool_;
  int64_t copies_;
};

class Holder final : public Module {
 public:
  explicit Holder(const ModuleContext& context)
      : hold_ns_(static_cast<uint64_t>(read_one(context, "hold_ms")) * 1'000'000u) {}
  ~Holder() override { rte_pktmbuf_free_bulk(held_.data(), static_cast<unsigned>(held_.size())); }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    if (held_.empty()) due_ns_ = pass.now_ns() + hold_ns_;
    held_.insert(held_.end(), batch.packets, batch.packets + batch.count);
  }

  uint64_t due_ns() const override { return due_ns_; }

  void on_timer(Pass& pass) override {
    pass.emit(0, held_);
    held_.clear();
    due_ns_ = 0;
  }

  void adopt(Module& old_module) noexcept override {
    auto& old = static_cast<Holder&>(old_module);
    Module::adopt(old);
    held_.swap(old.held_);
    due_ns_ = old.due_ns_;
  }

 private:
  uint64_t hold_ns_;
  uint64_t due_ns_ = 0;
  std::vector<rte_mbuf*> held_;
};

class Bursts final : public TaskModule {
 public:
  explicit Bursts(const ModuleContext& context)
      : TaskModule({"no_memory"}),
        pool_(context.pool),
        batches_(read_one(context, "batches")),
        frame_(build_frame({})) {}

  void process(Pass&, Batch&, uint8_t) override {}

  uint32_t poll(Pass& pass) override {
    const bool full = turn_ < batches_;
    turn_ = full ? turn_ + 1 : 0;
    Batch& batch = pass.fresh_batch();
    const uint32_t count = full ? kBatchSize : 1;
    if (rte_pktmbuf_alloc_bulk(pool_, batch.packets, count) != 0) {
      counters.drops[kFirstOwnReason] += count;
      return 0;
    }
    const auto bytes = static_cast<uint16_t>(frame_.size());
    for (uint32_t i = 0; i < count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      packet->data_len = bytes;
      packet->pkt_len = bytes;
      std::ranges::copy(frame_, bytes_of(packet));
    }
    batch.common = {
        .ingress_ns = pass.now_ns(), .enqueue_ns = pass.now_ns(), .least_bytes = bytes, .most_bytes = bytes};
    batch.count = count;
    batch.bytes = count * bytes;
    pass.count_in(batch.count, batch.bytes);
    pass.emit_all(0, batch);
    return count;
  }

  bool backlogged(uint64_t) const override { return true; }

  Wakeup wakeup() const override { return {.now = true, .fd = -1, .due_ns = 0}; }

 private:
  rte_mempool* pool_;
  int64_t batches_;
  int64_t turn_ = 0;
  Frame frame_;
};

class Joiner final : public Module {
 public:
  explicit Joiner(const ModuleContext&) {}
  ~Joiner() override {
    for (auto& from : held_) rte_pktmbuf_free_bulk(from.data(), static_cast<unsigned>(from.size()));
  }

  void process(Pass& pass, Batch& batch, uint8_t input) override {
    held_[input].insert(held_[input].end(), batch.packets, batch.packets + batch.count);
    for (const auto& from : held_)
      if (from.empty()) return;
    for (size_t i = held_.size(); i-- > 0; held_[i].clear()) pass.emit(0, held_[i]);
  }

 private:
  std::array<std::vector<rte_mbuf*>, 3> held_;
};

class Burner final : public Module {
 public:
  explicit Burner(const ModuleContext& context) : spins_(read_one(context, "spins")) {}

  void process(Pass& pass, Batch& batch, uint8_t) override {
    for (volatile int64_t left = spins_ * batch.count; left > 0;) left = left - 1;
    pass.emit_all(0, batch);
  }

 private:
  int64_t spins_;
};

// The TCP, UDP or ICMP checksum of the packet; null where it has none.
uint8_t* transport_checksum(uint8_t* frame, const ParsedPacket& p) {
  if (p.kind != PacketKind::kIpTransport) return nullptr;
  uint8_t* at = frame + p.l4_offset + (p.ip_proto == kTcp ? 16 : p.ip_proto == kUdp ? 6 : 2);
  return p.ip_proto == kUdp && load_be16(at) == 0 ? nullptr : at;
}

void update(uint8_t* checksum, const ChecksumDelta& delta, bool udp = false) {
  if (checksum == nullptr) return;
  const uint16_t sum = delta.apply(load_be16(checksum));
  store_be16(checksum, udp && sum == 0 ? UINT16_MAX : sum);
}

void set_word(uint8_t* at, uint16_t to, ChecksumDelta& delta) {
  delta.change16(load_be16(at), to);
  store_be16(at, to);
}

class FieldWriter final : public Module {
 public:
  explicit FieldWriter(const ModuleContext& context) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    field_ = fields.string("field", 16);
    fields.done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    for (uint32_t i = 0; i < batch.count; ++i) {
      write_field({bytes_of(batch.packets[i]), batch.packets[i]->data_len}, field_);
      meta_of(batch.packets[i]).parsed_valid = false;
    }
    pass.emit_all(0, batch);
  }

 private:
  std::string field_;
};

class Resizer final : public Module {
 public:
  explicit Resizer(const ModuleContext& context) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    at_ = fields.string("at", 16);
    bytes_ = static_cast<int>(fields.integer("bytes", -100, 100));
    fields.done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      std::vector<uint8_t> frame(bytes_of(packet), bytes_of(packet) + packet->data_len);
      resize_frame(frame, at_, bytes_);
      packet->data_len = static_cast<uint16_t>(frame.size());
      packet->pkt_len = packet->data_len;
      std::copy(frame.begin(), frame.end(), bytes_of(packet));
      meta_of(packet).parsed_valid = false;
    }
    pass.emit(0, {batch.packets, batch.count});
  }

 private:
  std::string at_;
  int bytes_ = 0;
};

template <class M>
ModuleKind kind(std::string_view name, uint8_t inputs, bool timed, uint16_t gates = 1) {
  return {
      .name = name,
      .inputs = inputs,
      .gates = gates,
      .role = ModuleKind::Role::kStep,
      .port_use = ModuleKind::PortUse::kNone,
      .timed = timed,
      .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<M>(context); },
  };
}

}  // namespace

void write_field(std::span<uint8_t> bytes, std::string_view field) {
  uint8_t* frame = bytes.data();
  const ParsedPacket p = parse_packet(bytes);
  if (p.kind != PacketKind::kIpOther && p.kind != PacketKind::kIpTransport) return;
  const bool udp = p.ip_proto == kUdp, v6 = p.ip_version == 6;
  uint8_t* ip = frame + p.l3_offset;
  uint8_t* transport = transport_checksum(frame, p);
  ChecksumDelta delta;
  if (field == "ttl") {
    set_word(ip + (v6 ? 6 : 8), static_cast<uint16_t>(load_be16(ip + (v6 ? 6 : 8)) - (v6 ? 1 : 0x100)), delta);
    if (!v6) update(ip + 10, delta);
  } else if (field == "tos") {
    set_word(ip, static_cast<uint16_t>((load_be16(ip) & 0xff00) | ((ip[1] + 0x28) & 0xff)), delta);
    if (!v6) update(ip + 10, delta);
  } else if (field == "dst") {
    uint8_t* low = ip + (v6 ? 38 : 18);
    set_word(low, static_cast<uint16_t>(load_be16(low) + 0x4321), delta);
    if (!v6) update(ip + 10, delta);
    if (p.ip_proto == kTcp || udp || v6) update(transport, delta, udp);
  } else if (field == "dst_port" && p.kind == PacketKind::kIpTransport && (p.ip_proto == kTcp || udp)) {
    uint8_t* port = frame + p.l4_offset + 2;
    set_word(port, static_cast<uint16_t>(load_be16(port) * 3 + 1), delta);
    update(transport, delta, udp);
  } else if (field == "payload" && p.kind == PacketKind::kIpTransport && p.payload_length > 0) {
    const uint32_t at = p.payload_offset + p.payload_length - 1u;
    const auto after = static_cast<uint8_t>(frame[at] * 5 + 7);
    const unsigned shift = (at - p.l4_offset) % 2 == 0 ? 8 : 0;
    delta.change16(static_cast<uint16_t>(frame[at] << shift), static_cast<uint16_t>(after << shift));
    frame[at] = after;
    update(transport, delta, udp);
  }
}

void resize_frame(std::vector<uint8_t>& frame, std::string_view at, int bytes) {
  const ParsedPacket p = parse_packet(frame);
  if (p.kind != PacketKind::kIpTransport || p.fragment || p.ip_version != 4) return;
  const bool vlan = p.l3_offset > 14;
  const auto gone = static_cast<size_t>(bytes < 0 ? -bytes : 0);
  const size_t header = p.l4_offset - p.l3_offset;
  size_t place = 0;
  if (at == "l3") {
    if (vlan != (bytes < 0)) return;
    place = 12;
  } else if (at == "l4") {
    if (gone > header - 20 || header + static_cast<size_t>(std::max(bytes, 0)) > 60) return;
    place = p.l4_offset - gone;
  } else {
    if (gone > p.payload_length) return;
    place = at == "payload" ? p.payload_offset : p.payload_offset + p.payload_length - gone;
  }
  const auto begin = frame.begin() + static_cast<ptrdiff_t>(place);
  if (bytes < 0) {
    frame.erase(begin, begin + static_cast<ptrdiff_t>(gone));
  } else {
    frame.insert(begin, static_cast<size_t>(bytes), at == "l4" ? 1 : 0x5a);
  }
  if (at == "l3") {
    if (bytes > 0) store_be32(&frame[12], 0x81000123);
    return;
  }
  uint8_t* ip = &frame[p.l3_offset];
  const auto shift = [&](uint8_t* length) { store_be16(length, static_cast<uint16_t>(load_be16(length) + bytes)); };
  shift(ip + 2);
  if (at == "l4") ip[0] = static_cast<uint8_t>(ip[0] + bytes / 4);
  store_be16(ip + 10, 0);
  const size_t new_header = size_t{ip[0] & 0x0fu} * 4;
  store_be16(ip + 10, checksum({ip, new_header}));
  if (at == "l4") return;
  uint8_t* l4 = ip + new_header;
  if (p.ip_proto == kUdp) shift(l4 + 4);
  uint8_t* sum = transport_checksum(frame.data(), p);
  if (sum == nullptr) return;
  store_be16(sum, 0);
  const size_t length = load_be16(ip + 2) - new_header;
  uint64_t total = checksum_sum({l4, length});
  if (p.ip_proto == kTcp || p.ip_proto == kUdp)
    total += pseudo_header_sum(p.ip_src, p.ip_dst, p.ip_proto, static_cast<uint16_t>(length));
  const auto value = static_cast<uint16_t>(~checksum_fold(total));
  store_be16(sum, p.ip_proto == kUdp && value == 0 ? UINT16_MAX : value);
}

const ModuleKind kDuplicator = kind<Duplicator>("duplicator", 1, false);
const ModuleKind kHolder = kind<Holder>("holder", 1, true);
const ModuleKind kBursts{
    .name = "bursts",
    .inputs = 0,
    .gates = 1,
    .role = ModuleKind::Role::kTask,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Bursts>(context); },
};
const ModuleKind kJoiner = kind<Joiner>("joiner", 3, false);
const ModuleKind kBurner = kind<Burner>("burner", 1, false);
const ModuleKind kFieldWriter = kind<FieldWriter>("field_writer", 1, false, 3);
const ModuleKind kResizer = kind<Resizer>("resizer", 1, false, 3);

}  // namespace orrery::testing
