// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nfs/bytestream/stream_view.h"
#include "nfs/config_reader.h"
#include "nfs/flow_store.h"
#include "nfs/nf_core.h"
#include "nfs/patterns/matcher.h"

struct hs_stream;

namespace orrery {

struct StreamLimits {
  uint32_t max_streams;
  uint64_t idle_ns;

  bool operator==(const StreamLimits&) const = default;
};

// `inspect` and `max_streams` of a configuration. Nothing: packets are searched one by one.
std::optional<StreamLimits> read_stream_limits(ConfigReader& reader);

// Searches payloads for patterns: packet by packet, or TCP streams across the borders of segments.
//
// A stream is searched as its bytes become contiguous: a pattern is found in the packet that brings the last byte which
// it waits for. A packet that is not simply the next one of its stream is searched by itself too, and so is one that
// nobody has reassembled; so whatever a search of single packets finds is found. In expressions, `^` is then the begin
// of the stream, or where it was picked up, and `$` never comes.
class PayloadSearch {
 public:
  // Memory for what is known of streams, at most.
  static constexpr uint64_t kMaxStreamMemory = 64u << 20;

  // Throws ConfigError that points to the pattern that cannot be used, or to /max_streams.
  PayloadSearch(std::span<const Pattern> patterns, const std::optional<StreamLimits>& limits);

  bool reads_streams() const { return streams_.has_value(); }

  struct Result {
    bool whole = true;     // else some bytes could not be searched
    bool blocked = false;  // the stream was blocked before this packet
  };

  // Calls on_match(context, pattern) for each pattern that ends in what this packet made contiguous, or lies in the
  // packet; maybe more than once.
  Result search(const NfPacket& packet, uint64_t now_ns, Matcher::OnMatch on_match, void* context);

  // From now on, what is sent in the stream of this packet is `blocked`. Precondition: it was just searched.
  void block(const NfPacket& packet);

  // To be called once a batch.
  void expire(uint64_t now_ns);

  struct Figures {
    FlowFigures streams;
    uint64_t gaps = 0;             // in streams; what lies across one is not found
    uint64_t not_reassembled = 0;  // TCP packets that were searched by themselves alone
    uint64_t blocked = 0;          // packets
  };
  Figures figures() const;
  // As part of an operator's view, where streams are searched.
  static void write(const Figures& figures, nlohmann::json& view);

 private:
  // Streams that are blocked are the last to make room.
  struct Known {
    hs_stream* state;
    uint32_t next;
    bool blocked;

    bool transitory() const { return !blocked; }
  };
  using Streams = FlowStore<uint64_t, Known>;

  struct CloseStream {
    void operator()(hs_stream* state) const;
  };

  Result search_stream(const StreamView& view, std::span<const uint8_t> payload, uint64_t now_ns,
                       Matcher::OnMatch on_match, void* context);
  Streams::Entry& known(const StreamView& view, uint32_t hash, uint64_t now_ns);
  bool scan_stream(hs_stream* state, std::span<const uint8_t> bytes, Matcher::OnMatch on_match, void* context);
  hs_stream* fresh_state();
  void forget(Streams::Entry& entry);
  void give_back(Known& stream);
  void begin_anew(hs_stream* state);

  Matcher matcher_;
  HyperscanDatabase database_;  // for streams; null without patterns
  HyperscanScratch scratch_;
  std::optional<Streams> streams_;
  std::vector<std::unique_ptr<hs_stream, CloseStream>> states_;  // one for each stream; workers allocate none
  std::vector<hs_stream*> spare_;                                // of these, for streams to come
  std::vector<uint8_t> room_;
  Figures figures_;
};

}  // namespace orrery
