// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "nfs/crypto-tunnel/tunnel_ends.h"

namespace orrery::crypto_tunnel {
namespace {

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
  for (const int64_t packets : {int64_t{-1}, int64_t{0}, int64_t{(1 << 20) - 1}, int64_t{1} << 32})
    EXPECT_EQ(pointer({{"session_packets", packets}}), "/session_packets") << packets;
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

}  // namespace
}  // namespace orrery::crypto_tunnel
