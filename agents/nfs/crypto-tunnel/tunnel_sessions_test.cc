// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "nfs/crypto-tunnel/tunnel_ends.h"

namespace orrery::crypto_tunnel {
namespace {

TEST(CryptoTunnel, DropsWhatCameBefore) {
  const auto near = end_of("encrypt"), far = end_of("decrypt");
  std::vector<Frame> hidden = frames_of(run(*near, std::vector<Frame>(3000, ipv4(40))));
  Rng rng(3);
  // Out of order by less than the window, some of them twice within a batch.
  for (size_t begin = 0; begin < hidden.size(); begin += 500)
    std::shuffle(hidden.begin() + static_cast<ptrdiff_t>(begin), hidden.begin() + static_cast<ptrdiff_t>(begin + 500),
                 rng);
  std::vector<Frame> sent;
  for (const Frame& frame : hidden) sent.insert(sent.end(), 1 + rng() % 3, frame);
  std::set<uint32_t> arrived;
  for (size_t i = 0; const Outcome& o : run(*far, sent)) {
    const uint32_t sequence = sequence_of(sent[i++]);
    ASSERT_EQ(o.reason, arrived.contains(sequence) ? "replayed" : "");
    arrived.insert(sequence);
  }
  EXPECT_EQ(arrived.size(), hidden.size());
  for (const Outcome& o : run(*far, hidden)) EXPECT_EQ(o.reason, "replayed");
}

TEST(CryptoTunnel, ChangesItsAccelerationWithinASessionAndLosesNothing) {
  const auto near = end_of("encrypt"), far = end_of("decrypt");
  std::vector<Frame> sent;
  std::set<uint32_t> sessions;
  uint32_t sequence = 0;
  for (int round = 0; round < 60; ++round) {
    const char* modes[] = {"instructions", "none"};
    near->configure(config("encrypt", {{"acceleration", modes[round % 2]}}));
    if (round % 3 == 0) far->configure(config("decrypt", {{"acceleration", modes[round / 3 % 2]}}));
    EXPECT_EQ(near->state(1)["acceleration"], modes[round % 2]);
    const std::vector<Frame> batch(static_cast<size_t>(1 + round), ipv4(40 + static_cast<size_t>(round), 'a'));
    const auto hidden = frames_of(run(*near, batch));
    for (const Frame& frame : hidden) {
      sessions.insert(spi_of(frame));
      ASSERT_EQ(sequence_of(frame), ++sequence);
    }
    ASSERT_EQ(frames_of(run(*far, hidden)), batch);
  }
  EXPECT_EQ(sessions.size(), 1u);
  EXPECT_EQ(far->state(9)["inbound"][0]["highest_sequence"], sequence);
}

TEST(CryptoTunnel, MovesToAnotherInstance) {
  auto near = end_of("encrypt"), far = end_of("decrypt");
  std::set<std::pair<uint32_t, uint64_t>> used;
  std::vector<Frame> all;
  const auto carry = [&](size_t count) {
    const auto hidden = frames_of(run(*near, std::vector<Frame>(count, ipv4(50))));
    for (const Frame& frame : hidden)
      ASSERT_TRUE(used.emplace(spi_of(frame), iv_of(frame)).second) << "no (key, IV) pair is used twice";
    for (const Outcome& o : run(*far, hidden)) ASSERT_EQ(o.reason, "");
    all.insert(all.end(), hidden.begin(), hidden.end());
  };
  carry(100);
  for (int move = 0; move < 20; ++move) {
    // What the predecessor sends after its state was copied stays acceptable beside what its successor sends.
    const json state = json::parse(near->export_state().dump());
    const auto before =
        std::exchange(near, end_of("encrypt", {{"acceleration", move % 2 != 0 ? "none" : "instructions"}}));
    near->import_state(state);
    const auto late = frames_of(run(*before, std::vector<Frame>(5, ipv4(50))));
    carry(50);
    for (const Outcome& o : run(*far, late)) EXPECT_EQ(o.reason, "");
    for (const Frame& frame : late) EXPECT_TRUE(used.emplace(spi_of(frame), iv_of(frame)).second);
    all.insert(all.end(), late.begin(), late.end());

    const json received = json::parse(far->export_state().dump());
    far = end_of("decrypt");
    far->import_state(received);
    far->import_state(received);
    for (const Outcome& o : run(*far, all)) ASSERT_TRUE(o.reason == "replayed" || o.reason == "unknown_session");
    carry(50);
  }
}

TEST(CryptoTunnel, AnImportClosesWhatEitherInstanceReceived) {
  const auto near = end_of("encrypt"), one = end_of("decrypt"), other = end_of("decrypt");
  const auto hidden = frames_of(run(*near, std::vector<Frame>(300, ipv4(50))));
  std::vector<Frame> odd, even;
  for (size_t i = 0; i < hidden.size(); ++i) (i % 2 == 0 ? even : odd).push_back(hidden[i]);
  frames_of(run(*one, odd));
  frames_of(run(*other, even));
  other->import_state(one->export_state());
  for (const Outcome& o : run(*other, hidden)) EXPECT_EQ(o.reason, "replayed");
  frames_of(run(*other, frames_of(run(*near, std::vector<Frame>(10, ipv4(50))))));
}

TEST(CryptoTunnel, ARestartBeginsALaterSessionThatTheFarEndFollows) {
  const auto far = end_of("decrypt");
  std::set<uint64_t> ivs;
  std::vector<Frame> all;
  for (int start = 0; start < 2; ++start) {
    const auto near = end_of("encrypt");
    await_the_next_second();
    const auto hidden = frames_of(run(*near, std::vector<Frame>(100, ipv4(50))));
    EXPECT_EQ(sequence_of(hidden[0]), 1u);
    for (const Frame& frame : hidden) EXPECT_TRUE(ivs.insert(iv_of(frame)).second) << "IVs begin anywhere";
    frames_of(run(*far, hidden));
    all.insert(all.end(), hidden.begin(), hidden.end());
  }
  EXPECT_LT(spi_of(all.front()), spi_of(all.back()));
  for (const Outcome& o : run(*far, all)) EXPECT_EQ(o.reason, "replayed");
  EXPECT_EQ(far->state(9)["sessions_received"], 2);
}

TEST(CryptoTunnel, AnEndedSessionIsNotPlayedAgain) {
  const EspOracle oracle(kKey, false, kNear, kFar);
  const auto far = end_of("decrypt");
  const Bytes packet = packet_of(ipv4(40));
  const auto reason = [&](uint32_t spi, uint32_t sequence) {
    return run_one(*far, framed(oracle.seal(packet, spi, sequence))).reason;
  };
  EXPECT_EQ(reason(10, 1), "");
  EXPECT_EQ(reason(12, 1), "");
  EXPECT_EQ(reason(10, 2), "") << "the session before the last may still have packets on their way";
  EXPECT_EQ(reason(11, 1), "unknown_session");
  EXPECT_EQ(reason(20, 5), "");
  EXPECT_EQ(reason(10, 3), "unknown_session");
  EXPECT_EQ(reason(0, 1), "unknown_session");
  EXPECT_EQ(reason(20, 5), "replayed");
  far->configure(config("decrypt", {{"key", std::string(64, 'e')}}));
  EXPECT_EQ(reason(20, 6), "bad_icv") << "the session before is not one of the new key";
  EXPECT_EQ(far->state(9)["inbound"], json::array());
}

TEST(CryptoTunnel, FollowsSeveralNewSessionsWithinABatch) {
  const EspOracle oracle(kKey, false, kNear, kFar);
  const auto far = end_of("decrypt");
  const Bytes packet = packet_of(ipv4(40));
  std::vector<Frame> batch;
  for (const uint32_t spi : {30, 10, 20, 30, 10})
    batch.push_back(framed(oracle.seal(packet, spi, static_cast<uint32_t>(batch.size() + 1))));
  frames_of(run(*far, batch));
  EXPECT_EQ(far->state(9)["inbound"][0]["spi"], 30);
  EXPECT_EQ(far->state(9)["inbound"][1]["spi"], 20);
  for (const Outcome& o : run(*far, batch)) EXPECT_TRUE(o.reason == "replayed" || o.reason == "unknown_session");
  const EspOracle forger(std::string(64, 'f'), false, kNear, kFar);
  batch.clear();
  for (uint32_t spi = 100; spi < 164; ++spi) batch.push_back(framed(forger.seal(packet, spi, 1)));
  for (const Outcome& o : run(*far, batch)) EXPECT_TRUE(o.reason == "bad_icv" || o.reason == "unknown_session");
  EXPECT_EQ(far->state(9)["inbound"][0]["spi"], 30);
}

TEST(CryptoTunnel, BeginsTheNextSessionAfterThePacketsOfOne) {
  constexpr uint32_t kPackets = 1 << 20;
  const auto near = end_of("encrypt", {{"session_packets", kPackets}}), far = end_of("decrypt");
  const Frame frame = ipv4(28);
  const ParsedPacket parsed = parse_packet(frame);
  constexpr uint32_t kBatch = 32;
  std::vector<uint8_t> buffers[kBatch];
  const auto skip = [&](uint32_t batches) {
    for (uint32_t n = 0; n < batches; ++n) {
      std::vector<NfPacket> packets;
      std::vector<NfVerdict> verdicts(kBatch);
      for (auto& buffer : buffers) {
        buffer.resize(kLeastHeadroom + frame.size() + kLeastTailroom);
        std::ranges::copy(frame, buffer.begin() + kLeastHeadroom);
        packets.push_back({&buffer[kLeastHeadroom], 42, parsed, 0, kLeastHeadroom, kLeastTailroom});
      }
      near->process(packets, Direction::kForward, verdicts, 0);
    }
  };
  skip(kPackets / kBatch - 1);
  frames_of(run(*near, std::vector<Frame>(kBatch - 20, frame)));
  const auto hidden = frames_of(run(*near, std::vector<Frame>(40, frame)));
  EXPECT_EQ(sequence_of(hidden[19]), kPackets);
  EXPECT_EQ(sequence_of(hidden[20]), 1u);
  EXPECT_GT(spi_of(hidden[20]), spi_of(hidden[19]));
  EXPECT_EQ(frames_of(run(*far, hidden)), std::vector<Frame>(40, frame));
  EXPECT_EQ(near->state(1)["sessions_sent"], 2);
}

TEST(CryptoTunnel, NamesTheFieldOfABadState) {
  const auto far = end_of("decrypt");
  const auto pointer = [&](const json& state) { return error_pointer([&] { far->import_state(state); }); };
  const json good = {{"spi", 5}, {"highest", 9}, {"window", std::string(256, '0')}};
  EXPECT_EQ(pointer({{"outbound_spi", 1}, {"inbound", {good}}}), "none");
  EXPECT_EQ(pointer({{"outbound_spi", 1}, {"inbound", {good, good, good}}}), "/inbound");
  for (const char* field : {"spi", "highest", "window"}) {
    json bad = good;
    bad[field] = -1;
    EXPECT_EQ(pointer({{"outbound_spi", 1}, {"inbound", {good, bad}}}), std::string("/inbound/1/") + field);
  }
  EXPECT_EQ(pointer({{"inbound", {good}}}), "/outbound_spi");
}

// State that a hostile or broken instance exports.
TEST(CryptoTunnel, RefusesAStateOfExtremesAndGoesOn) {
  const auto near = end_of("encrypt"), far = end_of("decrypt", {{"session_packets", 1 << 20}});
  const auto carries = [&] { return frames_of(run(*far, frames_of(run(*near, {ipv4(60)}))))[0] == ipv4(60); };
  EXPECT_TRUE(carries());
  const auto error = [](NfCore& end, const json& state) { return error_pointer([&] { end.import_state(state); }); };
  const auto sent = [](uint64_t spi) { return json{{"outbound_spi", spi}, {"inbound", json::array()}}; };
  const auto received = [](uint64_t spi, uint64_t highest) {
    const json before = {{"spi", 5}, {"highest", UINT32_MAX}, {"window", std::string(256, 'f')}};
    const json latest = {{"spi", spi}, {"highest", highest}, {"window", std::string(256, 'f')}};
    return json{{"outbound_spi", 1}, {"inbound", {before, latest}}};
  };
  const auto now_s = static_cast<uint64_t>(time(nullptr));
  constexpr uint64_t kDayS = 86400;
  for (const uint64_t spi : {uint64_t{UINT32_MAX}, uint64_t{UINT32_MAX - 1}, now_s + 31 * kDayS}) {
    EXPECT_EQ(error(*near, sent(spi)), "/outbound_spi");
    EXPECT_EQ(error(*far, received(spi, 9)), "/inbound/1/spi");
  }
  EXPECT_EQ(error(*far, received(now_s - kDayS, 0)), "/inbound/1/highest") << "a session is known by its packets";
  EXPECT_TRUE(carries());
  EXPECT_EQ(error(*near, sent(now_s + 29 * kDayS)), "none") << "clocks differ";
  EXPECT_EQ(error(*far, received(now_s - kDayS, UINT32_MAX)), "none") << "the other end lets sessions last for longer";
  EXPECT_TRUE(carries());
}

TEST(CryptoTunnel, ANewKeyBeginsALaterSession) {
  const auto near = end_of("encrypt"), far = end_of("decrypt");
  const Frame before = frames_of(run(*near, {ipv4(60)}))[0];
  frames_of(run(*far, {before}));
  for (const json& changes :
       {json{{"key", std::string(64, 'b')}}, json{{"cipher", "aes-256-ctr"}}, json{{"far_address", "192.0.2.9"}}}) {
    near->configure(config("encrypt", changes));
    far->configure(config("decrypt", changes));
    const Frame after = frames_of(run(*near, {ipv4(60)}))[0];
    EXPECT_GT(spi_of(after), spi_of(before));
    EXPECT_EQ(sequence_of(after), 1u);
    EXPECT_EQ(frames_of(run(*far, {after}))[0], ipv4(60));
  }
}

}  // namespace
}  // namespace orrery::crypto_tunnel
