// SPDX-License-Identifier: Apache-2.0
#include "container-nf/frame_pump.h"

#include <gtest/gtest.h>

#include <thread>

#include "network.h"
#include "support/hop_tag.h"

namespace orrery::container_nf::testing {
namespace {

// Drops every packet for the reason that its metadata names.
class Dropper final : public NfCore {
 public:
  static constexpr uint8_t kReasons = 200;

  Dropper() {
    for (unsigned i = 0; i < kReasons; ++i) texts_.push_back("reason-" + std::to_string(i));
    names_.assign(texts_.begin(), texts_.end());
  }
  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t) override {
    for (size_t i = 0; i < packets.size(); ++i)
      verdicts[i] = {.drop = true, .drop_reason = static_cast<uint8_t>(packets[i].metadata), .out = in};
  }
  std::span<const std::string_view> drop_reasons() const override { return names_; }
  std::unique_ptr<NextConfig> prepare(const nlohmann::json&, std::span<const MetadataField>) const override {
    return nullptr;
  }
  void take(NextConfig&) noexcept override {}
  std::unique_ptr<StateCopy> copy_state(size_t) const override { return nullptr; }
  std::unique_ptr<StateCopy> copy_flows() const override { return nullptr; }
  std::unique_ptr<StateImport> prepare_import(const nlohmann::json&, KnownFlows) override { return nullptr; }

 private:
  std::vector<std::string> texts_;
  std::vector<std::string_view> names_;
};

TEST(FramePump, CountsEveryReasonThatAnNfCanName) {
  Network network;
  const auto pump = std::make_unique<FramePump>(std::make_unique<Dropper>(), "near", "far");
  std::vector<Frame> frames(256, orrery::testing::build_frame({}));
  for (size_t i = 0; i < frames.size(); ++i) write_hop_tag(frames[i].data(), {0xffff, static_cast<uint16_t>(i)}, 1);
  std::thread thread([&] { pump->run(); });
  network.send(frames, Direction::kForward);
  const auto frames_in = [&] {
    uint64_t n = 0;
    pump->between_batches([&] { n = pump->counters(Direction::kForward).packets_in; });
    return n;
  };
  await([&] { return frames_in() == frames.size(); }, "frames to come in");
  pump->stop();
  thread.join();
  const auto drops = pump->drops();
  for (unsigned i = 0; i < Dropper::kReasons; ++i) EXPECT_EQ(drops.at("reason-" + std::to_string(i)), 1u) << i;
}

}  // namespace
}  // namespace orrery::container_nf::testing
