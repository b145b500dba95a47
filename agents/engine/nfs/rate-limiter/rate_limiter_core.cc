// SPDX-License-Identifier: Apache-2.0
#include "nfs/rate-limiter/rate_limiter_core.h"

#include <algorithm>

#include "nfs/config_reader.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"over_rate"};
// Credit of one byte: 8 bits for as long as one bit a second takes, in ns. With it a bucket fills without rounding.
constexpr uint64_t kCreditPerByte = 8'000'000'000;
constexpr uint64_t kMaxRateBps = 1'000'000'000'000;
constexpr uint64_t kMaxBurstBytes = 1'000'000'000;

class RateLimiter final : public NfCore {
 public:
  explicit RateLimiter(const json& config) {
    configure(config);
    credit_ = burst_credit();
  }

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    refill(now_ns);
    for (size_t i = 0; i < packets.size(); ++i) {
      const uint64_t cost = packets[i].length * kCreditPerByte;
      const bool pass = cost <= credit_;
      if (pass) credit_ -= cost;
      auto& count = pass ? passed_ : dropped_;
      ++count.packets;
      count.bytes += packets[i].length;
      verdicts[i] = {.drop = !pass, .drop_reason = 0, .out = in};
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& config) const override {
    ConfigReader reader(config, "");
    const uint64_t rate_bps = reader.integer("rate_bps", 1, kMaxRateBps, 100'000'000);
    const uint64_t burst_bytes = reader.integer("burst_bytes", 64, kMaxBurstBytes, 65536);
    reader.finish();
    return std::make_unique<Next>(rate_bps, burst_bytes);
  }

  // Tokens stay, up to the new burst.
  void take(NextConfig& next) noexcept override {
    const auto& wanted = static_cast<const Next&>(next);
    rate_bps_ = wanted.rate_bps;
    burst_bytes_ = wanted.burst_bytes;
    credit_ = std::min(credit_, burst_credit());
  }

  json state(size_t) const override {
    return {{"rate_bps", rate_bps_},
            {"burst_bytes", burst_bytes_},
            {"tokens_bytes", credit_ / kCreditPerByte},
            {"passed", {{"packets", passed_.packets}, {"bytes", passed_.bytes}}},
            {"dropped", {{"packets", dropped_.packets}, {"bytes", dropped_.bytes}}}};
  }

  json export_state() const override { return {{"tokens_bytes", credit_ / kCreditPerByte}}; }

  void import_state(const json& state) override {
    ConfigReader reader(state, "");
    const uint64_t tokens_bytes = reader.integer("tokens_bytes", 0, kMaxBurstBytes, std::nullopt);
    reader.finish();
    credit_ = std::min(tokens_bytes * kCreditPerByte, burst_credit());
  }

 private:
  struct Next final : NextConfig {
    Next(uint64_t bps, uint64_t bytes) : rate_bps(bps), burst_bytes(bytes) {}
    uint64_t rate_bps;
    uint64_t burst_bytes;
  };

  struct Count {
    uint64_t packets = 0;
    uint64_t bytes = 0;
  };

  uint64_t burst_credit() const { return burst_bytes_ * kCreditPerByte; }

  void refill(uint64_t now_ns) {
    // The first call only sets the time; time that runs backwards gives nothing.
    const uint64_t elapsed_ns = refilled_ns_ == 0 || now_ns < refilled_ns_ ? 0 : now_ns - refilled_ns_;
    refilled_ns_ = std::max(refilled_ns_, now_ns);
    const uint64_t missing = burst_credit() - credit_;
    credit_ = elapsed_ns > missing / rate_bps_ ? burst_credit() : credit_ + elapsed_ns * rate_bps_;
  }

  uint64_t rate_bps_ = 1;
  uint64_t burst_bytes_ = 0;
  uint64_t credit_ = 0;  // bit * s / 10^9
  uint64_t refilled_ns_ = 0;
  Count passed_;
  Count dropped_;
};

}  // namespace

std::unique_ptr<NfCore> make_rate_limiter(const json& config, std::span<const MetadataField>) {
  return std::make_unique<RateLimiter>(config);
}

}  // namespace orrery
