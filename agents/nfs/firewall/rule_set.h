// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nfs/config_reader.h"

namespace orrery::firewall {

// One rule; an absent field matches everything. A rule with a port matches only packets that have ports.
struct FirewallRule {
  bool allow = false;
  std::optional<IpPrefix> src;
  std::optional<IpPrefix> dst;
  std::optional<uint8_t> proto;
  std::optional<PortRange> src_port;
  std::optional<PortRange> dst_port;

  bool operator==(const FirewallRule& other) const {
    return allow == other.allow && are_equal(src, other.src) && are_equal(dst, other.dst) && proto == other.proto &&
           src_port == other.src_port && dst_port == other.dst_port;
  }
};

// Finds the first matching rule by bit vectors (Lakshman and Stiliadis, SIGCOMM 1998): each field's values fall into
// intervals within which the same rules match; a packet's rules are the conjunction of one bit vector a field. A
// summary word before each vector says which of its words are not zero.
class RuleSet {
 public:
  static constexpr size_t kMaxRules = 4096;
  static constexpr size_t kBatch = 32;
  static constexpr uint16_t kNoRule = UINT16_MAX;

  // Packets as columns. Ports are looked at only where has_ports is set.
  struct Batch {
    std::array<uint32_t, kBatch> src;
    std::array<uint32_t, kBatch> dst;
    std::array<uint32_t, kBatch> src_port;
    std::array<uint32_t, kBatch> dst_port;
    std::array<uint8_t, kBatch> proto;
    std::array<bool, kBatch> has_ports;
    uint32_t ipv6 = 0;  // bit n: packet n has IPv6 addresses, in place of src and dst
    std::array<Ipv6Address, kBatch> ipv6_src;
    std::array<Ipv6Address, kBatch> ipv6_dst;
  };

  // At most kMaxRules rules.
  explicit RuleSet(std::span<const FirewallRule> rules);

  // Index of the first rule that matches each of the first `count` packets, or kNoRule. Columns behind `count` must
  // hold initialized values, but for those of IPv6.
  void match(const Batch& batch, size_t count, std::array<uint16_t, kBatch>& rules) const;

 private:
  __extension__ using Wide = unsigned __int128;

  template <class Number>
  struct Interval {
    Number lo;
    Number hi;
  };

  // What a rule says of a field: anything (empty), or one interval, or nothing that the field can be (no interval).
  template <class Number>
  using Wanted = std::optional<std::optional<Interval<Number>>>;

  // One field: sorted lower bounds of its intervals, padded to a power of two, and a row of bits for each.
  template <class Number>
  struct Field {
    std::vector<Number> bounds;
    std::vector<uint64_t> rows;
    uint32_t intervals = 0;
    uint32_t steps = 0;  // log2 of bounds.size()
  };

  template <class Number>
  Field<Number> build(std::span<const Wanted<Number>> ranges) const;
  void search(const Field<uint32_t>& field, const std::array<uint32_t, kBatch>& keys,
              std::array<const uint64_t*, kBatch>& rows) const;
  const uint64_t* search(const Field<Wide>& field, const Ipv6Address& key) const;
  void summarize(uint64_t* row) const;

  size_t words_;   // of 64 rules
  size_t stride_;  // words of a row: the summary and words_
  Field<uint32_t> src_;
  Field<uint32_t> dst_;
  Field<Wide> ipv6_src_;
  Field<Wide> ipv6_dst_;
  Field<uint32_t> src_port_;
  Field<uint32_t> dst_port_;
  std::array<uint16_t, 256> proto_row_{};
  std::vector<uint64_t> proto_rows_;
};

}  // namespace orrery::firewall
