// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "nfs/load-balancer/balancer_ends.h"
#include "nfs/movable_flows.h"

namespace orrery::load_balancer {
namespace {

TEST(LoadBalancer, AllInstancesChooseAlikeInAnyOrderOfBackEnds) {
  json c = config(6);
  const auto one = make_nf("load-balancer", c);
  std::ranges::reverse(c["backends"]);
  c["external_addresses"] = {"198.18.7.7"};
  const auto two = make_nf("load-balancer", c);
  EXPECT_EQ(choices(*one), choices(*two));
}

TEST(LoadBalancer, WeightsShareNewConnections) {
  json c = config(3);
  c["backends"][1]["weight"] = 2;
  c["backends"][2]["weight"] = 5;
  const auto nf = make_nf("load-balancer", c);
  std::map<uint32_t, int> shares;
  for (const uint32_t n : choices(*nf, 1024, 20000)) ++shares[n];
  EXPECT_NEAR(shares[0], 2500, 250);
  EXPECT_NEAR(shares[1], 5000, 350);
  EXPECT_NEAR(shares[2], 12500, 500);
}

TEST(LoadBalancer, ABackEndThatDrainsMovesNewConnectionsOfItsOwnOnly) {
  json c = config(5);
  const auto before = choices(*make_nf("load-balancer", c));
  for (const char* state : {"drain", "down"}) {
    c["backends"][3]["state"] = state;
    const auto after = choices(*make_nf("load-balancer", c));
    std::set<uint32_t> heirs;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] == 3) {
        heirs.insert(after[i]);
      } else {
        ASSERT_EQ(after[i], before[i]);
      }
    }
    EXPECT_EQ(heirs, (std::set<uint32_t>{0, 1, 2, 4})) << "its share goes to all";
  }
}

TEST(LoadBalancer, OpenConnectionsStayWhenBackEndsComeAndGo) {
  json c = config(5);
  const auto nf = make_nf("load-balancer", c);
  const auto before = choices(*nf, 1024, 1000);
  c["backends"].push_back(backend(5));
  c["backends"][3]["state"] = "drain";
  c["backends"].erase(1);
  nf->configure(c);
  const auto after = choices(*nf, 1024, 1000);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 1) continue;
    ASSERT_EQ(after[i], before[i]);
  }
  const json state = nf->state(10);
  EXPECT_EQ(state["flows_lost_by_reconfiguration"], std::ranges::count(before, 1u));
  uint64_t open = 0;
  for (const json& b : state["backends"]) open += b["open"].get<uint64_t>();
  EXPECT_EQ(open, 1000u);
  EXPECT_EQ(state["backends"][2]["address"], "10.1.0.3");
  EXPECT_GE(state["backends"][2]["open"], std::ranges::count(before, 3u));

  c["backends"][2]["state"] = "down";
  nf->configure(c);
  const auto last = choices(*nf, 1024, 1000);
  for (size_t i = 0; i < last.size(); ++i) {
    ASSERT_NE(last[i], 3u);
    if (after[i] == 3) continue;
    ASSERT_EQ(last[i], after[i]);
  }
}

TEST(LoadBalancer, AConnectionThatBeginsAnewLeavesABackEndThatDrains) {
  json c = config(2);
  const auto nf = make_nf("load-balancer", c);
  const auto send = [&](uint8_t flags) { return backend_of(run_one(*nf, tcp_frame(request(1), flags))); };
  const uint32_t first = send(kTcpSyn);
  EXPECT_EQ(send(kTcpAck), first);
  c["backends"][first]["state"] = "drain";
  nf->configure(c);
  EXPECT_EQ(send(kTcpAck), first);
  EXPECT_EQ(send(kTcpFin | kTcpAck), first);
  EXPECT_EQ(send(kTcpAck), first);
  EXPECT_EQ(send(kTcpSyn), 1 - first);
  EXPECT_EQ(send(kTcpAck), 1 - first);
}

TEST(LoadBalancer, WithoutABackEndNewConnectionsAreDropped) {
  json c = config(2);
  c["backends"][0]["state"] = "down";
  c["backends"][1]["state"] = "drain";
  const auto nf = make_nf("load-balancer", c);
  EXPECT_EQ(run_one(*nf, build_frame(request(1))).reason, "no_backend");
  EXPECT_EQ(nf->state(1)["flow_count"], 0);
  c["backends"][1]["state"] = "up";
  nf->configure(c);
  EXPECT_EQ(backend_of(run_one(*nf, build_frame(request(1)))), 1u);
}

TEST(LoadBalancer, AConnectionMovesToAnotherInstance) {
  for (const uint8_t version : {4, 6}) {
    const auto one = make_nf("load-balancer", config(4, version));
    json c = config(4, version);
    std::ranges::reverse(c["backends"]);
    c["backends"][0]["state"] = "drain";
    const auto two = make_nf("load-balancer", c);
    std::vector<Frame> frames, outs;
    for (uint16_t port = 1; port < 200; ++port) {
      FrameSpec spec = request(port, version);
      if (port % 3 == 0) spec.proto = kUdp;
      frames.push_back(build_frame(spec));
      outs.push_back(run_one(*one, frames.back()).frame);
    }
    two->import_state(json::parse(one->export_state(version == 4 ? RowForm::kBinary : RowForm::kArrays).dump()));
    EXPECT_EQ(two->state(1)["imports_refused"], 0);
    for (size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(run_one(*two, frames[i]).frame, outs[i]);
    EXPECT_EQ(two->state(1)["flows_created"], 0);

    c["backends"].erase(0);
    const auto fewer = make_nf("load-balancer", c);
    fewer->import_state(one->export_state());
    const json state = fewer->state(1);
    EXPECT_GT(state["imports_refused"], 0);
    EXPECT_EQ(state["flow_count"].get<size_t>() + state["imports_refused"].get<size_t>(), frames.size());
    c["external_addresses"] = {text(kExternal + 9, version)};
    const auto elsewhere = make_nf("load-balancer", c);
    elsewhere->import_state(one->export_state());
    EXPECT_EQ(elsewhere->state(1)["flow_count"], 0);
  }
}

// A table of a million connections would be copied for tenths of a second.
TEST(LoadBalancer, AChangeThatKeepsTheBackEndsCopiesNoConnection) {
  json c = config(3, 4, {{"max_failures", 0}});
  const auto nf = make_nf("load-balancer", c);
  const auto before = choices(*nf, 1024, 500);
  const auto table = nf->movable_flows()[0]->table();
  c["backends"][0]["weight"] = 7;
  c["backends"][1]["state"] = "drain";
  c["backends"].push_back(backend(3));
  c["idle_timeout_s"] = 100;
  c["transitory_timeout_s"] = 20;
  c["failure_window_s"] = 5;
  c["ports"] = {80};
  nf->configure(c);
  EXPECT_EQ(choices(*nf, 1024, 500), before);
  EXPECT_EQ(nf->movable_flows()[0]->table(), table);
  c["max_flows"] = 1000;
  nf->configure(c);
  EXPECT_EQ(choices(*nf, 1024, 500), before);
  EXPECT_NE(nf->movable_flows()[0]->table(), table);
}

TEST(LoadBalancer, ConnectionsOfABackEndThatIsTakenOutGoToOthersFromTheSamePort) {
  json c = config(2);
  const auto nf = make_nf("load-balancer", c);
  const Outcome first = run_one(*nf, tcp_frame(request(1), kTcpSyn));
  const uint32_t was_at = backend_of(first);
  const Frame reply = tcp_frame(reply_to(request(1), first), kTcpSyn | kTcpAck);
  EXPECT_EQ(run_one(*nf, reply, Direction::kReturn).reason, "");
  c["backends"][was_at]["state"] = "down";
  nf->configure(c);
  EXPECT_EQ(run_one(*nf, reply, Direction::kReturn).reason, "no_flow");
  EXPECT_EQ(run_one(*nf, build_icmp_error(9, 3, first.frame, 8), Direction::kReturn).reason, "no_flow");
  const Outcome next = run_one(*nf, tcp_frame(request(1), kTcpAck));
  EXPECT_EQ(backend_of(next), 1 - was_at);
  EXPECT_EQ(ends_of(next.frame).src_port, ends_of(first.frame).src_port);
  const json state = nf->state(2);
  EXPECT_EQ(state["flows_moved"], 1);
  EXPECT_EQ(state["flows_lost_by_reconfiguration"], 0);
  EXPECT_EQ(state["backends"][was_at]["open"], 0);
  EXPECT_EQ(state["backends"][1 - was_at]["open"], 1);
}

}  // namespace
}  // namespace orrery::load_balancer
