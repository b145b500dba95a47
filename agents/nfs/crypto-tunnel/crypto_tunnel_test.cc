// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "nfs/crypto-tunnel/esp_oracle.h"
#include "nfs/testing/nf_driver.h"
#include "support/checksum.h"

namespace orrery::crypto_tunnel {
namespace {

using namespace orrery::testing;
using namespace crypto_tunnel::oracle;
using nlohmann::json;

constexpr const char* kKey = "00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f";
const Bytes kNear = {192, 0, 2, 1}, kFar = {192, 0, 2, 2};

json config(const char* mode, const json& changes = json::object()) {
  json out = {{"key", kKey}, {"mode", mode}, {"clamp_mss", false}};
  out.update(changes);
  return out;
}

std::unique_ptr<NfCore> end_of(const char* mode, const json& changes = json::object()) {
  return make_nf("crypto-tunnel", config(mode, changes));
}

// Frames with an IP packet of `bytes`, in front of which stand 14 bytes.
Frame ipv4(size_t bytes, uint8_t fill = 'x') {
  FrameSpec spec;
  spec.proto = kUdp;
  spec.payload = std::string(bytes - 28, static_cast<char>(fill));
  return build_frame(spec);
}

Frame ipv6(size_t bytes) {
  Frame frame = build_frame({});
  frame.resize(14);
  store_be16(&frame[12], 0x86dd);
  Frame ip(bytes, 0x2b);
  store_be32(ip.data(), 0x6ba00000);
  store_be16(&ip[4], static_cast<uint16_t>(bytes - 40));
  ip[6] = 59;
  frame.insert(frame.end(), ip.begin(), ip.end());
  return frame;
}

// The frame without Ethernet padding: what a tunnel carries.
Frame unpadded(const Frame& frame) {
  const ParsedPacket p = parse_packet(frame);
  return {frame.begin(), frame.begin() + p.l3_offset + p.ip_length()};
}

Bytes packet_of(const Frame& frame) {
  return {frame.begin() + 14, frame.end()};
}

Frame framed(const Bytes& packet) {
  Frame frame = build_frame({});
  frame.resize(14);
  frame.insert(frame.end(), packet.begin(), packet.end());
  if (packet[0] >> 4 == 4) {
    store_be16(&frame[24], 0);
    store_be16(&frame[24], checksum({&frame[14], 20}));
  }
  return frame;
}

std::vector<Frame> frames_of(const std::vector<Outcome>& outcomes) {
  std::vector<Frame> out;
  for (const Outcome& o : outcomes) {
    EXPECT_FALSE(o.verdict.drop) << o.reason;
    out.push_back(o.frame);
  }
  return out;
}

size_t esp_at(const Frame& frame) {
  return frame[23] == 17 ? 14 + 28 : 14 + 20;
}
uint32_t spi_of(const Frame& frame) {
  return load_be32(&frame[esp_at(frame)]);
}
uint32_t sequence_of(const Frame& frame) {
  return load_be32(&frame[esp_at(frame) + 4]);
}
uint64_t iv_of(const Frame& frame) {
  return uint64_t{load_be32(&frame[esp_at(frame) + 8])} << 32 | load_be32(&frame[esp_at(frame) + 12]);
}

// Sessions are named for seconds, so one that begins anew in the same second would have the same name.
void await_the_next_second() {
  for (const time_t begin = time(nullptr); time(nullptr) == begin;) continue;
}

std::vector<Frame> packets_of_many_kinds() {
  Rng rng(7);
  std::vector<Frame> out;
  for (int i = 0; i < 400; ++i) out.push_back(build_frame(i % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng)));
  for (size_t bytes = 28; bytes < 120; ++bytes) out.push_back(ipv4(bytes));
  for (size_t bytes = 40; bytes < 80; ++bytes) out.push_back(ipv6(bytes));
  std::erase_if(out, [](const Frame& frame) { return parse_packet(frame).ip_length() > 1438; });
  for (const size_t bytes : {1400, 1437, 1438}) {
    out.push_back(ipv4(bytes));
    out.push_back(ipv6(bytes));
  }
  return out;
}

TEST(CryptoTunnel, GivesBackWhatItTookInBothDirections) {
  for (const char* cipher : {"aes-128-ctr", "aes-256-ctr"}) {
    for (const char* encapsulation : {"udp", "none"}) {
      const json changes = {{"cipher", cipher}, {"encapsulation", encapsulation}};
      const auto near = end_of("encrypt", changes), far = end_of("decrypt", changes);
      const std::vector<Frame> sent = packets_of_many_kinds();
      for (const Direction in : {Direction::kForward, Direction::kReturn}) {
        const bool forward = in == Direction::kForward;
        const auto hidden = frames_of(run(forward ? *near : *far, sent, in));
        const auto arrived = frames_of(run(forward ? *far : *near, hidden, in));
        for (size_t i = 0; i < sent.size(); ++i) {
          ASSERT_EQ(arrived[i], unpadded(sent[i])) << i;
          ASSERT_EQ(parse_packet(hidden[i]).ip_src, forward ? 0xc0000201 : 0xc0000202);
          ASSERT_TRUE(checksums_hold(hidden[i]));
        }
      }
    }
  }
}

TEST(CryptoTunnel, IsEspForAnyoneElse) {
  for (const bool is_256 : {false, true}) {
    for (const char* encapsulation : {"udp", "none"}) {
      const json changes = {{"cipher", is_256 ? "aes-256-ctr" : "aes-128-ctr"}, {"encapsulation", encapsulation}};
      const auto near = end_of("encrypt", changes);
      const EspOracle out(kKey, is_256, kNear, kFar), back(kKey, is_256, kFar, kNear);
      uint32_t sequence = 0, received = 0;
      for (const size_t bytes : {28, 29, 30, 31, 60, 777, 1438}) {
        const Frame hidden = frames_of(run(*near, {ipv4(bytes)}))[0];
        ASSERT_EQ(out.open(packet_of(hidden)), packet_of(ipv4(bytes)));
        ASSERT_EQ(sequence_of(hidden), ++sequence);
        ASSERT_EQ(parse_packet(hidden).dst_port, std::string(encapsulation) == "udp" ? 4500 : 0);
        for (const Frame& reply : {ipv4(bytes), ipv6(bytes + 12)}) {
          const Frame sealed = framed(back.seal(packet_of(reply), 1000, ++received, bytes % 7 * 4));
          ASSERT_EQ(frames_of(run(*near, {sealed}, Direction::kReturn))[0], reply);
        }
      }
    }
  }
}

TEST(CryptoTunnel, AcceptsNoPacketOfWhichAByteIsChanged) {
  for (const char* acceleration : {"instructions", "none"}) {
    const auto near = end_of("encrypt"), far = end_of("decrypt", {{"acceleration", acceleration}});
    const Frame good = frames_of(run(*near, {ipv4(77)}))[0];
    for (size_t i = esp_at(good); i < good.size(); ++i) {
      for (const uint8_t flip : {0x01, 0x80, 0xff}) {
        Frame bad = good;
        bad[i] ^= flip;
        const Outcome o = run_one(*far, bad);
        ASSERT_TRUE(o.verdict.drop) << i;
        ASSERT_TRUE(o.reason == "bad_icv" || o.reason == "unknown_session" || o.reason == "replayed") << o.reason;
        ASSERT_EQ(o.frame, bad) << "what is not authentic is not decrypted";
      }
    }
    EXPECT_EQ(far->state(9)["inbound"], json::array()) << "forged packets begin no session";
    EXPECT_EQ(frames_of(run(*far, {good}))[0], ipv4(77)) << "and close none";
  }
}

TEST(CryptoTunnel, AcceptsNoPacketThatIsCut) {
  const auto near = end_of("encrypt"), far = end_of("decrypt");
  const Frame good = frames_of(run(*near, {ipv4(60)}))[0];
  for (size_t cut = 1; cut < good.size(); ++cut) {
    Frame as_it_is(good.begin(), good.end() - static_cast<ptrdiff_t>(cut));
    EXPECT_TRUE(run_one(*far, as_it_is).verdict.drop);
    if (good.size() - cut < 42) continue;
    const auto bytes = static_cast<uint16_t>(as_it_is.size() - 14);
    store_be16(&as_it_is[16], bytes);
    store_be16(&as_it_is[38], bytes - 20);
    EXPECT_TRUE(run_one(*far, as_it_is).verdict.drop);
  }
  EXPECT_FALSE(run_one(*far, good).verdict.drop);
}

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

TEST(CryptoTunnel, LetsNothingThroughUnencrypted) {
  const auto near = end_of("encrypt"), far = end_of("decrypt");
  for (const uint16_t ether_type : {0x9100, 0x8847, 0x8864, 0x88cc, 0x0801}) {
    Frame frame = ipv4(60);
    store_be16(&frame[12], ether_type);
    EXPECT_EQ(run_one(*near, frame).reason, "unsupported");
    EXPECT_EQ(run_one(*far, frame).reason, "unsupported");
  }
  EXPECT_EQ(run_one(*near, arp_frame()).frame, arp_frame());
  EXPECT_EQ(run_one(*far, ipv4(60)).reason, "not_protected");
  EXPECT_EQ(run_one(*near, ipv4(60), Direction::kReturn).reason, "not_protected");
  EXPECT_EQ(run_one(*far, ipv6(60)).reason, "not_protected");
  Frame cut = ipv6(60);
  cut.pop_back();
  EXPECT_EQ(run_one(*near, cut).reason, "malformed");

  Frame fragment = frames_of(run(*near, {ipv4(60)}))[0];
  fragment[20] |= 0x20;
  EXPECT_EQ(run_one(*far, fragment).reason, "not_protected");
  Frame elsewhere = frames_of(run(*near, {ipv4(60)}))[0];
  elsewhere[33] ^= 1;
  EXPECT_EQ(run_one(*far, elsewhere).reason, "not_protected");
}

TEST(CryptoTunnel, KeepsEncryptedPacketsWithinTheMtu) {
  for (const auto& [encapsulation, mtu, largest] :
       {std::tuple{"udp", 1500, 1438}, {"none", 1500, 1446}, {"udp", 576, 514}, {"udp", 1301, 1238}}) {
    const auto near = end_of("encrypt", {{"encapsulation", encapsulation}, {"mtu", mtu}});
    const auto bytes = static_cast<size_t>(largest);
    const Frame hidden = frames_of(run(*near, {ipv4(bytes)}))[0];
    EXPECT_LE(hidden.size(), 14u + static_cast<size_t>(mtu));
    EXPECT_GT(hidden.size() + 4, 14u + static_cast<size_t>(mtu));
    EXPECT_EQ(run_one(*near, ipv4(bytes + 1)).reason, "too_big");
    EXPECT_EQ(run_one(*near, ipv4(bytes + 1)).frame, ipv4(bytes + 1));
  }
  const auto near = end_of("encrypt");
  Frame frame = ipv4(60);
  NfPacket packet{frame.data(), 74, parse_packet(frame), 0};
  NfVerdict verdict;
  near->process({&packet, 1}, Direction::kForward, {&verdict, 1}, 0);
  EXPECT_TRUE(verdict.drop);
  EXPECT_EQ(near->drop_reasons()[verdict.drop_reason], "too_big") << "no room in the buffer";
}

TEST(CryptoTunnel, CarriesTheDscpAndNoEcn) {
  const auto near = end_of("encrypt"), far = end_of("decrypt");
  Frame frame = ipv4(60);
  frame[15] = 0xbb;
  store_be16(&frame[24], 0);
  store_be16(&frame[24], checksum({&frame[14], 20}));
  const Frame hidden = frames_of(run(*near, {frame}))[0];
  EXPECT_EQ(hidden[15], 0xb8);
  EXPECT_EQ(hidden[20], 0x40) << "DF";
  EXPECT_EQ(frames_of(run(*far, {hidden}))[0], frame);
  EXPECT_EQ(frames_of(run(*near, {ipv6(60)}))[0][15], 0xb8) << "of the traffic class 0xba";
}

Frame syn(const Bytes& options, bool v6 = false, uint8_t flags = 0x02) {
  FrameSpec spec;
  spec.payload = std::string(options.size(), 0);
  Frame frame = build_frame(spec);
  frame[46] = static_cast<uint8_t>((20 + options.size()) << 2);
  frame[47] = flags;
  std::ranges::copy(options, frame.begin() + 54);
  store_be16(&frame[50], 0);
  const size_t bytes = 20 + options.size();
  const uint64_t sum = checksum_sum({&frame[34], bytes});
  if (!v6) {
    store_be16(&frame[50], static_cast<uint16_t>(~checksum_fold(
                               sum + pseudo_header_sum(0x0a000001, 0x0a000002, 6, static_cast<uint16_t>(bytes)))));
    return frame;
  }
  Frame out = ipv6(40 + bytes);
  out[20] = 6;
  std::copy(frame.begin() + 34, frame.end(), out.begin() + 54);
  return out;
}

TEST(CryptoTunnel, LowersTheMssOfConnectionsThatOpen) {
  const auto near = make_nf("crypto-tunnel", config("encrypt", {{"clamp_mss", true}}));
  const auto far = end_of("decrypt");
  const auto through = [&](const Frame& frame) { return frames_of(run(*far, frames_of(run(*near, {frame}))))[0]; };
  const Bytes behind_odd = {1, 2, 4, 0x05, 0xb4, 1, 1, 0}, behind_even = {2, 4, 0x05, 0xb4, 3, 3, 7, 0};
  for (const Bytes& options : {behind_odd, behind_even}) {
    const Frame out = through(syn(options));
    const size_t at = 54 + (options[0] == 1 ? 3 : 2);
    EXPECT_EQ(load_be16(&out[at]), 1438 - 40);
    EXPECT_TRUE(checksums_hold(out));
    EXPECT_EQ(load_be16(&through(syn(options, true))[at + 20]), 1438 - 60);
    EXPECT_EQ(through(syn(options, false, 0x10)), syn(options, false, 0x10)) << "no SYN";
  }
  for (const Bytes& options : {Bytes{2, 4, 0x02, 0x00}, Bytes{0, 0, 0, 0}, Bytes{2, 40, 0x05, 0xb4}, Bytes{2, 0, 5, 5},
                               Bytes{3, 1, 2, 4}, Bytes{1, 1, 1, 2}})
    EXPECT_EQ(through(syn(options)), syn(options)) << "small enough, absent or wrong";

  const auto back = make_nf("crypto-tunnel", config("decrypt", {{"clamp_mss", true}}));
  const auto plain = end_of("encrypt");
  EXPECT_EQ(load_be16(&frames_of(run(*back, frames_of(run(*plain, {syn(behind_even)}))))[0][56]), 1438 - 40)
      << "of a far end that does not do it";
}

TEST(CryptoTunnel, NamesTheFieldOfABadConfiguration) {
  const auto pointer = [](const json& changes) { return config_error("crypto-tunnel", config("encrypt", changes)); };
  EXPECT_EQ(config_error("crypto-tunnel", json::object()), "/key");
  for (const std::string& key : {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(32, 'a'),
                                 std::string(64, 'g'), "-" + std::string(63, 'a'), std::string(64, '0')})
    EXPECT_EQ(pointer({{"key", key}}), "/key") << key;
  EXPECT_EQ(pointer({{"near_address", "192.0.2.2"}}), "/far_address");
  EXPECT_EQ(pointer({{"near_address", "0.0.0.0"}}), "/near_address");
  EXPECT_EQ(pointer({{"far_address", "2001:db8::1"}}), "/far_address");
  EXPECT_EQ(pointer({{"cipher", "aes-192-ctr"}}), "/cipher");
  EXPECT_EQ(pointer({{"acceleration", "gpu"}}), "/acceleration");
  EXPECT_EQ(pointer({{"mode", "both"}}), "/mode");
  EXPECT_EQ(pointer({{"encapsulation", "gre"}}), "/encapsulation");
  EXPECT_EQ(pointer({{"key", std::string(64, 'A')}}), "none");
  try {
    make_nf("crypto-tunnel", config("encrypt", {{"key", "5ec7e7"}}));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find("5ec7e7"), std::string::npos) << "an error does not tell the key";
  }
  const auto nf = end_of("encrypt");
  frames_of(run(*nf, {ipv4(60)}));
  EXPECT_EQ((nf->state(9).dump() + nf->export_state().dump()).find("00112233"), std::string::npos);
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
