// SPDX-License-Identifier: Apache-2.0
// Frames as bytes of the fuzzer describe them: raw, or right ones with some bytes changed.
#pragma once

#include "fuzz/input.h"
#include "support/testing/frames.h"

namespace orrery::fuzz {

struct FuzzFrame {
  testing::Frame bytes;
  bool intact;  // as build_frame() made it, and no fragment
};

inline testing::FrameSpec frame_spec(Input& in) {
  static constexpr uint8_t kProtos[] = {testing::kTcp, testing::kTcp, testing::kUdp, testing::kIcmp, testing::kGre};
  static constexpr uint8_t kExtensions[] = {testing::kHopByHop, testing::kRouting, testing::kFragmentHeader,
                                            testing::kAuthentication, testing::kDestinationOptions};
  static constexpr uint32_t kServers[] = {0xcb007101, 0xc6120001, 0x0a000002, 0xc0a80001, 0xc0000201};
  static constexpr uint16_t kPorts[] = {80, 443, 23, 1024, 4500, 53};
  static const std::string kPayloads[] = {"",
                                          "x",
                                          "GET /a/../b HTTP/1.1\r\nHost: www.example.com\r\n\r\n",
                                          "GET http://h/%2e%2e/ HTTP/1.0\r\n\r\n",
                                          "id=1' or 1=1 union select",
                                          std::string("\x16\x03\x01\x00\x40\x01\x00\x00\x3c\x03\x03", 11)};
  testing::FrameSpec spec;
  const uint8_t what = in.u8();
  spec.proto = kProtos[in.u8() % std::size(kProtos)];
  spec.src = 0x0a000000u | in.u8() % 8u;
  spec.dst = kServers[in.u8() % std::size(kServers)];
  spec.src_port = static_cast<uint16_t>(1024 + in.u8());
  spec.dst_port = kPorts[in.u8() % std::size(kPorts)];
  spec.payload = kPayloads[in.u8() % std::size(kPayloads)];
  spec.vlan = (what & 1) != 0;
  spec.service_vlan = (what & 2) != 0;
  if ((what & 4) != 0) spec.ip_option_words = in.u8() % 11;
  if ((what & 8) != 0) spec.more_fragments = true;
  if ((what & 16) != 0) spec.fragment_offset = in.u16() % 8192;
  if ((what & 32) != 0) spec.payload.append(in.u16() % 1400u, static_cast<char>(in.u8()));
  if ((what & 64) != 0) {
    spec = testing::over_ipv6(spec);
    for (int n = in.u8() % 4; n > 0; --n) {
      const uint8_t type = kExtensions[in.u8() % std::size(kExtensions)];
      spec.extensions.push_back({type, static_cast<uint8_t>(type == testing::kFragmentHeader ? 1 : 2 + in.u8() % 3)});
    }
  }
  spec.udp_checksum = (what & 128) == 0;
  return spec;
}

inline FuzzFrame frame(Input& in) {
  const uint8_t form = in.u8();
  if (form % 4 == 0) return {in.bytes(in.u16() % 1600u), false};
  const testing::FrameSpec spec = frame_spec(in);
  testing::Frame bytes = testing::build_frame(spec);
  if (form % 4 == 1 && spec.fragment_offset == 0 && !spec.more_fragments)
    bytes = testing::build_icmp_error(0x01010101, in.u8(), bytes, in.u8());
  const int changes = form / 4 % 8;
  for (int n = changes; n > 0; --n) bytes[in.u16() % bytes.size()] = in.u8();
  if (form >= 224) bytes.resize(in.u16() % (bytes.size() + 1));
  const bool fragment = spec.fragment_offset != 0 || spec.more_fragments;
  return {std::move(bytes), form < 224 && changes == 0 && form % 4 != 1 && !fragment && spec.extensions.empty()};
}

}  // namespace orrery::fuzz
