// SPDX-License-Identifier: Apache-2.0
// The device without sockets: real shell, real modules.
#include "board/sim/simulation.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "board/device/device.h"
#include "board/sim/shell_registers.h"
#include "board/slot/registers.h"

namespace orrery::board {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kLong = 1'000'000;

Bytes random_frame(std::mt19937_64& rng, size_t length) {
  Bytes out(length);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(rng());
  return out;
}

void push(FrameRing& ring, const Bytes& bytes) {
  ring.back().length = static_cast<uint16_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), ring.back().bytes.begin());
  ring.push();
}

std::vector<Bytes> take_all(FrameRing& ring) {
  std::vector<Bytes> out;
  for (; !ring.empty(); ring.pop()) {
    const auto bytes = ring.front().view();
    out.emplace_back(bytes.begin(), bytes.end());
  }
  return out;
}

class DeviceTest : public ::testing::TestWithParam<std::pair<size_t, uint32_t>> {
 protected:
  void load(size_t slot, const std::string& name = "nf_pass") {
    const ModuleInfo* module = library_.find(name);
    ASSERT_NE(module, nullptr);
    device_.insert(slot, *module);
    EXPECT_EQ(device_.slot(slot).state, SlotState::kConfiguring);
    device_.resume(slot);
  }
  Simulation& simulation() { return device_.simulation(); }

  Library library_{LIBRARY};
  std::vector<SlotState> told_;
  Device device_{GetParam().first, GetParam().second,
                 [this](size_t slot) { told_.push_back(device_.slot(slot).state); }};
};

INSTANTIATE_TEST_SUITE_P(Shells, DeviceTest, ::testing::Values(std::pair{1, 100}, std::pair{2, 80}, std::pair{2, 100}));

TEST_P(DeviceTest, PassesFramesOfAllLengthsWholeAndInOrderBothWays) {
  std::mt19937_64 rng(1);
  for (size_t slot = 0; slot < device_.slots(); ++slot) {
    load(slot);
    for (const auto& [in, out] : {std::pair{kNear, kFar}, std::pair{kFar, kNear}}) {
      std::vector<Bytes> sent;
      for (int i = 0; i < 200; ++i) {
        sent.push_back(random_frame(rng, i < 20 ? 14 + i : i < 30 ? 2039 + i - 20 : 14 + rng() % 1500));
        push(simulation().queue(slot, in).in, sent.back());
      }
      EXPECT_TRUE(simulation().run(kLong));
      EXPECT_EQ(take_all(simulation().queue(slot, out).out), sent);
      EXPECT_TRUE(simulation().queue(slot, in).out.empty());
    }
    device_.update_counters();
    EXPECT_EQ(device_.slot(slot).counters.value[SlotCounters::kFramesIn], 400u);
    EXPECT_EQ(device_.slot(slot).counters.value[SlotCounters::kFramesOut], 400u);
    EXPECT_EQ(device_.read(slot, reg::kFramesIn), 400u);
  }
}

// 200 times: full load, quiesce at a random cycle, decouple, other module instance, resume. Frames come out in order,
// and none is missing or invented.
TEST_P(DeviceTest, LosesAndCutsNothingInTwoHundredSwapsUnderFullLoad) {
  std::mt19937_64 rng(2);
  const size_t slot = device_.slots() - 1;
  load(slot);
  std::deque<Bytes> expected;
  FrameRing& in = simulation().queue(slot, kNear).in;
  FrameRing& out = simulation().queue(slot, kFar).out;
  const auto check = [&] {
    for (const Bytes& frame : take_all(out)) {
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(frame, expected.front());
      expected.pop_front();
    }
  };
  for (int trial = 0; trial < 200; ++trial) {
    while (!in.full()) {
      expected.push_back(random_frame(rng, trial % 2 == 0 ? 60 : 1514));
      push(in, expected.back());
    }
    simulation().run(1 + rng() % 2000);
    const uint64_t before = simulation().cycles();
    device_.quiesce(slot, Policy::kHold);
    EXPECT_LT(simulation().cycles() - before, 1000u);
    check();
    device_.remove(slot, SlotState::kLoading);
    simulation().run(500);
    EXPECT_TRUE(out.empty()) << "an empty slot has sent a frame";
    device_.insert(slot, *library_.find("nf_pass"));
    device_.resume(slot);
  }
  EXPECT_TRUE(simulation().run(kLong));
  check();
  EXPECT_TRUE(expected.empty());
  EXPECT_EQ(simulation().queue(slot, kFar).out_errors, 0u);
}

TEST_P(DeviceTest, TreatsFramesOfASlotWithoutModuleByPolicy) {
  std::mt19937_64 rng(3);
  const auto send = [&](int frames) {
    std::vector<Bytes> sent;
    for (int i = 0; i < frames; ++i) push(simulation().queue(0, kNear).in, sent.emplace_back(random_frame(rng, 100)));
    EXPECT_TRUE(simulation().run(kLong));
    return sent;
  };
  const auto count = [&](SlotCounters::Index index) {
    device_.update_counters();
    return device_.slot(0).counters.value[index];
  };
  send(10);
  EXPECT_EQ(count(SlotCounters::kFramesDropped), 10u) << "an empty slot drops";
  device_.quiesce(0, Policy::kBypass);
  const auto bypassed = send(10);
  EXPECT_EQ(take_all(simulation().queue(0, kFar).out), bypassed);
  EXPECT_EQ(count(SlotCounters::kFramesBypassed), 10u);
  device_.quiesce(0, Policy::kHold);
  const auto held = send(10);
  EXPECT_TRUE(simulation().queue(0, kFar).out.empty());
  load(0);
  EXPECT_TRUE(simulation().run(kLong));
  EXPECT_EQ(take_all(simulation().queue(0, kFar).out), held);
  EXPECT_EQ(count(SlotCounters::kFramesDropped), 10u);
}

// Every frame in flight when the device is reconfigured, in queues or partly in the shell, has come out or is counted.
TEST_P(DeviceTest, CountsEveryFrameThatAFullConfigurationLoses) {
  std::mt19937_64 rng(6);
  for (int trial = 0; trial < 30; ++trial) {
    load(0);
    device_.update_counters();
    const uint64_t dropped = device_.slot(0).counters.value[SlotCounters::kFramesDropped];
    for (const Side side : {kNear, kFar})
      while (!simulation().queue(0, side).in.full())
        push(simulation().queue(0, side).in, random_frame(rng, trial % 2 == 0 ? 60 : 60 + rng() % 1500));
    simulation().run(1 + rng() % 2000);
    device_.quiesce(0, Policy::kDrop);
    device_.power_off();
    device_.remove(0, SlotState::kLoading);
    device_.power_on();
    device_.remove(0, SlotState::kEmpty);
    EXPECT_TRUE(simulation().run(kLong));
    device_.update_counters();
    const size_t came =
        take_all(simulation().queue(0, kNear).out).size() + take_all(simulation().queue(0, kFar).out).size();
    ASSERT_EQ(came + device_.slot(0).counters.value[SlotCounters::kFramesDropped] - dropped, 2 * FrameRing::kCapacity);
    ASSERT_LT(came, 2 * FrameRing::kCapacity);
  }
  EXPECT_EQ(simulation().queue(0, kNear).out_errors + simulation().queue(0, kFar).out_errors, 0u);
}

// Return frames have no next hop, and the slot is stopped, emptied or bypassed at any point of one.
TEST_P(DeviceTest, CountsEveryFrameWithoutANextHopOverLoads) {
  std::mt19937_64 rng(9);
  const auto count = [&](SlotCounters::Index index) {
    device_.update_counters();
    return device_.slot(0).counters.value[index];
  };
  load(0);
  simulation().write({}, shell::of_slot(shell::kHopsReturn, 0), 0xffff);
  uint64_t forward = 0, back = 0, came = 0;
  for (int trial = 0; trial < 40; ++trial) {
    for (const Side side : {kNear, kFar})
      for (FrameRing& in = simulation().queue(0, side).in; !in.full();) {
        Bytes frame = random_frame(rng, trial % 2 == 0 ? 60 : 60 + rng() % 1500);
        frame[0] = 0x02, frame[1] = 0x0e;
        push(in, frame);
        ++(side == kNear ? forward : back);
      }
    simulation().run(1 + rng() % 2000);
    device_.quiesce(0, trial % 3 == 0 ? Policy::kBypass : Policy::kHold);
    device_.remove(0, SlotState::kLoading);
    simulation().run(rng() % 500);
    device_.insert(0, *library_.find("nf_pass"));
    device_.resume(0);
    came += take_all(simulation().queue(0, kFar).out).size();
  }
  EXPECT_TRUE(simulation().run(kLong));
  came += take_all(simulation().queue(0, kFar).out).size();
  EXPECT_EQ(came, forward);
  EXPECT_TRUE(simulation().queue(0, kNear).out.empty());
  EXPECT_EQ(count(SlotCounters::kNoHop), back);
  EXPECT_EQ(count(SlotCounters::kFramesOut) + count(SlotCounters::kFramesBypassed), forward + back);
  EXPECT_GT(count(SlotCounters::kFramesBypassed), 0u);
  EXPECT_EQ(count(SlotCounters::kFramesDropped) + count(SlotCounters::kFramesAborted), 0u);
}

TEST_P(DeviceTest, HasCountedAllThatItDroppedWhenItResumes) {
  std::mt19937_64 rng(8);
  const auto dropped = [&] {
    device_.update_counters();
    return device_.slot(0).counters.value[SlotCounters::kFramesDropped];
  };
  load(0);
  FrameRing& in = simulation().queue(0, kNear).in;
  for (int trial = 0; trial < 20; ++trial) {
    device_.quiesce(0, Policy::kDrop);
    while (!in.full()) push(in, random_frame(rng, 1500));
    simulation().run(1 + rng() % 2000);
    device_.resume(0);
    const uint64_t before = dropped();
    EXPECT_TRUE(simulation().run(kLong));
    EXPECT_EQ(dropped(), before);
    EXPECT_FALSE(take_all(simulation().queue(0, kFar).out).empty());
  }
}

// The current frame finishes and its output is discarded; the others never enter; frames of the ports only wait.
TEST_P(DeviceTest, TakesBackWhatWaitsInTheHostStream) {
  std::mt19937_64 rng(7);
  load(0);
  Simulation::Queue& host = simulation().queue(0, kHost);
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<Bytes> through;
    for (int i = 0; i < 50; ++i) {
      push(host.in, random_frame(rng, 1500));
      push(simulation().queue(0, kNear).in, through.emplace_back(random_frame(rng, 60)));
    }
    simulation().run(rng() % 3000);
    const uint64_t before = simulation().cycles();
    EXPECT_TRUE(device_.clear_host(0));
    EXPECT_LT(simulation().cycles() - before, 3000u) << "for a frame or two, not for all that waited";
    EXPECT_TRUE(host.in.empty());
    EXPECT_TRUE(simulation().run(kLong));
    EXPECT_TRUE(host.out.empty());
    EXPECT_EQ(take_all(simulation().queue(0, kFar).out), through);
  }
  device_.update_counters();
  EXPECT_EQ(device_.slot(0).counters.value[SlotCounters::kFramesDropped], 0u);
}

TEST_P(DeviceTest, HidesTheRegistersOfASlotThatIsCutOff) {
  using namespace shell;
  EXPECT_EQ(simulation().read(0, reg::kId), kDecoupledValue);
  EXPECT_FALSE(device_.has_registers(0));
  load(0);
  EXPECT_EQ(simulation().read(0, reg::kId), 0x50415331u) << "PAS1";
  device_.remove(0, SlotState::kEmpty);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(simulation().read(0, reg::kId), kDecoupledValue);
}

TEST_P(DeviceTest, FindsASlotThatHangsAndTheOtherGoesOn) {
  if (device_.slots() < 2) GTEST_SKIP() << "one slot";
  std::mt19937_64 rng(4);
  load(0);
  load(1);
  simulation().place(0).set_stuck(true);
  for (size_t slot : {0, 1})
    for (int i = 0; i < 50; ++i) push(simulation().queue(slot, kNear).in, random_frame(rng, 60));
  EXPECT_FALSE(simulation().run(100'000));
  device_.supervise();
  EXPECT_EQ(device_.slot(0).state, SlotState::kFaulty);
  EXPECT_FALSE(device_.slot(0).error.empty());
  EXPECT_EQ(device_.slot(1).state, SlotState::kActive);
  EXPECT_EQ(take_all(simulation().queue(1, kFar).out).size(), 50u);
  EXPECT_TRUE(simulation().run(kLong)) << "frames for the faulty slot are dropped";
  EXPECT_TRUE(simulation().queue(0, kNear).in.empty());
  EXPECT_TRUE(simulation().queue(0, kFar).out.empty());
  load(0);
  push(simulation().queue(0, kNear).in, random_frame(rng, 60));
  EXPECT_TRUE(simulation().run(kLong));
  EXPECT_EQ(take_all(simulation().queue(0, kFar).out).size(), 1u) << "a load repairs the slot";
}

TEST_P(DeviceTest, FindsASlotThatDoesNotAnswer) {
  load(0);
  simulation().place(0).set_stuck(true);
  EXPECT_EQ(device_.read(0, reg::kId), std::nullopt);
  EXPECT_EQ(device_.slot(0).state, SlotState::kFaulty);
}

TEST_P(DeviceTest, LetsBoardTimePassWithoutCycles) {
  load(0);
  const uint64_t cycles = simulation().cycles(), run = simulation().cycles_run();
  for (int i = 0; i < 1000; ++i) simulation().pass_ns(1'000'300);
  EXPECT_EQ(simulation().cycles() - cycles, 1'000'300ull * GetParam().second);
  EXPECT_EQ(simulation().cycles_run(), run);
}

TEST_P(DeviceTest, TellsEveryChangeOfState) {
  load(0);
  device_.quiesce(0, Policy::kDrop);
  device_.remove(0, SlotState::kEmpty);
  EXPECT_EQ(told_,
            (std::vector{SlotState::kConfiguring, SlotState::kActive, SlotState::kQuiescing, SlotState::kEmpty}));
}

// One each millisecond, held until the shell accepts it.
TEST(Time, LosesNoFrameThatAModuleSendsAtATick) {
  Device device(1, 100, [](size_t) {});
  device.insert(0, {"tick_sender", {}, TICK_SENDER, 0x5449434b, 0});
  device.resume(0);
  size_t sent = 0;
  for (int ms = 0; ms < 100; ++ms) {
    device.simulation().pass_ns(1'000'000);
    EXPECT_TRUE(device.simulation().run(kLong));
    sent += take_all(device.simulation().queue(0, kFar).out).size();
  }
  EXPECT_NEAR(static_cast<double>(sent), static_cast<double>(device.simulation().board_ns()) / 1e6, 1.0);
}

// The detector judges its counters, some thousand cycles of work, once per second of board time.
TEST(Time, PassesForAModuleThatCountsIt) {
  const Library library(LIBRARY);
  for (const uint64_t step_ns : {1'000'000, 7'000'300, 20'000'000, 1'700'000'000}) {
    Device device(1, 100, [](size_t) {});
    device.insert(0, *library.find("nf_ddos_detector"));
    device.write(0, 0x008, 1);
    device.resume(0);
    device.simulation().run(100'000);
    const uint64_t before = device.simulation().cycles_run(), start_ns = device.simulation().board_ns();
    uint64_t quiet = 0;
    while (device.simulation().board_ns() - start_ns < 10'500'000'000) {
      device.simulation().pass_ns(step_ns);
      const uint64_t at = device.simulation().cycles_run();
      device.simulation().run(100'000);
      quiet += std::min<uint64_t>(device.simulation().cycles_run() - at, 128);
    }
    const uint64_t worked = device.simulation().cycles_run() - before - quiet;
    EXPECT_GT(worked, 10 * 1024u) << step_ns;
    EXPECT_LT(worked, 13 * 4096u) << step_ns;
  }
}

}  // namespace
}  // namespace orrery::board
