// SPDX-License-Identifier: Apache-2.0
// Two-rate three-colour marker, colour-blind (RFC 2698).
#pragma once

#include <cstdint>
#include <optional>

namespace orrery::p4 {

// Bytes or packets a second; a burst is what a full bucket holds.
struct MeterRates {
  uint64_t committed_rate = 0;
  uint64_t committed_burst = 0;
  uint64_t peak_rate = 0;
  uint64_t peak_burst = 0;

  bool operator==(const MeterRates&) const = default;
};

enum class Colour : uint8_t { kGreen = 0, kYellow = 1, kRed = 2 };

class Meter {
 public:
  const std::optional<MeterRates>& rates() const { return rates_; }
  // The buckets are full afterwards.
  void set(const std::optional<MeterRates>& rates) {
    rates_ = rates;
    began_ = false;
  }

  // Of a packet of so many units; time must not go back.
  Colour mark(uint32_t units, uint64_t now_ns) {
    if (!rates_) return Colour::kGreen;
    if (!began_) {
      committed_.full(rates_->committed_burst);
      peak_.full(rates_->peak_burst);
      began_ = true;
    } else if (now_ns > last_ns_) {
      committed_.fill(rates_->committed_rate, rates_->committed_burst, now_ns - last_ns_);
      peak_.fill(rates_->peak_rate, rates_->peak_burst, now_ns - last_ns_);
    }
    last_ns_ = now_ns;
    if (!peak_.has(units)) return Colour::kRed;
    peak_.take(units);
    if (!committed_.has(units)) return Colour::kYellow;
    committed_.take(units);
    return Colour::kGreen;
  }

 private:
  struct Bucket {
    __extension__ using Tokens = unsigned __int128;  // thousand millionths of a unit
    static constexpr uint64_t kUnit = 1'000'000'000;
    Tokens tokens = 0;

    void full(uint64_t burst) { tokens = Tokens{burst} * kUnit; }
    void fill(uint64_t rate, uint64_t burst, uint64_t ns) {
      const Tokens most = Tokens{burst} * kUnit;
      const Tokens more = Tokens{rate} * ns;
      tokens = more >= most - tokens ? most : tokens + more;
    }
    bool has(uint32_t units) const { return tokens >= Tokens{units} * kUnit; }
    void take(uint32_t units) { tokens -= Tokens{units} * kUnit; }
  };

  std::optional<MeterRates> rates_;
  Bucket committed_;
  Bucket peak_;
  uint64_t last_ns_ = 0;
  bool began_ = false;
};

}  // namespace orrery::p4
