// SPDX-License-Identifier: Apache-2.0
#include "nfs/bytestream/bytestream_core.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "nfs/bytestream/held_bytes.h"
#include "nfs/bytestream/stream_view.h"
#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/ip_frame.h"
#include "support/checksum.h"

namespace orrery::bytestream {
namespace {

using nlohmann::json;

// Streams without a byte yet, and what follows a FIN: its copies, and acknowledgements.
constexpr uint64_t kTransitoryNs = 10'000'000'000;

struct Config {
  FlowLimits flows;
  uint32_t flow_blocks;  // held for one stream, at most
  uint32_t window;       // how far ahead of what is contiguous bytes are held
  uint32_t blocks;       // held for all
  uint64_t hole_timeout_ns;

  bool operator==(const Config&) const = default;
};

uint32_t blocks_for(uint64_t bytes) {
  return static_cast<uint32_t>((bytes + HeldBytes::kBlockBytes - 1) / HeldBytes::kBlockBytes);
}

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config{};
  config.flows.max_flows = static_cast<uint32_t>(reader.integer_or("max_streams", 1, kMaxFlows, 65536));
  config.flows.idle_ns = static_cast<uint64_t>(reader.integer_or("idle_timeout_s", 1, 86400, 300)) * 1'000'000'000u;
  config.flows.transitory_idle_ns = std::min(kTransitoryNs, config.flows.idle_ns);
  config.flows.granularity_ns = config.flows.transitory_idle_ns / 64;
  config.window = static_cast<uint32_t>(reader.integer_or("max_stream_bytes", 4096, kMaxStreamBytes, 262144));
  config.flow_blocks = blocks_for(config.window);
  config.blocks = blocks_for(static_cast<uint64_t>(reader.integer_or("max_bytes", 4096, 1 << 30, 16 << 20)));
  config.hole_timeout_ns =
      static_cast<uint64_t>(reader.integer_or("hole_timeout_ms", 10, 600'000, 10'000)) * 1'000'000u;
  reader.done();
  return config;
}

struct Stream {
  uint64_t id;
  uint64_t hole_since_ns;  // 0: nothing is missing
  uint32_t next;           // sequence number behind what is contiguous
  uint32_t end;            // where the stream ends, once that is known
  uint32_t renewal;        // where the next connection would begin, once a SYN has asked for one
  HeldBytes::List held;
  bool has_data : 1;
  bool has_end : 1;
  bool has_renewal : 1;
  bool closed : 1;

  bool transitory() const { return closed || !has_data; }
};

using Streams = FlowStore<FlowTuple, Stream>;

struct Counters {
  uint64_t in_order = 0;     // packets whose new bytes were contiguous by themselves
  uint64_t held = 0;         // packets that came too early
  uint64_t reassembled = 0;  // packets that made held bytes contiguous
  uint64_t repeated = 0;     // packets that brought nothing new
  uint64_t repeated_bytes = 0;
  uint64_t picked_up = 0;  // streams whose begin was not seen
  uint64_t gaps = 0;       // missing bytes that were given up
  uint64_t gap_bytes = 0;
  uint64_t gaps_by_room = 0;        // of these, because there was no room for what came behind
  uint64_t lost_bytes = 0;          // for want of room
  uint64_t out_of_window = 0;       // packets too far from what is contiguous
  uint64_t behind_end = 0;          // packets with bytes behind a FIN
  uint64_t fragments = 0;           // TCP packets that are not followed
  uint64_t dropped_held_bytes = 0;  // of streams that ended, or made room
  uint64_t most_held_bytes = 0;
};

struct Figures {
  FlowFigures streams;
  Counters counters;
  uint64_t held_bytes;
  uint64_t held_memory_bytes;
};

struct Segment {
  uint32_t sequence;  // of the first byte of the payload
  uint8_t flags;
  std::span<const uint8_t> payload;
};

class Bytestream final : public NfCore {
 public:
  Bytestream(const Config& config, StreamLog& log)
      : log_(log), config_(config), streams_(config.flows), held_(config.blocks) {
    run_.reserve(kMaxViewBytes);
  }

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    streams_.expire(now_ns, 4, [&](auto& entry) { drop_held(entry.value); });
    for (size_t begin = 0; begin < packets.size(); begin += kFlowBatch)
      follow_batch(packets.subspan(begin, std::min(packets.size() - begin, kFlowBatch)), now_ns);
    for (NfVerdict& verdict : verdicts) verdict = {.drop = false, .drop_reason = 0, .out = in};
  }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField>) const override {
    return std::make_unique<Next>(streams_, read_config(value));
  }

  // Where the room for held bytes changes, those that wait are lost, and their streams go on with a gap.
  void take(NextConfig& next) noexcept override {
    auto& [config, streams, held] = static_cast<Next&>(next);
    if (config.blocks != config_.blocks || streams.table) {
      streams_.table().for_each([&](const auto& entry) {
        drop_held(streams_.table().at(streams_.table().id_of(entry)).value);
        return true;
      });
    }
    if (config.blocks != config_.blocks) std::swap(held_, held);
    std::swap(config_, config);
    streams_.take(streams);
  }

  std::unique_ptr<StateCopy> copy_state(size_t) const override {
    return copy_figures(
        [this] {
          return Figures{streams_.figures(), counters_, held_.bytes(),
                         uint64_t{held_.blocks_in_use()} * sizeof(HeldBytes::Block)};
        },
        [](const Figures& figures, RowForm) { return view(figures); });
  }

  // Streams do not move: another instance picks them up where it finds them.
  std::unique_ptr<StateCopy> copy_flows() const override { return copy_no_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override { return import_no_flows(state); }

 private:
  struct Next final : NextConfig {
    Next(const Streams& from, const Config& of) : config(of), streams(from, of.flows), held(of.blocks) {}
    Config config;
    Streams::Resize streams;
    HeldBytes held;
  };

  static json view(const Figures& figures) {
    const auto& [streams, c, held_bytes, held_memory] = figures;
    return {{"streams", streams.size},
            {"max_streams", streams.capacity},
            {"streams_begun", streams.created},
            {"streams_evicted", streams.evicted},
            {"picked_up", c.picked_up},
            {"packets_in_order", c.in_order},
            {"packets_held", c.held},
            {"packets_reassembled", c.reassembled},
            {"packets_repeated", c.repeated},
            {"repeated_bytes", c.repeated_bytes},
            {"held_bytes", held_bytes},
            {"held_memory_bytes", held_memory},
            {"most_held_bytes", c.most_held_bytes},
            {"gaps", c.gaps},
            {"gap_bytes", c.gap_bytes},
            {"gaps_by_room", c.gaps_by_room},
            {"lost_bytes", c.lost_bytes},
            {"dropped_held_bytes", c.dropped_held_bytes},
            {"out_of_window", c.out_of_window},
            {"behind_end", c.behind_end},
            {"fragments", c.fragments}};
  }

  void follow_batch(std::span<NfPacket> packets, uint64_t now_ns) {
    std::array<FlowTuple, kFlowBatch> keys;
    std::array<uint32_t, kFlowBatch> hashes{};
    for (size_t i = 0; i < packets.size(); ++i) keys[i].set(packets[i].parsed);
    streams_.look_up({keys.data(), packets.size()}, hashes);
    for (size_t i = 0; i < packets.size(); ++i) {
      const NfPacket& packet = packets[i];
      const ParsedPacket& p = packet.parsed;
      *packet.stream = {};
      if (p.ip_proto != kTcp || !is_ip(p) || p.kind == PacketKind::kMalformed) continue;
      if (p.fragment) {
        ++counters_.fragments;
        continue;
      }
      if (!is_tcp(p)) continue;
      const uint8_t flags = tcp_flags(packet);
      if (p.payload_length == 0 && (flags & (kTcpSyn | kTcpFin | kTcpRst)) == 0) continue;
      const uint32_t sequence = load_be32(packet.data + p.l4_offset + 4) + ((flags & kTcpSyn) != 0);
      const Segment segment{sequence, flags, {packet.data + p.payload_offset, p.payload_length}};
      follow(*packet.stream, segment, keys[i], hashes[i], now_ns);
    }
  }

  void follow(StreamView& view, Segment segment, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    Streams::Entry* entry = live(key, hash, now_ns);
    if ((segment.flags & kTcpRst) != 0) return reset(view, segment, entry, now_ns);
    if ((segment.flags & kTcpSyn) != 0) entry = &open(entry, segment.sequence, key, hash, now_ns);
    if (entry == nullptr || is_of_another(entry->value, segment)) {
      if (segment.payload.empty()) return;
      const bool renewed = entry != nullptr && entry->value.has_renewal;
      entry = &begin(entry, renewed ? entry->value.renewal : segment.sequence, key, hash, now_ns);
      counters_.picked_up += !renewed;
    }
    Stream& stream = entry->value;
    view.stream = stream.id;
    view.sequence = stream.next;
    if (!stream.closed) {
      advance(view, stream, segment, now_ns);
    } else if (!segment.payload.empty()) {
      repeat(segment.payload.size());
    }
    streams_.touch(*entry, now_ns);
  }

  // Counts where the receiver takes it: exactly behind what is contiguous (RFC 5961 3.2).
  void reset(StreamView& view, const Segment& segment, Streams::Entry* entry, uint64_t now_ns) {
    if (entry == nullptr || segment.sequence != entry->value.next) return;
    view.stream = entry->value.id;
    view.sequence = segment.sequence;
    view.ends = !entry->value.closed;
    close(entry->value);
    streams_.touch(*entry, now_ns);
  }

  // A SYN. In a connection that is open it begins nothing by itself, because its receiver would only be asked whether
  // it is meant (RFC 9293 3.10.7.4): the first byte behind it decides.
  Streams::Entry& open(Streams::Entry* entry, uint32_t first, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    if (entry == nullptr || entry->value.closed || !entry->value.has_data)
      return entry != nullptr && entry->value.next == first && !entry->value.closed
                 ? *entry
                 : begin(entry, first, key, hash, now_ns);
    Stream& stream = entry->value;
    if (!is_near(stream, first)) {
      stream.renewal = first;
      stream.has_renewal = true;
    }
    return *entry;
  }

  // Whether a segment is of a connection that comes after the one known.
  bool is_of_another(const Stream& stream, const Segment& segment) const {
    if (segment.payload.empty() || (segment.flags & kTcpSyn) != 0) return false;
    if (stream.has_renewal && !is_near(stream, segment.sequence))
      return distance(segment.sequence, stream.renewal) >= 0 &&
             distance(segment.sequence, stream.renewal) < static_cast<int32_t>(config_.window);
    return stream.closed && distance(segment.sequence + static_cast<uint32_t>(segment.payload.size()), stream.next) > 0;
  }

  bool is_near(const Stream& stream, uint32_t sequence) const {
    const auto window = static_cast<int32_t>(config_.window);
    return distance(sequence, stream.next) <= window && distance(sequence, stream.next) >= -window;
  }

  // A stream from its first byte on, in the place of one that there was.
  Streams::Entry& begin(Streams::Entry* entry, uint32_t first, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    if (entry != nullptr) {
      drop_held(entry->value);
      streams_.table().erase(*entry);
    }
    const auto drop = [&](auto& other) { drop_held(other.value); };
    if (streams_.table().full() && !streams_.evict_transitory(drop)) drop(*streams_.table().oldest());
    Stream stream{};
    stream.id = log_.next_stream();
    stream.next = first;
    return streams_.insert_evicting(key, hash, now_ns, stream);
  }

  Streams::Entry* live(const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    Streams::Entry* entry = streams_.find(key, hash);
    if (entry == nullptr || !streams_.idle_too_long(*entry, now_ns)) return entry;
    drop_held(entry->value);
    streams_.table().erase(*entry);
    streams_.count_expired();
    return nullptr;
  }

  void advance(StreamView& view, Stream& stream, Segment& segment, uint64_t now_ns) {
    note_end(stream, segment);
    uint32_t from = segment.sequence;
    auto& payload = segment.payload;
    if (payload.empty()) return end_if_complete(view, stream);
    stream.has_data = true;
    if (const int32_t beyond = stream.has_end ? distance(from + size_of(payload), stream.end) : 0; beyond > 0) {
      ++counters_.behind_end;
      payload = payload.first(payload.size() - std::min<size_t>(payload.size(), static_cast<size_t>(beyond)));
    }
    const int32_t known = distance(stream.next, from);
    if (known > 0) {
      const size_t old = std::min<size_t>(payload.size(), static_cast<size_t>(known));
      counters_.repeated_bytes += old;
      payload = payload.subspan(old);
      from = stream.next;
      view.skipped = static_cast<uint16_t>(old);
    }
    if (payload.empty()) {
      ++counters_.repeated;
      return end_if_complete(view, stream);
    }
    if (from != stream.next) {
      if (wait(stream, from, payload, now_ns)) return;
      give_up(view, stream, from);
    }
    if (from == stream.next && (stream.held.empty() || distance(held_.first(stream.held).sequence, from) >
                                                           static_cast<int32_t>(payload.size()))) {
      ++counters_.in_order;
      view.length = size_of(payload);
      stream.next += view.length;
    } else {
      reassemble(view, stream, from, payload);
    }
    stream.hole_since_ns = stream.held.empty() ? 0 : now_ns;
    end_if_complete(view, stream);
  }

  // The first FIN that the receiver may take says where the stream ends.
  void note_end(Stream& stream, const Segment& segment) {
    if ((segment.flags & kTcpFin) == 0 || stream.has_end) return;
    const uint32_t end = segment.sequence + size_of(segment.payload);
    const int32_t ahead = distance(end, stream.next);
    if (ahead < 0 || ahead > static_cast<int32_t>(config_.window)) {
      counters_.out_of_window += segment.payload.empty();  // with bytes, it is counted for them
      return;
    }
    stream.has_end = true;
    stream.end = end;
  }

  void end_if_complete(StreamView& view, Stream& stream) {
    if (!stream.has_end || stream.next != stream.end) return;
    view.ends = true;
    close(stream);
  }

  void close(Stream& stream) {
    stream.closed = true;
    stream.has_renewal = false;
    stream.hole_since_ns = 0;
    drop_held(stream);
  }

  // Bytes that came too early. False: what is missing in front of them will not be waited for any longer.
  bool wait(Stream& stream, uint32_t from, std::span<const uint8_t> payload, uint64_t now_ns) {
    if (stream.hole_since_ns == 0) stream.hole_since_ns = now_ns;
    if (now_ns - std::min(now_ns, stream.hole_since_ns) >= config_.hole_timeout_ns) return false;
    const int32_t ahead = distance(from + size_of(payload), stream.next);
    if (ahead < 0 || ahead > static_cast<int32_t>(config_.window)) {
      ++counters_.out_of_window;
      return true;
    }
    const bool has_room = held_.hold(stream.held, from, payload, config_.flow_blocks);
    counters_.most_held_bytes = std::max(counters_.most_held_bytes, held_.bytes());
    counters_.held += has_room;
    counters_.gaps_by_room += !has_room;
    return has_room;
  }

  // Goes on behind the first gap.
  void give_up(StreamView& view, Stream& stream, uint32_t from) {
    uint32_t to = from;
    if (!stream.held.empty() && distance(held_.first(stream.held).sequence, to) < 0)
      to = held_.first(stream.held).sequence;
    ++counters_.gaps;
    if (is_near(stream, to)) counters_.gap_bytes += to - stream.next;
    stream.next = view.sequence = to;
    view.gap = true;
    // A gap that leads past the end: what was taken for a FIN was none.
    if (stream.has_end && distance(to, stream.end) > 0) stream.has_end = false;
  }

  // What is contiguous now, of held bytes and these. What is not is held on, where there is room.
  void reassemble(StreamView& view, Stream& stream, uint32_t from, std::span<const uint8_t> payload) {
    run_.clear();
    uint32_t at = stream.next;
    const uint32_t to = from + size_of(payload);
    for (;;) {
      const bool waiting = !stream.held.empty();
      if (waiting && held_.first(stream.held).sequence == at) {
        const HeldBytes::Block& block = held_.first(stream.held);
        run_.insert(run_.end(), block.data, block.data + block.length);
        at += block.length;
        held_.pop(stream.held);
      } else if (distance(at, from) >= 0 && distance(at, to) < 0) {
        const uint32_t end =
            waiting && distance(held_.first(stream.held).sequence, to) < 0 ? held_.first(stream.held).sequence : to;
        const auto part = payload.subspan(at - from, end - at);
        run_.insert(run_.end(), part.begin(), part.end());
        at = end;
      } else {
        break;
      }
    }
    if (const int32_t beyond = stream.has_end ? distance(at, stream.end) : 0; beyond > 0) {
      run_.resize(run_.size() - static_cast<size_t>(beyond));
      at = stream.end;
    }
    if (distance(at, from) < 0 && !held_.hold(stream.held, from, payload, config_.flow_blocks))
      counters_.lost_bytes += payload.size();
    ++counters_.reassembled;
    view.log = &log_;
    view.length = static_cast<uint32_t>(run_.size());
    view.position = log_.append(run_);
    view.skipped = 0;
    stream.next = at;
  }

  void drop_held(Stream& stream) {
    const uint64_t before = held_.bytes();
    held_.clear(stream.held);
    counters_.dropped_held_bytes += before - held_.bytes();
  }

  void repeat(size_t bytes) {
    ++counters_.repeated;
    counters_.repeated_bytes += bytes;
  }

  static uint32_t size_of(std::span<const uint8_t> bytes) { return static_cast<uint32_t>(bytes.size()); }

  static constexpr uint8_t kTcp = 6;

  StreamLog& log_;
  Config config_;
  Streams streams_;
  HeldBytes held_;
  std::vector<uint8_t> run_;  // what a packet makes contiguous
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, StreamLog& log) {
  return std::make_unique<Bytestream>(read_config(config), log);
}

}  // namespace orrery::bytestream
