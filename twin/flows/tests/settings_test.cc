// SPDX-License-Identifier: Apache-2.0
#include "flows/settings.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace orrery::flows {
namespace {

nlohmann::json settings() {
  return nlohmann::json::parse(R"({
    "interface": "eth0", "gateway_mac": "02:0e:ff:ff:ff:fe", "address": "10.0.0.2", "port": 9100, "duration_s": 0,
    "flows_per_s": 2000, "distribution": "web-search", "mean_bytes": 0, "mean_lifetime_s": 5, "tcp_share": 0.5,
    "packets": "imix", "packet_bytes": 1400, "rate_bps": 7200000, "seed": 3, "wave_repeats": true,
    "wave": [{"at_s": 0, "rate_bps": 7200000}, {"at_s": 10, "rate_bps": 12300000}]})");
}

std::string refused(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json wrong = settings();
  wrong[nlohmann::json::json_pointer(pointer)] = value;
  try {
    generate_settings(wrong);
  } catch (const EngineError& error) {
    return error.pointer;
  }
  return "accepted";
}

TEST(Settings, AreReadAsTheContractHasThem) {
  const GenerateSettings read = generate_settings(settings());
  EXPECT_EQ(read.interface, "eth0");
  EXPECT_EQ(read.source.flows_per_s, 2000);
  EXPECT_NEAR(read.source.shape.sizes.quantile(0.53), 80e3, 1);
  EXPECT_TRUE(read.source.mix);
  EXPECT_DOUBLE_EQ(read.source.rate->at(15), 9.75e6);
  nlohmann::json plain = settings();
  plain["wave"] = nlohmann::json::array();
  EXPECT_DOUBLE_EQ(generate_settings(plain).source.rate->at(15), 7.2e6);
  plain["rate_bps"] = 0;
  EXPECT_FALSE(generate_settings(plain).source.rate);
}

TEST(Settings, ThatAreWrongAreRefusedByName) {
  EXPECT_EQ(refused("/distribution", "pareto"), "/distribution");
  EXPECT_EQ(refused("/flows_per_s", 20'001), "/flows_per_s");
  EXPECT_EQ(refused("/packet_bytes", 64), "/packet_bytes");
  EXPECT_EQ(refused("/wave/1/at_s", 0), "/wave/1/at_s");
  EXPECT_EQ(refused("/wave/0/rate_bps", 1e11), "/wave/0/rate_bps");
  EXPECT_EQ(refused("/tcp_share", 2), "/tcp_share");
  EXPECT_EQ(refused("/seed", 4), "accepted");
}

}  // namespace
}  // namespace orrery::flows
