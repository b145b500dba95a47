// SPDX-License-Identifier: Apache-2.0
#include "support/state/store_address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <stdexcept>

namespace orrery::state {
namespace {

TEST(StoreAddress, IsAUnixSocket) {
  const StoreAddress address = StoreAddress::parse("unix:/run/redis.sock");
  EXPECT_FALSE(address.cluster);
  ASSERT_EQ(address.endpoints.size(), 1u);
  EXPECT_EQ(address.endpoints[0].path, "/run/redis.sock");
  EXPECT_EQ(address.text(), "unix:/run/redis.sock");
  EXPECT_EQ(socket_address_of(address.endpoints[0]).storage.ss_family, AF_UNIX);
}

TEST(StoreAddress, IsAHostWithAPort) {
  const StoreAddress address = StoreAddress::parse("redis://192.0.2.1:6379");
  EXPECT_EQ(address.endpoints[0].host, "192.0.2.1");
  EXPECT_EQ(address.endpoints[0].port, 6379);
  EXPECT_TRUE(address.password.empty());
  EXPECT_EQ(StoreAddress::parse("redis://localhost:1").endpoints[0].host, "127.0.0.1");
  const StoreAddress v6 = StoreAddress::parse("redis://[2001:db8::1]:65535/");
  EXPECT_EQ(v6.endpoints[0].host, "2001:db8::1");
  EXPECT_EQ(v6.text(), "redis://[2001:db8::1]:65535");
  EXPECT_EQ(socket_address_of(v6.endpoints[0]).storage.ss_family, AF_INET6);
}

TEST(StoreAddress, HasUserAndPassword) {
  const StoreAddress both = StoreAddress::parse("redis://nf:p%40ss:w@rd@127.0.0.1:1");
  EXPECT_EQ(both.user, "nf");
  EXPECT_EQ(both.password, "p@ss:w@rd");
  EXPECT_EQ(both.text(), "redis://127.0.0.1:1") << "what is shown has no password";
  const StoreAddress alone = StoreAddress::parse("redis://secret@127.0.0.1:1");
  EXPECT_TRUE(alone.user.empty());
  EXPECT_EQ(alone.password, "secret");
}

TEST(StoreAddress, IsACluster) {
  const StoreAddress address = StoreAddress::parse("redis+cluster://u:p@127.0.0.1:7000,[::1]:7001,127.0.0.1:7002");
  EXPECT_TRUE(address.cluster);
  ASSERT_EQ(address.endpoints.size(), 3u);
  EXPECT_EQ(address.endpoints[1].host, "::1");
  EXPECT_EQ(address.user, "u");
  EXPECT_EQ(address.text(), "redis+cluster://127.0.0.1:7000,[::1]:7001,127.0.0.1:7002");
}

TEST(StoreAddress, NamesItsFlawWithoutThePassword) {
  const std::string long_path = "unix:/" + std::string(107, 'x');
  for (const std::string& text : {std::string("http://x"),
                                  std::string(),
                                  std::string("unix:relative"),
                                  std::string("unix:"),
                                  long_path,
                                  std::string("redis://:secret@"),
                                  std::string("redis://127.0.0.1"),
                                  std::string("redis://127.0.0.1:"),
                                  std::string("redis://127.0.0.1:0"),
                                  std::string("redis://127.0.0.1:65536"),
                                  std::string("redis://127.0.0.1:1x"),
                                  std::string("redis://secret.example:1"),
                                  std::string("redis://[::1:1"),
                                  std::string("redis://[::1]1"),
                                  std::string("redis://127.0.0.1:1,127.0.0.1:2"),
                                  std::string("redis+cluster://127.0.0.1:1,"),
                                  std::string("redis+cluster://"),
                                  std::string("redis://u:@127.0.0.1:1"),
                                  std::string("redis://@127.0.0.1:1"),
                                  std::string("redis://u:secret%4@127.0.0.1:1"),
                                  std::string("redis://u:secret%zz@127.0.0.1:1"),
                                  std::string("rediss://127.0.0.1:1")}) {
    try {
      StoreAddress::parse(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& flaw) {
      EXPECT_EQ(std::string(flaw.what()).find("secret"), std::string::npos) << flaw.what();
    }
  }
}

}  // namespace
}  // namespace orrery::state
