// SPDX-License-Identifier: Apache-2.0
// ESP in tunnel mode (RFC 4303), within UDP if wanted (RFC 3948), as bytes of a frame.
#pragma once

#include <cstdint>
#include <optional>

#include "nfs/nf_core.h"

namespace orrery::crypto_tunnel {

enum class Encapsulation : uint8_t { kUdp, kNone };

inline constexpr uint32_t kIcvBytes = 16;  // HMAC-SHA-256-128 (RFC 4868 2.6)
inline constexpr uint32_t kIvBytes = 8;
inline constexpr uint32_t kEspBytes = 8;

// Bytes in front of the encrypted text, the Ethernet header not among them.
constexpr uint32_t front_bytes(Encapsulation encapsulation) {
  return 20 + (encapsulation == Encapsulation::kUdp ? 8 : 0) + kEspBytes + kIvBytes;
}

// Of a packet of this length with its ESP trailer: padding, its length and the next header (RFC 4303 2.4).
constexpr uint32_t text_bytes(uint32_t packet_bytes) {
  return (packet_bytes + 2 + 3) / 4 * 4;
}

// The longest packet whose encrypted form is not longer than `mtu`.
constexpr uint32_t largest_packet(Encapsulation encapsulation, uint32_t mtu) {
  return (mtu - front_bytes(encapsulation) - kIcvBytes) / 4 * 4 - 2;
}

// An IP packet within a frame.
struct IpPacket {
  uint8_t version;
  uint16_t offset;
  uint16_t bytes;
};

enum class L3 : uint8_t { kIp, kArp, kOther, kMalformed };

// What the frame carries, and the IP packet if it is one; what is behind that is Ethernet padding.
L3 l3_of(const NfPacket& packet, IpPacket& ip);

// Where the parts of an ESP packet lie. Between ESP header and ICV all is authentic or nothing is.
struct EspPacket {
  uint8_t* header;
  uint32_t text_bytes;

  uint8_t* iv() const { return header + kEspBytes; }
  uint8_t* text() const { return iv() + kIvBytes; }
  uint8_t* icv() const { return text() + text_bytes; }
  uint32_t hashed_bytes() const { return kEspBytes + kIvBytes + text_bytes; }
};

struct Outer {
  uint32_t source;
  uint32_t destination;
  Encapsulation encapsulation;
};

// Whether there is room around the packet for what encapsulate() adds.
bool has_room(const NfPacket& packet, const IpPacket& ip, Encapsulation encapsulation);

// Puts the headers in front of the IP packet and the trailer behind it; IV and ICV are left to be written.
// Precondition: has_room().
EspPacket encapsulate(NfPacket& packet, const IpPacket& ip, const Outer& outer, uint32_t spi, uint32_t sequence);

// The ESP packet from `source` to `destination`, if the IP packet is one, in either encapsulation. A fragment is not.
std::optional<EspPacket> esp_of(const NfPacket& packet, const IpPacket& ip, uint32_t source, uint32_t destination);

// Leaves only the packet within, whose text is decrypted, and returns its length. 0: there is none.
uint32_t decapsulate(NfPacket& packet, const IpPacket& outer, const EspPacket& esp);

// Lowers the MSS option of a TCP segment that opens a connection, so that its segments fit into packets of
// `largest_packet` bytes.
void clamp_mss(uint8_t* packet, uint32_t bytes, uint32_t largest_packet);

}  // namespace orrery::crypto_tunnel
