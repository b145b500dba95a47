// SPDX-License-Identifier: Apache-2.0
#include "nfs/ip_prefix.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery {
namespace {

TEST(IpPrefix, IsOfTheVersionThatItsTextIs) {
  EXPECT_EQ(parse_ip_prefix("10.1.2.3/8"), IpPrefix(Ipv4Prefix{0x0a000000, 8}));
  EXPECT_EQ(parse_ip_prefix("2001:db8:ffff::1/40"), IpPrefix(Ipv6Prefix{{0x20010db8'ff000000, 0}, 40}));
  EXPECT_EQ(parse_ip_prefix("::1"), IpPrefix(Ipv6Prefix{{0, 1}, 128}));
  EXPECT_EQ(parse_ip_prefix("::/0"), IpPrefix(Ipv6Prefix{{0, 0}, 0}));
  const Ipv6Address longest{0x20010db800000000, 0x0000ffff0a010203};
  EXPECT_EQ(parse_ip_prefix("2001:0db8:0000:0000:0000:ffff:010.1.2.3/128"), std::nullopt) << "octal";
  EXPECT_EQ(parse_ip_prefix("2001:0db8:0000:0000:0000:ffff:10.1.2.3/128"), IpPrefix(Ipv6Prefix{longest, 128}));
}

TEST(IpPrefix, IsRefusedWhereItIsNone) {
  for (const char* text :
       {"", "/", "1.2.3", "1.2.3.4/33", "2001:db8::/129", "2001:db8::/", "2001:db8::/-1", ":::", "2001:db8::/032",
        "fe80::1%eth0", "2001:db8::1 ", "1::2::3", "::ffff:1.2.3.4", "::ffff:0:0/96", "x"})
    EXPECT_EQ(parse_ip_prefix(text), std::nullopt) << text;
  EXPECT_EQ(parse_ip_prefix(std::string_view("::1\0", 4)), std::nullopt);
}

TEST(IpPrefix, HoldsTheAddressesThatBeginWithIt) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto length = static_cast<uint8_t>(rng() % 129);
    const Ipv6Address a{rng(), rng()};
    Ipv6Address b = a;
    const unsigned bit = rng() % 128;  // from the left
    (bit < 64 ? b.high : b.low) ^= uint64_t{1} << (63 - bit % 64);
    Ipv6Prefix prefix{a, length};
    prefix.address = {a.high & prefix.mask().high, a.low & prefix.mask().low};
    ASSERT_TRUE(prefix.contains(a));
    ASSERT_EQ(prefix.contains(b), bit >= length) << bit << '/' << int{length};
    const Ipv6Address last = prefix.last();
    ASSERT_TRUE(prefix.contains(last));
    ASSERT_TRUE(last.high > a.high || (last.high == a.high && last.low >= a.low));
    ASSERT_EQ(parse_ipv6_prefix(address_text(prefix.address) + '/' + std::to_string(length)), prefix);
  }
}

TEST(IpPrefix, IsWrittenAsRecommended) {
  EXPECT_EQ(address_text(Ipv6Address{0x20010db8'00000000, 0x1}), "2001:db8::1");
  EXPECT_EQ(address_text(Ipv6Address{0x20010db8'00000001, 0x0000000000000001}), "2001:db8:0:1::1");
  EXPECT_EQ(address_text(Ipv6Address{0, 0}), "::");
  EXPECT_EQ(address_text(ipv4_mapped(0x0a010203)), "10.1.2.3");
}

}  // namespace
}  // namespace orrery
