// SPDX-License-Identifier: Apache-2.0
// Two ends of a tunnel and packets for it, for tests.
#pragma once

#include <ctime>

#include "nfs/crypto-tunnel/esp_oracle.h"
#include "nfs/testing/nf_driver.h"
#include "support/checksum.h"

namespace orrery::crypto_tunnel {

using namespace orrery::testing;
using namespace crypto_tunnel::oracle;
using nlohmann::json;

inline constexpr const char* kKey = "00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f";
inline const Bytes kNear = {192, 0, 2, 1}, kFar = {192, 0, 2, 2};

inline json config(const char* mode, const json& changes = json::object()) {
  json out = {{"key", kKey}, {"mode", mode}, {"clamp_mss", false}};
  out.update(changes);
  return out;
}

inline std::unique_ptr<NfCore> end_of(const char* mode, const json& changes = json::object()) {
  return make_nf("crypto-tunnel", config(mode, changes));
}

// Frames with an IP packet of `bytes`, in front of which stand 14 bytes.
inline Frame ipv4(size_t bytes, uint8_t fill = 'x') {
  FrameSpec spec;
  spec.proto = kUdp;
  spec.payload = std::string(bytes - 28, static_cast<char>(fill));
  return build_frame(spec);
}

inline Frame ipv6(size_t bytes) {
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
inline Frame unpadded(const Frame& frame) {
  const ParsedPacket p = parse_packet(frame);
  return {frame.begin(), frame.begin() + p.l3_offset + p.ip_length()};
}

inline Bytes packet_of(const Frame& frame) {
  return {frame.begin() + 14, frame.end()};
}

inline Frame framed(const Bytes& packet) {
  Frame frame = build_frame({});
  frame.resize(14);
  frame.insert(frame.end(), packet.begin(), packet.end());
  if (packet[0] >> 4 == 4) {
    store_be16(&frame[24], 0);
    store_be16(&frame[24], checksum({&frame[14], 20}));
  }
  return frame;
}

inline std::vector<Frame> frames_of(const std::vector<Outcome>& outcomes) {
  std::vector<Frame> out;
  for (const Outcome& o : outcomes) {
    EXPECT_FALSE(o.verdict.drop) << o.reason;
    out.push_back(o.frame);
  }
  return out;
}

inline size_t esp_at(const Frame& frame) {
  return frame[23] == 17 ? 14 + 28 : 14 + 20;
}
inline uint32_t spi_of(const Frame& frame) {
  return load_be32(&frame[esp_at(frame)]);
}
inline uint32_t sequence_of(const Frame& frame) {
  return load_be32(&frame[esp_at(frame) + 4]);
}
inline uint64_t iv_of(const Frame& frame) {
  return uint64_t{load_be32(&frame[esp_at(frame) + 8])} << 32 | load_be32(&frame[esp_at(frame) + 12]);
}

// Sessions are named for seconds, so one that begins anew in the same second would have the same name.
inline void await_the_next_second() {
  for (const time_t begin = time(nullptr); time(nullptr) == begin;) continue;
}

}  // namespace orrery::crypto_tunnel
