// SPDX-License-Identifier: Apache-2.0
#include "linkd/control.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/errors.h"

namespace orrery::linkd {
namespace {

using nlohmann::json;

json link(const std::string& id = "l1") {
  return {{"id", id},           {"a", "none-a"},   {"b", "none-b"}, {"rate_bps", 1e6},
          {"delay_us", 5000.5}, {"jitter_us", 10}, {"loss", 0.5},   {"queue_bytes", 100000}};
}

class Control : public ::testing::Test {
 protected:
  ~Control() override {
    pump_.stop();
    thread_.join();
  }

  std::string refusal(const json& params) {
    try {
      handle(pump_, "set-links", params);
    } catch (const EngineError& error) {
      return error.pointer;
    }
    return "accepted";
  }

  Pump pump_;
  std::thread thread_{[this] { pump_.run(); }};
};

TEST_F(Control, ALinkWithoutInterfacesIsThereAndTellsWhy) {
  const json told = handle(pump_, "set-links", {{"links", {link()}}});
  ASSERT_EQ(told["links"].size(), 1u);
  EXPECT_EQ(told["links"][0]["failure"], "there is no interface none-a");
  EXPECT_EQ(handle(pump_, "get-links", json::object()), told);
  EXPECT_EQ(handle(pump_, "set-links", {{"links", json::array()}}), json({{"links", json::array()}}));
}

TEST_F(Control, ABadRequestNamesTheFieldAndChangesNothing) {
  handle(pump_, "set-links", {{"links", {link("kept")}}});
  const std::vector<std::pair<json, std::string>> cases{
      {{{"rate_bps", 0}}, "/links/0/rate_bps"},       {{{"rate_bps", "fast"}}, "/links/0/rate_bps"},
      {{{"delay_us", -1}}, "/links/0/delay_us"},      {{{"delay_us", 1e8}}, "/links/0/delay_us"},
      {{{"jitter_us", 6000}}, "/links/0/jitter_us"},  {{{"loss", 1.01}}, "/links/0/loss"},
      {{{"queue_bytes", 0}}, "/links/0/queue_bytes"}, {{{"a", "a-name-that-is-too-long"}}, "/links/0/a"},
      {{{"id", "no good"}}, "/links/0/id"},           {{{"colour", 1}}, "/links/0/colour"},
  };
  for (const auto& [change, pointer] : cases) {
    json bad = link();
    bad.update(change);
    EXPECT_EQ(refusal({{"links", {bad}}}), pointer);
  }
  EXPECT_EQ(refusal({{"links", {link("x"), link("x")}}}), "/links/1/id");
  EXPECT_EQ(refusal({{"links", {link("x"), link("y")}}}), "/links/1/a");
  EXPECT_EQ(refusal(json::object()), "/links");
  EXPECT_THROW(handle(pump_, "drop-all", json::object()), EngineError);
  EXPECT_EQ(handle(pump_, "get-links", json::object())["links"][0]["id"], "kept");
}

}  // namespace
}  // namespace orrery::linkd
