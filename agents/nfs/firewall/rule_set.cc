// SPDX-License-Identifier: Apache-2.0
#include "nfs/firewall/rule_set.h"

#include <algorithm>
#include <bit>

namespace orrery::firewall {
namespace {

void set_bit(uint64_t* row, size_t rule) {
  row[1 + rule / 64] |= uint64_t{1} << rule % 64;
}
void clear_bit(uint64_t* row, size_t rule) {
  row[1 + rule / 64] &= ~(uint64_t{1} << rule % 64);
}

template <class Wide>
Wide as_number(const Ipv6Address& address) {
  return static_cast<Wide>(address.high) << 64 | address.low;
}

}  // namespace

RuleSet::RuleSet(std::span<const FirewallRule> rules) : words_((rules.size() + 63) / 64), stride_(1 + words_) {
  const auto build_field = [&]<class Number>(auto&& wanted_of, Field<Number>& field) {
    std::vector<Wanted<Number>> ranges(rules.size());
    std::ranges::transform(rules, ranges.begin(), wanted_of);
    field = build<Number>(ranges);
  };
  const auto of_ipv4 = [](const std::optional<IpPrefix>& p) -> Wanted<uint32_t> {
    if (!p) return {};
    const auto* prefix = std::get_if<Ipv4Prefix>(&*p);
    if (prefix == nullptr) return std::optional<Interval<uint32_t>>();
    return Interval<uint32_t>{prefix->address, prefix->last()};
  };
  const auto of_ipv6 = [](const std::optional<IpPrefix>& p) -> Wanted<Wide> {
    if (!p) return {};
    const auto* prefix = std::get_if<Ipv6Prefix>(&*p);
    if (prefix == nullptr) return std::optional<Interval<Wide>>();
    return Interval<Wide>{as_number<Wide>(prefix->address), as_number<Wide>(prefix->last())};
  };
  const auto of_ports = [](const std::optional<PortRange>& p) -> Wanted<uint32_t> {
    if (!p) return {};
    return Interval<uint32_t>{p->lo, p->hi};
  };
  build_field([&](const FirewallRule& r) { return of_ipv4(r.src); }, src_);
  build_field([&](const FirewallRule& r) { return of_ipv4(r.dst); }, dst_);
  build_field([&](const FirewallRule& r) { return of_ipv6(r.src); }, ipv6_src_);
  build_field([&](const FirewallRule& r) { return of_ipv6(r.dst); }, ipv6_dst_);
  build_field([&](const FirewallRule& r) { return of_ports(r.src_port); }, src_port_);
  build_field([&](const FirewallRule& r) { return of_ports(r.dst_port); }, dst_port_);

  // Row 0: protocols that no rule names.
  proto_rows_.assign(stride_, 0);
  for (const FirewallRule& rule : rules) {
    if (!rule.proto || proto_row_[*rule.proto] != 0) continue;
    proto_row_[*rule.proto] = static_cast<uint16_t>(proto_rows_.size() / stride_);
    proto_rows_.resize(proto_rows_.size() + stride_, 0);
  }
  for (size_t r = 0; r < rules.size(); ++r) {
    if (rules[r].proto) {
      set_bit(&proto_rows_[proto_row_[*rules[r].proto] * stride_], r);
    } else {
      for (size_t row = 0; row < proto_rows_.size(); row += stride_) set_bit(&proto_rows_[row], r);
    }
  }
  for (size_t row = 0; row < proto_rows_.size(); row += stride_) summarize(&proto_rows_[row]);
}

// The row behind the last interval is for packets without the field: it holds the rules that do not ask for it.
template <class Number>
RuleSet::Field<Number> RuleSet::build(std::span<const Wanted<Number>> ranges) const {
  constexpr Number kMax = ~Number{0};
  Field<Number> field;
  field.bounds.push_back(0);
  for (const auto& range : ranges) {
    if (!range || !*range) continue;
    field.bounds.push_back((*range)->lo);
    if ((*range)->hi != kMax) field.bounds.push_back((*range)->hi + 1);
  }
  std::ranges::sort(field.bounds);
  field.bounds.erase(std::unique(field.bounds.begin(), field.bounds.end()), field.bounds.end());
  field.intervals = static_cast<uint32_t>(field.bounds.size());
  field.rows.assign((field.intervals + size_t{1}) * stride_, 0);

  const auto interval_of = [&](Number bound) {
    return static_cast<size_t>(std::ranges::lower_bound(field.bounds, bound) - field.bounds.begin());
  };
  uint64_t* absent = &field.rows[field.intervals * stride_];
  for (size_t r = 0; r < ranges.size(); ++r)
    if (!ranges[r]) set_bit(absent, r);
  std::vector<std::pair<size_t, size_t>> begins;  // interval, rule
  std::vector<std::pair<size_t, size_t>> ends;
  for (size_t r = 0; r < ranges.size(); ++r) {
    if (!ranges[r] || !*ranges[r]) continue;
    const Interval<Number>& interval = **ranges[r];
    begins.emplace_back(interval_of(interval.lo), r);
    if (interval.hi != kMax) ends.emplace_back(interval_of(interval.hi + 1), r);
  }
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  auto begin = begins.begin();
  auto end = ends.begin();
  for (size_t i = 0; i < field.intervals; ++i) {
    uint64_t* row = &field.rows[i * stride_];
    std::copy_n(i == 0 ? absent : row - stride_, stride_, row);
    for (; end != ends.end() && end->first == i; ++end) clear_bit(row, end->second);
    for (; begin != begins.end() && begin->first == i; ++begin) set_bit(row, begin->second);
  }
  for (size_t i = 0; i <= field.intervals; ++i) summarize(&field.rows[i * stride_]);

  field.bounds.resize(std::bit_ceil(field.bounds.size()), kMax);
  field.steps = static_cast<uint32_t>(std::countr_zero(field.bounds.size()));
  return field;
}

void RuleSet::summarize(uint64_t* row) const {
  row[0] = 0;
  for (size_t w = 0; w < words_; ++w) row[0] |= uint64_t{row[1 + w] != 0} << w;
}

// Binary search of all packets in step, so that their loads overlap.
void RuleSet::search(const Field<uint32_t>& field, const std::array<uint32_t, kBatch>& keys,
                     std::array<const uint64_t*, kBatch>& rows) const {
  std::array<uint32_t, kBatch> position{};
  const uint32_t* bounds = field.bounds.data();
  for (uint32_t half = (1u << field.steps) >> 1; half != 0; half >>= 1)
    for (size_t i = 0; i < kBatch; ++i)
      position[i] += half & (uint32_t{0} - uint32_t{bounds[position[i] + half] <= keys[i]});
  for (size_t i = 0; i < kBatch; ++i) rows[i] = &field.rows[std::min(position[i], field.intervals - 1) * stride_];
}

const uint64_t* RuleSet::search(const Field<Wide>& field, const Ipv6Address& key) const {
  const auto number = as_number<Wide>(key);
  uint32_t position = 0;
  for (uint32_t half = (1u << field.steps) >> 1; half != 0; half >>= 1)
    if (field.bounds[position + half] <= number) position += half;
  return &field.rows[std::min(position, field.intervals - 1) * stride_];
}

void RuleSet::match(const Batch& batch, size_t count, std::array<uint16_t, kBatch>& rules) const {
  std::array<const uint64_t*, kBatch> src, dst, src_port, dst_port;
  search(src_, batch.src, src);
  search(dst_, batch.dst, dst);
  search(src_port_, batch.src_port, src_port);
  search(dst_port_, batch.dst_port, dst_port);
  for (uint32_t rest = batch.ipv6; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(rest));
    src[i] = search(ipv6_src_, batch.ipv6_src[i]);
    dst[i] = search(ipv6_dst_, batch.ipv6_dst[i]);
  }
  const uint64_t* no_src_port = &src_port_.rows[src_port_.intervals * stride_];
  const uint64_t* no_dst_port = &dst_port_.rows[dst_port_.intervals * stride_];
  for (size_t i = 0; i < count; ++i) {
    const uint64_t* a = src[i];
    const uint64_t* b = dst[i];
    const uint64_t* c = batch.has_ports[i] ? src_port[i] : no_src_port;
    const uint64_t* d = batch.has_ports[i] ? dst_port[i] : no_dst_port;
    const uint64_t* e = &proto_rows_[proto_row_[batch.proto[i]] * stride_];
    rules[i] = kNoRule;
    for (uint64_t summary = a[0] & b[0] & c[0] & d[0] & e[0]; summary != 0; summary &= summary - 1) {
      const size_t w = static_cast<size_t>(std::countr_zero(summary));
      const uint64_t hit = a[1 + w] & b[1 + w] & c[1 + w] & d[1 + w] & e[1 + w];
      if (hit == 0) continue;
      rules[i] = static_cast<uint16_t>(w * 64 + static_cast<size_t>(std::countr_zero(hit)));
      break;
    }
  }
}

}  // namespace orrery::firewall
