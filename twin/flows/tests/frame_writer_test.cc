// SPDX-License-Identifier: Apache-2.0
#include "flows/frame_writer.h"

#include <gtest/gtest.h>

#include <random>

#include "support/testing/frames.h"

namespace orrery::flows {
namespace {

FrameEnds ends_of(bool is_ipv6) {
  FrameEnds ends{};
  ends.source_mac = {2, 0, 0, 0, 0, 1};
  ends.destination_mac = {2, 0, 0, 0, 0, 2};
  ends.source = is_ipv6 ? std::array<uint8_t, 16>{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
                        : std::array<uint8_t, 16>{10, 0, 0, 1};
  ends.destination = is_ipv6 ? std::array<uint8_t, 16>{0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}
                             : std::array<uint8_t, 16>{10, 0, 0, 2};
  ends.is_ipv6 = is_ipv6;
  ends.port = 9100;
  return ends;
}

TEST(FrameWriters, WriteFramesThatAreRightInABufferThatIsUsedAgain) {
  std::mt19937_64 random(3);
  for (const bool is_ipv6 : {false, true}) {
    const FrameEnds ends = ends_of(is_ipv6);
    const FrameWriter writer(ends);
    FrameWriter::Buffer buffer{};
    for (int i = 0; i < 5000; ++i) {
      const bool tcp = random() % 2 == 0;
      const size_t headers = tcp ? ends.tcp_header_bytes() : ends.udp_header_bytes();
      const size_t payload = Mark::kBytes + random() % (FrameWriter::kFrameMax - headers - Mark::kBytes + 1);
      const DuePacket packet{.due_ns = 0,
                             .flow = static_cast<uint32_t>(random()),
                             .number = static_cast<uint32_t>(random() % 3),
                             .last = random() % 2 == 0,
                             .tcp = tcp,
                             .source_port = static_cast<uint16_t>(random()),
                             .frame_bytes = static_cast<uint16_t>(headers + payload),
                             .tcp_sequence = static_cast<uint32_t>(random())};
      const Mark mark{static_cast<uint32_t>(random()), packet.flow, packet.number, packet.last, random(), random()};
      writer.write(buffer, packet, mark);

      const testing::Frame frame(buffer.data(), buffer.data() + packet.frame_bytes);
      ASSERT_TRUE(testing::checksums_hold(frame));
      const ParsedPacket parsed = parse_packet(frame);
      ASSERT_EQ(parsed.kind, PacketKind::kIpTransport);
      ASSERT_EQ(parsed.src_port, packet.source_port);
      ASSERT_EQ(parsed.dst_port, 9100);
      const auto back = Mark::load(std::span(frame).subspan(headers));
      ASSERT_TRUE(back);
      ASSERT_EQ(back->session, mark.session);
      ASSERT_EQ(back->flow, mark.flow);
      ASSERT_EQ(back->number, mark.number);
      ASSERT_EQ(back->last, mark.last);
      ASSERT_EQ(back->sequence, mark.sequence);
      ASSERT_EQ(back->sent_ns, mark.sent_ns);
      if (!tcp) continue;
      const uint8_t flags = frame[headers - 20 + 13];
      ASSERT_EQ(flags, packet.number == 0 ? 0x02 : packet.last ? 0x19 : 0x18);
      ASSERT_EQ(load_be32(&frame[headers - 20 + 4]), packet.tcp_sequence);
    }
  }
}

TEST(Marks, AreNotReadFromWhatIsNone) {
  std::array<uint8_t, Mark::kBytes> bytes{};
  EXPECT_FALSE(Mark::load(bytes));
  Mark{}.store(bytes.data());
  EXPECT_TRUE(Mark::load(bytes));
  EXPECT_FALSE(Mark::load(std::span(bytes).first(Mark::kBytes - 1)));
  EXPECT_FALSE(Mark::load({}));
}

}  // namespace
}  // namespace orrery::flows
