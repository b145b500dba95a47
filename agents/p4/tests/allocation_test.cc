// SPDX-License-Identifier: Apache-2.0
#include "nfs/testing/allocation_count.h"
#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

struct Discard final : Sink {
  uint64_t frames = 0;
  bool send(const FrameOut& /*frame*/) override {
    frames += 1;
    return true;
  }
  void digest(DigestSample&& /*sample*/) override {}
};

// Of as many runs of the packet, when there have been some.
uint64_t allocations(Switch& with, std::string_view hex, Discard& sink) {
  const ByteString bytes = bytes_of(hex);
  const std::vector<uint8_t> frame(bytes.begin(), bytes.end());
  auto batch = with.pipeline.batch();
  for (int i = 0; i < 10; ++i) batch.run({1, frame, with.now_ns}, sink);
  const uint64_t before = orrery::testing::allocation_count();
  for (int i = 0; i < 100; ++i) batch.run({1, frame, with.now_ns}, sink);
  return orrery::testing::allocation_count() - before;
}

TEST(P4Packets, TakeNoMemoryOnTheirWay) {
  Discard sink;
  Switch routes(read_program("l3"));
  routes.insert("IngressImpl.routes", {prefix(0x0a000000, 8)},
                routes.call("IngressImpl.routes", "IngressImpl.route", {3}));
  routes.insert("IngressImpl.next_hops", {exactly(3)},
                routes.call("IngressImpl.next_hops", "IngressImpl.forward", {4, 1, 2}));
  EXPECT_EQ(allocations(routes, "aabbccddeeff112233445566 0800 4500 0020 0001 0000 4011 66ca 0a000001 0a000002", sink),
            0u);
  EXPECT_EQ(sink.frames, 110u);
  Switch copies(read_program("copies"));
  copies.pipeline.control().replication().insert_session(5, {{{7, 0}, {8, 3}}});
  copies.pipeline.control().replication().insert_group(1, {{2, 10}, {3, 11}});
  for (const char* what : {"01 05", "02 05", "03 01", "04 00", "05 00"})
    EXPECT_EQ(allocations(copies, std::string(what) + "000000 0000 0000 0000", sink), 0u) << what;
  Switch parser(read_program("parsing"));
  for (const char* packet : {"01 02 04 07", "02 a3 112233 ee", "03 abcd ef", "58"})
    EXPECT_EQ(allocations(parser, packet, sink), 0u) << packet;
  Switch state(read_program("state"));
  for (const char* what : {"00", "01", "02", "03", "05", "06", "0c"})
    EXPECT_EQ(allocations(state, std::string(what) + "01 00000002 00000000", sink), 0u) << what;
}

}  // namespace
}  // namespace orrery::p4::testing
