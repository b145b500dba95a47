// SPDX-License-Identifier: Apache-2.0
// Digest messages that wait to be sent or acknowledged (P4Runtime 1.4, 9.10).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "p4/core/bytes.h"

namespace orrery::p4::service {

struct DigestConfig {
  uint64_t max_timeout_ns = 0;
  uint64_t max_list_size = 0;  // 0: any
  uint64_t ack_timeout_ns = 0;
};

struct DueDigests {
  uint32_t digest_id;
  uint64_t list_id;
  std::vector<std::vector<ByteString>> messages;
};

// Not for several threads at once. Times are of one clock, in nanoseconds.
class DigestBook {
 public:
  static constexpr size_t kMost = 4096;  // messages of one digest that wait to be sent or acknowledged

  void configure(uint32_t digest_id, const DigestConfig& config);
  void disable(uint32_t digest_id);
  // Forgets what waits, as for another primary client.
  void forget();
  // Forgets the configuration as well.
  void clear() { digests_.clear(); }

  // Takes a message unless its digest is off, it waits already, or too many wait.
  void add(uint32_t digest_id, std::vector<ByteString> message, uint64_t now_ns);
  // Lists that are to be sent now.
  std::vector<DueDigests> due(uint64_t now_ns);
  // Whether there is such a list.
  bool acknowledge(uint32_t digest_id, uint64_t list_id);

  // When due() has something next, if nothing else is added.
  std::optional<uint64_t> next_ns() const;
  uint64_t dropped() const { return dropped_; }

 private:
  struct Sent {
    uint64_t at_ns;
    std::vector<std::string> keys;
  };
  struct Digest {
    DigestConfig config;
    std::vector<std::vector<ByteString>> waiting = {};
    uint64_t since_ns = 0;            // when the oldest that waits came
    std::set<std::string> seen = {};  // waiting or not acknowledged
    std::map<uint64_t, Sent> sent = {};
  };
  void expire(Digest& digest, uint64_t now_ns);

  std::map<uint32_t, Digest> digests_;
  uint64_t last_list_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace orrery::p4::service
