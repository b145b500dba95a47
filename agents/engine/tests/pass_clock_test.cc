// SPDX-License-Identifier: Apache-2.0
// Which passes time each module, and what they stand for.
#include <gtest/gtest.h>

#include "core/engine.h"
#include "engine_fixture.h"
#include "test_modules.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::GraphBuilder;
using testing::histogram_count;
using testing::module_stats;

class PassClock : public ::testing::TestWithParam<int> {};

// A burst that ends in a single packet: the full batches before it have to be seen, too, however few they are.
TEST_P(PassClock, FullBatchesOfShortBurstsCountInTheLatencyOfAnNf) {
  Engine engine({.workers = 1, .cpus = {}, .more_kinds = {&testing::kBursts}}, testing::eal());
  GraphBuilder g;
  g.module("in", "bursts", {{"batches", GetParam()}}).task("in");
  g.nf("nf", "l2-forwarder").module("end", "sink").chain({"in", "nf", "end"});
  engine.apply(g.json);
  const json stats = testing::await_packets_in(engine, "nf", 200'000);
  const auto seen = static_cast<double>(histogram_count(module_stats(stats, "nf")["latency_ns"]));
  EXPECT_NEAR(seen / module_stats(stats, "nf")["packets_in"].get<double>(), 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Bursts, PassClock, ::testing::Values(1, 5, 16, 17, 40));

}  // namespace
}  // namespace orrery
