// SPDX-License-Identifier: Apache-2.0
#include "p4/service/values.h"

#include <gtest/gtest.h>

namespace orrery::p4::service {
namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

TEST(Values, AreShortened) {
  EXPECT_EQ(shortest(bytes({0, 0, 1, 0})), bytes({1, 0}));
  EXPECT_EQ(shortest(bytes({0, 0})), bytes({0}));
  EXPECT_EQ(shortest(""), bytes({0}));
  EXPECT_EQ(bits_of(bytes({0, 1, 0x63})), 9u);
  EXPECT_EQ(bits_of(bytes({0})), 0u);
  EXPECT_EQ(shown(bytes({0, 0x0a, 0x05})), "0xa05");
}

// The tables of P4Runtime 1.4, 8.4.
TEST(Values, FitTheirWidth) {
  EXPECT_EQ(fault_of(bytes({0, 0x63}), 16), "");
  EXPECT_EQ(fault_of(bytes({0, 0, 0x63}), 12), "");
  EXPECT_NE(fault_of(bytes({1, 0x63}), 8), "");
  EXPECT_NE(fault_of("", 8), "");
  EXPECT_NE(fault_of(bytes({1, 0, 0x63}), 16), "");
  EXPECT_NE(fault_of(bytes({0x10, 0x63}), 12), "");
  EXPECT_NE(fault_of(bytes({0, 0x40, 0x63}), 12), "");
  EXPECT_THROW(checked(bytes({1, 0x63}), 8, "x"), Failure);
}

TEST(Values, SignedOnesAreExtended) {
  for (const auto& [wire, width, held] : {std::tuple{bytes({0x63}), 8u, bytes({0x63})},
                                          {bytes({0x9d}), 8u, bytes({0x9d})},
                                          {bytes({0xff, 0x9d}), 8u, bytes({0x9d})},
                                          {bytes({0xfd, 0x1d}), 12u, bytes({0x0d, 0x1d})},
                                          {bytes({0xff}), 16u, bytes({0xff, 0xff})},
                                          {bytes({0, 0}), 16u, bytes({0})}})
    EXPECT_EQ(unsigned_of(wire, width, "x"), held) << shown(wire);
  for (const auto& [wire, width] : {std::pair{bytes({0, 0x9d}), 8u}, {bytes({0x8d, 0x1d}), 12u}, {std::string(), 16u}})
    EXPECT_THROW(unsigned_of(wire, width, "x"), Failure);
  EXPECT_EQ(signed_of(bytes({0x0d, 0x1d}), 12), bytes({0xfd, 0x1d}));
  EXPECT_EQ(signed_of(bytes({0x9d}), 8), bytes({0x9d}));
  EXPECT_EQ(signed_of(bytes({0xff, 0xff}), 16), bytes({0xff}));
  EXPECT_EQ(signed_of(bytes({0x7f}), 16), bytes({0x7f}));
  EXPECT_EQ(signed_of(bytes({0x80}), 16), bytes({0, 0x80}));
  EXPECT_EQ(signed_of(bytes({0}), 16), bytes({0}));
}

TEST(Values, MasksAndPrefixes) {
  EXPECT_EQ(prefix_mask(8, 32), bytes({0xff, 0, 0, 0}));
  EXPECT_EQ(prefix_mask(3, 12), bytes({0x0e, 0}));
  EXPECT_EQ(prefix_mask(0, 12), bytes({0}));
  EXPECT_EQ(all_ones(9), bytes({1, 0xff}));
  EXPECT_EQ(trailing_zeros(bytes({0x0a, 0}), 16), 9u);
  EXPECT_EQ(trailing_zeros(bytes({0}), 16), 16u);
  EXPECT_TRUE(within(bytes({1}), bytes({0x0f, 1})));
  EXPECT_FALSE(within(bytes({2, 0}), bytes({0xff})));
  EXPECT_LT(compare(bytes({0, 5}), bytes({1, 0})), 0);
  EXPECT_EQ(compare(bytes({0, 5}), bytes({5})), 0);
}

TEST(Values, BitsOfFieldsOneBehindTheOther) {
  BitWriter writer;
  writer.add(bytes({1, 0xfe}), 9);
  writer.add(bytes({5}), 7);
  writer.add(bytes({0x12, 0x34, 0x56}), 24);
  writer.add(bytes({1}), 1);
  EXPECT_EQ(writer.bytes(), bytes({0xff, 0x05, 0x12, 0x34, 0x56, 0x80}));
  BitReader reader(writer.bytes());
  EXPECT_EQ(reader.take(9), bytes({1, 0xfe}));
  EXPECT_EQ(reader.take(7), bytes({5}));
  EXPECT_EQ(reader.take(24), bytes({0x12, 0x34, 0x56}));
  EXPECT_EQ(reader.take(1), bytes({1}));
}

}  // namespace
}  // namespace orrery::p4::service
