// SPDX-License-Identifier: Apache-2.0
#include "p4/service/digest_book.h"

#include <gtest/gtest.h>

namespace orrery::p4::service {
namespace {

std::vector<ByteString> message(char value) {
  return {ByteString(1, value), "port"};
}

TEST(DigestBook, SendsAFullListOrALateOne) {
  DigestBook book;
  book.add(1, message('a'), 0);
  EXPECT_TRUE(book.due(100).empty()) << "a digest without configuration is off";
  book.configure(1, {.max_timeout_ns = 50, .max_list_size = 2, .ack_timeout_ns = 1000});
  book.add(1, message('a'), 10);
  EXPECT_EQ(book.next_ns(), 60u);
  EXPECT_TRUE(book.due(59).empty());
  book.add(1, message('b'), 20);
  book.add(1, message('c'), 30);
  EXPECT_EQ(book.next_ns(), 0u);
  auto lists = book.due(30);
  ASSERT_EQ(lists.size(), 1u);
  EXPECT_EQ(lists[0].messages, (std::vector{message('a'), message('b')}));
  lists = book.due(60);
  ASSERT_EQ(lists.size(), 1u);
  EXPECT_EQ(lists[0].messages, (std::vector<std::vector<ByteString>>{message('c')}));
  EXPECT_FALSE(book.next_ns());
}

TEST(DigestBook, SendsTheSameOnceUntilItIsAcknowledgedOrTooOld) {
  DigestBook book;
  book.configure(1, {.max_timeout_ns = 0, .max_list_size = 1, .ack_timeout_ns = 100});
  book.add(1, message('a'), 0);
  const auto first = book.due(0);
  ASSERT_EQ(first.size(), 1u);
  book.add(1, {ByteString("\0a", 2), "port"}, 10);
  EXPECT_TRUE(book.due(10).empty()) << "the same number in another form";
  EXPECT_FALSE(book.acknowledge(1, first[0].list_id + 1));
  EXPECT_TRUE(book.acknowledge(1, first[0].list_id));
  book.add(1, message('a'), 20);
  EXPECT_EQ(book.due(20).size(), 1u);
  book.add(1, message('a'), 119);
  EXPECT_TRUE(book.due(119).empty());
  book.add(1, message('a'), 120);
  EXPECT_EQ(book.due(120).size(), 1u);
  book.forget();
  book.add(1, message('a'), 121);
  EXPECT_EQ(book.due(121).size(), 1u);
  book.disable(1);
  book.add(1, message('b'), 121);
  EXPECT_TRUE(book.due(500).empty());
}

TEST(DigestBook, IsBounded) {
  DigestBook book;
  book.configure(1, {.max_timeout_ns = 1'000'000, .max_list_size = 0, .ack_timeout_ns = 1'000'000});
  for (uint64_t i = 0; i < DigestBook::kMost + 10; ++i) book.add(1, {to_bytes(i)}, 0);
  EXPECT_EQ(book.dropped(), 10u);
  const auto lists = book.due(1'000'000);
  ASSERT_EQ(lists.size(), 1u);
  EXPECT_EQ(lists[0].messages.size(), DigestBook::kMost);
}

}  // namespace
}  // namespace orrery::p4::service
