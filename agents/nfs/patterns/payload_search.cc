// SPDX-License-Identifier: Apache-2.0
#include "nfs/patterns/payload_search.h"

#include <hs/hs.h>

#include <nlohmann/json.hpp>

#include "nfs/bytestream/bytestream_core.h"
#include "nfs/ip_frame.h"
#include "nfs/patterns/report.h"

namespace orrery {
namespace {

constexpr uint64_t kStreamIdleNs = 300'000'000'000;

}  // namespace

std::optional<StreamLimits> read_stream_limits(ConfigReader& reader) {
  const bool streams = reader.choice_or("inspect", {"packets", "streams"}, "packets") == "streams";
  const auto max_streams = static_cast<uint32_t>(reader.integer_or("max_streams", 1, 65536, 16384));
  if (!streams) return std::nullopt;
  return StreamLimits{max_streams, kStreamIdleNs};
}

PayloadSearch::PayloadSearch(std::span<const Pattern> patterns, const std::optional<StreamLimits>& limits)
    : matcher_(patterns) {
  if (!limits) return;
  streams_.emplace(FlowLimits{.max_flows = limits->max_streams,
                              .idle_ns = limits->idle_ns,
                              .granularity_ns = limits->idle_ns / 64,
                              .transitory_idle_ns = limits->idle_ns});
  if (patterns.empty()) return;
  database_ = compile_patterns(patterns, true);
  scratch_ = scratch_for(database_, patterns[0]);
  size_t bytes = 0;
  hs_stream_size(database_.get(), &bytes);
  if (const uint64_t most = kMaxStreamMemory / std::max<size_t>(1, bytes); limits->max_streams > most)
    throw ConfigError("/max_streams", "must be at most " + std::to_string(most) + " with these patterns, of which " +
                                          std::to_string(bytes) + " bytes are kept for each stream");
  states_.reserve(limits->max_streams);
  spare_.reserve(limits->max_streams);
  while (states_.size() < limits->max_streams) {
    hs_stream_t* state = nullptr;
    if (hs_open_stream(database_.get(), 0, &state) != HS_SUCCESS)
      throw ConfigError("/max_streams", "no memory for what is kept of so many streams");
    states_.emplace_back(state);
    spare_.push_back(state);
  }
  room_.reserve(bytestream::kMaxViewBytes);
}

void PayloadSearch::CloseStream::operator()(hs_stream* state) const {
  hs_close_stream(state, nullptr, nullptr, nullptr);
}

void PayloadSearch::expire(uint64_t now_ns) {
  if (streams_) streams_->expire(now_ns, 4, [&](auto& entry) { give_back(entry.value); });
}

PayloadSearch::Result PayloadSearch::search(const NfPacket& packet, uint64_t now_ns, Matcher::OnMatch on_match,
                                            void* context) {
  const ParsedPacket& p = packet.parsed;
  const std::span<const uint8_t> payload{packet.data + p.payload_offset, p.payload_length};
  if (!streams_ || !is_tcp(p)) return {.whole = matcher_.scan(payload, on_match, context)};
  if (packet.stream == nullptr || packet.stream->stream == 0) {
    figures_.not_reassembled += !payload.empty();
    return {.whole = matcher_.scan(payload, on_match, context)};
  }
  return search_stream(*packet.stream, payload, now_ns, on_match, context);
}

PayloadSearch::Result PayloadSearch::search_stream(const StreamView& view, std::span<const uint8_t> payload,
                                                   uint64_t now_ns, Matcher::OnMatch on_match, void* context) {
  const uint32_t hash = streams_->table().hash(view.stream);
  if (payload.empty() && view.length == 0) {
    Streams::Entry* entry = view.ends ? streams_->find(view.stream, hash) : nullptr;
    if (entry != nullptr && !entry->value.blocked) forget(*entry);
    return {};
  }
  Result result;
  Streams::Entry& entry = known(view, hash, now_ns);
  Known& stream = entry.value;
  result.blocked = stream.blocked;
  figures_.blocked += stream.blocked && !payload.empty();
  const bool next = view.is_payload(static_cast<uint16_t>(payload.size()));
  if (view.length > 0) {
    if (view.gap || stream.next != view.sequence) {
      ++figures_.gaps;
      begin_anew(stream.state);
    }
    stream.next = view.sequence + view.length;
    std::span<const uint8_t> bytes;
    if (!view.bytes(payload, room_, bytes)) {
      ++figures_.gaps;
      begin_anew(stream.state);
      result.whole = false;
    } else if (stream.state != nullptr) {
      result.whole = scan_stream(stream.state, bytes, on_match, context);
    }
  }
  if (!next) result.whole &= matcher_.scan(payload, on_match, context);
  streams_->touch(entry, now_ns);
  if (view.ends && !stream.blocked) forget(entry);
  return result;
}

bool PayloadSearch::scan_stream(hs_stream* state, std::span<const uint8_t> bytes, Matcher::OnMatch on_match,
                                void* context) {
  Report report{on_match, context};
  return hs_scan_stream(state, reinterpret_cast<const char*>(bytes.data()), static_cast<unsigned>(bytes.size()), 0,
                        scratch_.get(), report_match, &report) == HS_SUCCESS;
}

void PayloadSearch::block(const NfPacket& packet) {
  if (!streams_ || packet.stream == nullptr || packet.stream->stream == 0) return;
  const uint64_t id = packet.stream->stream;
  Streams::Entry* entry = streams_->find(id, streams_->table().hash(id));
  if (entry == nullptr) return;
  entry->value.blocked = true;
  streams_->touch(*entry, entry->last_seen_ns);
}

PayloadSearch::Streams::Entry& PayloadSearch::known(const StreamView& view, uint32_t hash, uint64_t now_ns) {
  if (Streams::Entry* entry = streams_->find(view.stream, hash)) return *entry;
  const auto drop = [&](auto& entry) { give_back(entry.value); };
  if (streams_->table().full() && !streams_->evict_transitory(drop)) drop(*streams_->table().oldest());
  return streams_->insert_evicting(view.stream, hash, now_ns,
                                   {.state = fresh_state(), .next = view.sequence, .blocked = false});
}

// Null without patterns.
hs_stream* PayloadSearch::fresh_state() {
  if (spare_.empty()) return nullptr;
  hs_stream* state = spare_.back();
  spare_.pop_back();
  begin_anew(state);
  return state;
}

void PayloadSearch::forget(Streams::Entry& entry) {
  give_back(entry.value);
  streams_->table().erase(entry);
}

void PayloadSearch::give_back(Known& stream) {
  if (stream.state != nullptr) spare_.push_back(stream.state);
  stream.state = nullptr;
}

void PayloadSearch::begin_anew(hs_stream* state) {
  if (state != nullptr) hs_reset_stream(state, 0, scratch_.get(), nullptr, nullptr);
}

PayloadSearch::Figures PayloadSearch::figures() const {
  Figures out = figures_;
  if (streams_) out.streams = streams_->figures();
  return out;
}

void PayloadSearch::write(const Figures& figures, nlohmann::json& view) {
  view["streams"] = figures.streams.size;
  view["max_streams"] = figures.streams.capacity;
  view["streams_evicted"] = figures.streams.evicted;
  view["stream_gaps"] = figures.gaps;
  view["not_reassembled"] = figures.not_reassembled;
}

}  // namespace orrery
