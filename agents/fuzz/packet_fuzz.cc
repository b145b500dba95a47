// SPDX-License-Identifier: Apache-2.0
// The packet parser: it agrees with a plain reading, and what it finds lies within the frame.
#include <memory>

#include "fuzz/input.h"
#include "fuzz/packets.h"
#include "support/packet.h"
#include "support/testing/packet_reference.h"

std::vector<orrery::fuzz::Bytes> seeds() {
  orrery::testing::Rng rng(1);
  std::vector<orrery::fuzz::Bytes> out;
  for (int n = 0; n < 32; ++n) {
    out.push_back(orrery::testing::build_frame(orrery::testing::random_spec(rng)));
    out.push_back(orrery::testing::build_frame(orrery::testing::random_ipv6_spec(rng)));
  }
  // Some of very many.
  for (auto& frame : orrery::testing::malformed_ipv6_corpus(rng))
    if (rng() % 128 == 0) out.push_back(std::move(frame));
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace orrery;
  // Of exactly its size, so that a sanitizer sees a reading beyond it.
  const auto frame = std::make_unique<uint8_t[]>(size);
  std::copy_n(data, size, frame.get());
  const std::span<const uint8_t> bytes(frame.get(), size);
  const ParsedPacket p = parse_packet(bytes);
  const std::string difference = testing::difference(p, testing::reference_parse(bytes));
  fuzz::require(difference.empty(), "the parser agrees with the reference on " + difference);
  if (p.kind == PacketKind::kMalformed || p.kind == PacketKind::kNonIp) return 0;
  fuzz::require(p.l3_offset <= p.l4_offset && p.l4_offset <= p.payload_offset &&
                    p.payload_offset + size_t{p.payload_length} <= size,
                "headers and payload lie within the frame, in order");
  return 0;
}
