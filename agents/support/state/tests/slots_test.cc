// SPDX-License-Identifier: Apache-2.0
#include "support/state/slots.h"

#include <gtest/gtest.h>

#include "support/state/key_space.h"

namespace orrery::state {
namespace {

const Endpoint kAsked{.host = "10.0.0.9", .port = 7000};

std::optional<std::vector<SlotRange>> slots_in(const std::string& text) {
  RespParser parser;
  if (parser.parse(as_bytes(text)) != RespParser::State::kComplete) throw std::logic_error("no answer: " + text);
  return read_slots(parser.value(as_bytes(text)), kAsked);
}

TEST(Slots, AreThoseOfTheSpecification) {
  EXPECT_EQ(crc16("123456789"), 0x31c3);
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
  EXPECT_EQ(slot_of("foo{}{bar}"), crc16("foo{}{bar}") % kSlots);
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
  EXPECT_EQ(slot_of("foo{bar"), crc16("foo{bar") % kSlots);
  EXPECT_EQ(slot_of(""), 0);
}

TEST(Slots, AreReadFromAnAnswer) {
  const auto ranges = slots_in(
      "*2\r\n"
      "*4\r\n:0\r\n:5460\r\n*4\r\n$9\r\n127.0.0.1\r\n:30001\r\n$2\r\nid\r\n*0\r\n*3\r\n$9\r\n127.0.0.1\r\n:30004\r\n$"
      "2\r\nid\r\n"
      "*3\r\n:5461\r\n:16383\r\n*4\r\n_\r\n:30002\r\n$2\r\nid\r\n*0\r\n");
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->size(), 2u);
  EXPECT_EQ((*ranges)[0].first, 0);
  EXPECT_EQ((*ranges)[0].last, 5460);
  EXPECT_EQ((*ranges)[0].master.text(), "127.0.0.1:30001");
  EXPECT_EQ((*ranges)[1].master.text(), "10.0.0.9:30002") << "a host that is left open is the one that was asked";
}

TEST(Slots, OfANamedHostHaveItsAddressFromTheMetadata) {
  const auto ranges =
      slots_in("*1\r\n*3\r\n:0\r\n:1\r\n*4\r\n$4\r\nhost\r\n:1\r\n$2\r\nid\r\n*2\r\n$2\r\nip\r\n$3\r\n::1\r\n");
  ASSERT_TRUE(ranges);
  EXPECT_EQ((*ranges)[0].master.text(), "[::1]:1");
}

TEST(Slots, OfAnotherFormAreRefused) {
  for (const char* const text :
       {"+OK\r\n", "*1\r\n+OK\r\n", "*1\r\n*2\r\n:0\r\n:1\r\n", "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$3\r\n::1\r\n:1\r\n",
        "*1\r\n*3\r\n:2\r\n:1\r\n*2\r\n$3\r\n::1\r\n:1\r\n", "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$3\r\n::1\r\n:65536\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$4\r\nhost\r\n:1\r\n", "*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n$3\r\n::1\r\n:1\r\n"})
    EXPECT_FALSE(slots_in(text)) << text;
  EXPECT_TRUE(slots_in("*0\r\n")->empty());
}

TEST(Redirection, IsReadFromAnError) {
  const auto moved = read_redirection("MOVED 3999 127.0.0.1:6381", kAsked);
  ASSERT_TRUE(moved);
  EXPECT_FALSE(moved->ask);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->to.text(), "127.0.0.1:6381");
  const auto ask = read_redirection("ASK 1 ::1:6381", kAsked);
  ASSERT_TRUE(ask);
  EXPECT_TRUE(ask->ask);
  EXPECT_EQ(ask->to.text(), "[::1]:6381");
  EXPECT_EQ(read_redirection("MOVED 1 :6381", kAsked)->to.text(), "10.0.0.9:6381");
  for (const char* const text : {"", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED 1 127.0.0.1",
                                 "MOVED 16384 127.0.0.1:1", "MOVED x 127.0.0.1:1", "MOVED 1 127.0.0.1:x",
                                 "MOVED 1 127.0.0.1:0", "MOVED 1 name:1", "ERR MOVED 1 127.0.0.1:1"})
    EXPECT_FALSE(read_redirection(text, kAsked)) << text;
}

TEST(KeySpace, KeepsAChainInOneSlot) {
  const KeySpace nat("lab/web-1", "nat");
  const KeySpace syn("lab/web-1", "syn-counters");
  EXPECT_EQ(nat.prefix(), "state:{lab/web-1}:v:nat:");
  EXPECT_EQ(slot_of(nat.prefix() + "x"), slot_of(syn.prefix() + "y{z}"));
  EXPECT_EQ(slot_of(nat.prefix()), slot_of("lab/web-1"));
  const StoreKey key = nat.key(as_bytes("k"));
  EXPECT_EQ(std::string(key.prefix) + std::string(as_text(key.rest)), "state:{lab/web-1}:v:nat:k");
}

TEST(KeySpace, NamesTheFlawOfAName) {
  for (const char* const name : {"", "Nat", "1nat", "-nat", "na t", "nat_1", "a23456789012345678901234567890123"})
    EXPECT_THROW(KeySpace("chain", name), std::invalid_argument) << name;
  EXPECT_NO_THROW(KeySpace("chain", "a2345678901234567890123456789012"));
  for (const char* const chain : {"", "a}b", "a b", "{a"})
    EXPECT_THROW(KeySpace(chain, "nat"), std::invalid_argument) << chain;
  EXPECT_NO_THROW(KeySpace(std::string(120, 'c'), "a2345678901234567890123456789012"));
}

}  // namespace
}  // namespace orrery::state
