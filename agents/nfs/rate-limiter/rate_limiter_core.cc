// SPDX-License-Identifier: Apache-2.0
#include "nfs/rate-limiter/rate_limiter_core.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nfs/config_reader.h"
#include "nfs/state_copy.h"
#include "nfs/state_import.h"

namespace orrery::rate_limiter {
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
    bucket_.credit = burst_credit();
  }

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    refill(now_ns);
    for (size_t i = 0; i < packets.size(); ++i) {
      const uint64_t cost = packets[i].length * kCreditPerByte;
      const bool pass = cost <= bucket_.credit;
      if (pass) bucket_.credit -= cost;
      auto& count = pass ? bucket_.passed : bucket_.dropped;
      ++count.packets;
      count.bytes += packets[i].length;
      verdicts[i] = {.drop = !pass, .drop_reason = 0, .out = in};
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& config, std::span<const MetadataField>) const override {
    ConfigReader reader(config, "");
    const uint64_t rate_bps = reader.integer_or("rate_bps", 1, kMaxRateBps, 100'000'000);
    const uint64_t burst_bytes = reader.integer_or("burst_bytes", 64, kMaxBurstBytes, 65536);
    reader.done();
    return std::make_unique<Next>(rate_bps, burst_bytes);
  }

  // Tokens stay, up to the new burst.
  void take(NextConfig& next) noexcept override {
    const auto& wanted = static_cast<const Next&>(next);
    bucket_.rate_bps = wanted.rate_bps;
    bucket_.burst_bytes = wanted.burst_bytes;
    bucket_.credit = std::min(bucket_.credit, burst_credit());
  }

  std::unique_ptr<StateCopy> copy_state(size_t) const override {
    return copy_figures([this] { return bucket_; }, [](const Bucket& b, RowForm) { return view(b); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override {
    return copy_figures([this] { return bucket_; },
                        [](const Bucket& b, RowForm) {
                          return json{{"tokens_bytes", b.credit / kCreditPerByte}};
                        });
  }

  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override {
    ConfigReader reader(state, "");
    const uint64_t tokens_bytes = reader.integer("tokens_bytes", 0, kMaxBurstBytes);
    reader.done();
    return import_at_once(
        [this, tokens_bytes] { bucket_.credit = std::min(tokens_bytes * kCreditPerByte, burst_credit()); });
  }

 private:
  struct Count {
    uint64_t packets = 0;
    uint64_t bytes = 0;
  };

  struct Bucket {
    uint64_t rate_bps = 1;
    uint64_t burst_bytes = 0;
    uint64_t credit = 0;  // bit * s / 10^9
    Count passed;
    Count dropped;
  };

  static json view(const Bucket& bucket) {
    return {{"rate_bps", bucket.rate_bps},
            {"burst_bytes", bucket.burst_bytes},
            {"tokens_bytes", bucket.credit / kCreditPerByte},
            {"passed", {{"packets", bucket.passed.packets}, {"bytes", bucket.passed.bytes}}},
            {"dropped", {{"packets", bucket.dropped.packets}, {"bytes", bucket.dropped.bytes}}}};
  }

  struct Next final : NextConfig {
    Next(uint64_t bps, uint64_t bytes) : rate_bps(bps), burst_bytes(bytes) {}
    uint64_t rate_bps;
    uint64_t burst_bytes;
  };

  uint64_t burst_credit() const { return bucket_.burst_bytes * kCreditPerByte; }

  void refill(uint64_t now_ns) {
    // The first call only sets the time; time that runs backwards gives nothing.
    const uint64_t elapsed_ns = refilled_ns_ == 0 || now_ns < refilled_ns_ ? 0 : now_ns - refilled_ns_;
    refilled_ns_ = std::max(refilled_ns_, now_ns);
    const uint64_t missing = burst_credit() - bucket_.credit;
    bucket_.credit =
        elapsed_ns > missing / bucket_.rate_bps ? burst_credit() : bucket_.credit + elapsed_ns * bucket_.rate_bps;
  }

  Bucket bucket_;
  uint64_t refilled_ns_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  return std::make_unique<RateLimiter>(config);
}

}  // namespace orrery::rate_limiter
