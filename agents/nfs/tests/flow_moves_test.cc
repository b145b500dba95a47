// SPDX-License-Identifier: Apache-2.0
// What holds for every NF whose flows move by themselves: a selector selects what steering would send there, and a flow
// that moves is never without state and in the end in one place.
#include "nfs/flow_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "nfs/movable_flows.h"
#include "nfs/testing/allocation_count.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"

namespace orrery {
namespace {

using namespace orrery::testing;
using nlohmann::json;
using Request = json (*)(NfCore&, JsonFields&, const Slices&);

// `between`: called between the slices, as packets come.
json ask(
    Request request, NfCore& nf, const json& params, const std::function<void()>& between = [] {}) {
  JsonFields fields(params, "", "bad-request");
  return request(nf, fields, [&](const std::function<bool()>& slice) {
    while (slice()) between();
  });
}

std::string refusal(Request request, NfCore& nf, const json& params) {
  try {
    ask(request, nf, params);
  } catch (const EngineError& error) {
    return std::string(error.code) + " " + error.pointer;
  }
  return "accepted";
}

// By what identifies them; ages are left out.
std::set<std::string> keys_of(const json& state, size_t columns) {
  std::set<std::string> keys;
  for (const json& row : state.value("flows", json::array()))
    EXPECT_TRUE(
        keys.insert(json(json::array_t(row.begin(), row.begin() + static_cast<ptrdiff_t>(columns))).dump()).second)
        << "a flow is there twice";
  return keys;
}

std::set<std::string> both(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> out;
  std::ranges::set_intersection(a, b, std::inserter(out, out.end()));
  return out;
}

constexpr uint32_t kServiceAddress = 0xcb007101;  // of the load balancer's example

class FlowMoves : public ::testing::TestWithParam<std::string_view> {
 protected:
  FlowMoves() {
    const json& schema = descriptor_["config_schema"];
    for (const json& field : schema.value("required", json::array()))
      if (!config_.contains(field))
        config_[field] = schema["properties"][field].contains("default") ? schema["properties"][field]["default"]
                                                                         : schema["properties"][field]["examples"][0];
    if (GetParam() == "url-filter") config_["default_action"] = "block";
    if (GetParam() == "nat") config_["mode"] = "port-restricted";
  }

  std::unique_ptr<NfCore> make() const { return make_nf(GetParam(), config_); }
  size_t columns() const { return descriptor_["state"]["key"].size(); }
  bool knows(const std::string& field) const {
    const json& key = descriptor_["state"]["key"];
    return std::ranges::find(key, json(field)) != key.end();
  }

  // SYNs and data of both versions, and what is made of an attack.
  std::vector<Frame> frames(Rng& rng, size_t count) const {
    std::vector<Frame> out;
    for (size_t i = 0; i < count; ++i) {
      FrameSpec spec = rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
      if (rng() % 4 != 0) {
        spec.proto = kTcp;
        spec.payload = "GET /../../etc/passwd HTTP/1.1\r\nHost: blocked.example\r\n\r\n";
        if (GetParam() == "load-balancer") spec.dst = kServiceAddress, spec.dst_port = 80;
        if (rng() % 2 == 0) out.push_back(tcp_frame(spec, kTcpSyn));
      }
      out.push_back(build_frame(spec));
    }
    return out;
  }

  // Each portion of an export, with what `each` does behind it.
  static void for_each_portion(
      NfCore& nf, json params, const std::function<void(const json&)>& each,
      const std::function<void()>& between = [] {}) {
    for (json portion = json::object(); !portion.value("last", false);) {
      portion = ask(export_flows, nf, params, between);
      each(portion);
      params["after"] = portion["portion"];
    }
  }

  std::set<std::string> selected(NfCore& nf, const json& selector) const {
    const auto other = make();
    size_t rows = 0;
    for_each_portion(nf, {{"flows", selector}}, [&](const json& portion) {
      rows += portion["rows"].get<size_t>();
      EXPECT_EQ(ask(import_state, *other, {{"state", portion["state"]}})["left_out"], 0);
    });
    return keys_of(other->export_state(), columns());
  }

  std::set<std::string> all(const NfCore& nf) const { return keys_of(nf.export_state(), columns()); }

  json descriptor_ = descriptor_of(GetParam());
  json config_ = descriptor_["default_config"];
};

json term(const std::string& field, json rest, bool negated = false) {
  rest["field"] = field;
  rest["not"] = negated;
  return rest;
}

TEST_P(FlowMoves, ATermAndItsNegationSelectEachFlowOnce) {
  Rng rng(31);
  const auto nf = make();
  run(*nf, frames(rng, 1500));
  const auto everything = all(*nf);
  if (everything.empty()) GTEST_SKIP() << "random packets leave no state here";
  EXPECT_EQ(selected(*nf, json::object()), everything);
  const std::vector<std::pair<std::string, json>> terms{
      {"ip.src", {{"prefix", "10.0.32.0/19"}}},   {"ip.src", {{"prefix", "2001:db8::/33"}}},
      {"ip.dst", {{"prefix", "192.168.2.0/23"}}}, {"ip.proto", {{"value", 6}}},
      {"port.src", {{"lo", 0}, {"hi", 1027}}},    {"port.dst", {{"lo", 0}, {"hi", 80}}}};
  std::vector<std::pair<json, std::set<std::string>>> seen;
  for (const auto& [field, rest] : terms) {
    if (!knows(field)) continue;
    const auto with = selected(*nf, {{"match", {term(field, rest)}}});
    const auto without = selected(*nf, {{"match", {term(field, rest, true)}}});
    EXPECT_EQ(with.size() + without.size(), everything.size()) << field;
    EXPECT_TRUE(both(with, without).empty()) << field;
    for (const auto& [other, its] : seen)
      EXPECT_EQ(selected(*nf, {{"match", {other, term(field, rest)}}}), both(its, with)) << "a conjunction";
    seen.emplace_back(term(field, rest), with);
  }
}

TEST_P(FlowMoves, RangesOfTheHashPartitionTheFlows) {
  Rng rng(32);
  const auto nf = make();
  run(*nf, frames(rng, 1500));
  std::set<std::string> together;
  size_t sum = 0;
  const json key = knows("ip.dst") ? json{"ip.src", "ip.dst", "port.src", "port.dst"} : json{"ip.src"};
  for (const auto& [lo, hi] : {std::pair{0, 1}, {1, 20000}, {20000, 50000}, {50000, 65536}}) {
    const auto part = selected(*nf, {{"hash", {{"key", key}, {"lo", lo}, {"hi", hi}}}});
    sum += part.size();
    together.insert(part.begin(), part.end());
  }
  EXPECT_EQ(together, all(*nf));
  EXPECT_EQ(sum, together.size());
}

// As a server moves them, with packets in between: copy all, then what was used since, then release.
TEST_P(FlowMoves, AFlowThatMovesIsNeverWithoutStateAndInTheEndInOnePlace) {
  Rng rng(33);
  const auto from = make(), to = make();
  const std::vector<Frame> known = frames(rng, 800);
  run(*from, known, Direction::kForward, monotonic_ns() - 10'000'000);
  const json selector{{"hash", {{"key", {"ip.src"}}, {"lo", 0}, {"hi", 40000}}}};
  const auto chosen = selected(*from, selector), before = all(*from);
  if (chosen.empty()) GTEST_SKIP() << "random packets leave no state here";
  const auto packets = [&] { run(*from, {known[rng() % known.size()]}); };
  json since;
  for_each_portion(
      *from, {{"flows", selector}},
      [&](const json& portion) {
        if (since.is_null()) since = portion["portion"];
        EXPECT_EQ(ask(import_state, *to, {{"state", portion["state"]}, {"renew", true}})["left_out"], 0);
      },
      packets);
  for (int i = 0; i < 50; ++i) packets();
  const auto there = all(*to);
  for (const std::string& flow : both(chosen, before)) EXPECT_TRUE(there.contains(flow)) << flow;

  // Packets go elsewhere from here on. The clock's slack must pass before the last of them counts as copied.
  const uint64_t last = monotonic_ns();
  while (monotonic_ns() < last + 2 * kClockSlackNs) continue;
  uint64_t released = 0, kept = 0;
  for_each_portion(*from, {{"flows", selector}, {"since", since}}, [&](const json& portion) {
    EXPECT_EQ(ask(import_state, *to, {{"state", portion["state"]}, {"renew", true}})["left_out"], 0);
    const json reply = ask(release_flows, *from, {{"flows", selector}, {"portion", portion["portion"]}});
    released += reply["released"].get<uint64_t>();
    kept += reply["kept"].get<uint64_t>();
  });
  EXPECT_EQ(kept, 0u);
  EXPECT_GE(released, chosen.size());
  const auto stay = all(*from), gone = all(*to);
  EXPECT_TRUE(both(stay, gone).empty()) << "a flow has state in two places";
  for (const std::string& flow : before) EXPECT_TRUE(stay.contains(flow) || gone.contains(flow)) << flow;
  EXPECT_TRUE(selected(*from, selector).empty());
}

TEST_P(FlowMoves, AFlowThatIsUsedAfterItsCopyIsKept) {
  Rng rng(34);
  const auto from = make();
  const std::vector<Frame> known = frames(rng, 300);
  run(*from, known, Direction::kForward, monotonic_ns() - 10'000'000);
  const auto before = all(*from);
  const json portion = ask(export_flows, *from, json::object());
  run(*from, known, Direction::kForward, monotonic_ns());
  const size_t in_use = all(*from).size();
  const json reply = ask(release_flows, *from, {{"portion", portion["portion"]}});
  EXPECT_EQ(reply["released"].get<size_t>() + all(*from).size(), in_use);
  EXPECT_GE(reply["kept"].get<size_t>() + reply["released"].get<size_t>(), before.size());
  // Released were those of which the same packet is no use, such as of a connection that an NF lets lie.
  if (GetParam() == "monitor" || GetParam() == "nat" || GetParam() == "elephant-detector") {
    EXPECT_EQ(reply["released"], 0);
  }
}

TEST_P(FlowMoves, FlowsThatPausedForTooLongAreNeitherCopiedNorReleased) {
  Rng rng(38);
  const auto nf = make();
  run(*nf, frames(rng, 200), Direction::kForward, monotonic_ns() - 900'000'000);
  const auto before = all(*nf);
  const json none = ask(export_flows, *nf, {{"used_within_ms", 1}});
  EXPECT_EQ(none["rows"], 0);
  EXPECT_EQ(ask(release_flows, *nf, {{"portion", none["portion"]}, {"used_within_ms", 1}}),
            json({{"released", 0}, {"kept", 0}}));
  EXPECT_EQ(all(*nf), before);
  const json portion = ask(export_flows, *nf, {{"used_within_ms", 3'600'000}});
  EXPECT_EQ(ask(release_flows, *nf, {{"portion", portion["portion"]}, {"used_within_ms", 3'600'000}})["released"],
            portion["rows"]);
  EXPECT_TRUE(all(*nf).empty());
  EXPECT_EQ(refusal(export_flows, *nf, {{"used_within_ms", 0}}), "bad-request /used_within_ms");
}

TEST_P(FlowMoves, AnotherTableNeverLosesFlowsToAnOldPortion) {
  Rng rng(35);
  const auto nf = make();
  run(*nf, frames(rng, 300), Direction::kForward, monotonic_ns() - 10'000'000);
  const json portion = ask(export_flows, *nf, json::object())["portion"];
  json other = config_;
  other["max_flows"] = 4000;
  nf->configure(other);
  const auto before = all(*nf);
  EXPECT_EQ(refusal(release_flows, *nf, {{"portion", portion}}), "bad-request /portion");
  EXPECT_EQ(refusal(export_flows, *nf, {{"after", portion}}), "bad-request /after");
  EXPECT_EQ(refusal(release_flows, *make(), {{"portion", portion}}), "bad-request /portion");
  EXPECT_EQ(all(*nf), before);
}

// A large table would be copied in one long pause of the worker.
TEST_P(FlowMoves, OtherTimeoutsLeaveFlowsWhereTheyStand) {
  Rng rng(39);
  const auto nf = make();
  run(*nf, frames(rng, 300), Direction::kForward, monotonic_ns() - 10'000'000);
  const auto before = all(*nf);
  const uint64_t table = nf->movable_flows()[0]->table();
  json other = config_;
  other["idle_timeout_s"] = 1234;
  nf->configure(other);
  EXPECT_EQ(nf->movable_flows()[0]->table(), table);
  EXPECT_EQ(all(*nf), before);
}

TEST_P(FlowMoves, APortionBeyondTheTablePausesNobodyForNothing) {
  Rng rng(38);
  const auto nf = make();
  run(*nf, frames(rng, 100), Direction::kForward, monotonic_ns() - 10'000'000);
  std::string portion = ask(export_flows, *nf, json::object())["portion"];
  // table, its id, first, end, time
  const size_t end = portion.rfind('.', portion.rfind('.') - 1) + 1;
  portion.replace(end, portion.rfind('.') - end, "ffffffff");
  size_t pauses = 1;
  const json reply = ask(release_flows, *nf, {{"portion", portion}}, [&] { ++pauses; });
  EXPECT_LE(pauses, 2u);
  EXPECT_GT(reply["released"], 0);
}

TEST_P(FlowMoves, CopyingAndReleasingAllocateNothingInTheWorkersPauses) {
  Rng rng(36);
  const auto nf = make();
  run(*nf, frames(rng, 500), Direction::kForward, monotonic_ns() - 10'000'000);
  const auto tables = nf->movable_flows();
  const auto selector = [&] { return parse_flow_selector(json::object(), "", tables[0]->fields()); };
  const auto copy = tables[0]->copy(selector(), 0, 0);
  const uint64_t before = allocation_count();
  while (copy->copy(100)) continue;
  EXPECT_EQ(allocation_count(), before);
  const auto release = tables[0]->release(selector(), copy->portion(), 0);
  const uint64_t later = allocation_count();
  while (release->release(100)) continue;
  EXPECT_EQ(allocation_count(), later);
  EXPECT_EQ(tables[0]->copy(selector(), 0, 0)->rows(), 0u);
}

TEST_P(FlowMoves, RefusesWhatItsFlowsAreNotKnownBy) {
  const auto nf = make();
  const auto pointer = [&](const json& flows) { return refusal(export_flows, *nf, {{"flows", flows}}); };
  EXPECT_EQ(pointer(json::array()), "invalid-config /flows");
  EXPECT_EQ(pointer({{"zz", 1}}), "invalid-config /flows/zz");
  EXPECT_EQ(pointer({{"match", {{{"field", "metadata"}, {"offset", 0}, {"width", 1}, {"value", 1}}}}}),
            "invalid-config /flows/match/0/field");
  EXPECT_EQ(pointer({{"match", {term("ip.src", {{"prefix", "10.0.0.0/33"}})}}}),
            "invalid-config /flows/match/0/prefix");
  EXPECT_EQ(pointer({{"hash", {{"key", {"ip.src", "ip.src"}}, {"lo", 0}, {"hi", 1}}}}),
            "invalid-config /flows/hash/key/1");
  EXPECT_EQ(pointer({{"hash", {{"key", {"ip.src"}}, {"lo", 5}, {"hi", 5}}}}), "invalid-config /flows/hash/hi");
  if (!knows("ip.dst")) {
    EXPECT_EQ(pointer({{"match", {term("ip.dst", {{"prefix", "10.0.0.0/8"}})}}}),
              "invalid-config /flows/match/0/field");
    EXPECT_EQ(pointer({{"hash", {{"key", {"ip.dst"}}, {"lo", 0}, {"hi", 5}}}}), "invalid-config /flows/hash/key/0");
  }
  EXPECT_EQ(refusal(export_flows, *nf, {{"after", "1.2"}}), "bad-request /after");
  EXPECT_EQ(refusal(release_flows, *nf, json::object()), "bad-request /portion");
  EXPECT_EQ(refusal(import_state, *nf, {{"state", {{"flows", 3}}}}), "invalid-config /state/flows");
}

INSTANTIATE_TEST_SUITE_P(All, FlowMoves,
                         ::testing::Values("elephant-detector", "ids", "load-balancer", "monitor", "nat",
                                           "stateful-firewall", "url-filter"),
                         [](const auto& nf) {
                           std::string name(nf.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(FlowMovesOfOne, NfsThatKeepNoStateByFlowSaySo) {
  EXPECT_EQ(refusal(export_flows, *make_nf("firewall", {{"rules", json::array()}}), json::object()), "bad-request ");
}

// More flows than one message holds.
TEST(FlowMovesOfOne, ALargeTableMovesInPortions) {
  const json config{{"max_flows", 150'000}};
  const auto from = make_nf("monitor", config), to = make_nf("monitor", config);
  constexpr uint32_t kFlows = 140'000;
  const uint64_t then = monotonic_ns() - 10'000'000;
  std::vector<Frame> batch;
  for (uint32_t i = 0; i < kFlows; ++i) {
    FrameSpec spec;
    spec.src = 0x0a000000 + i;
    batch.push_back(build_frame(spec));
    if (batch.size() == 1000) {
      run(*from, batch, Direction::kForward, then);
      batch.clear();
    }
  }
  std::vector<json> portions;
  json params = json::object();
  do {
    json& portion = portions.emplace_back(ask(export_flows, *from, params));
    EXPECT_LE(portion["state"].dump().size(), 4'100'000u);
    EXPECT_EQ(ask(import_state, *to, {{"state", portion["state"]}, {"renew", true}})["left_out"], 0);
    params["after"] = portion["portion"];
  } while (!portions.back()["last"].get<bool>());
  EXPECT_GE(portions.size(), 3u);
  EXPECT_EQ(from->state(1)["flow_count"], kFlows);
  for (const json& portion : portions) ask(release_flows, *from, {{"portion", portion["portion"]}});
  EXPECT_EQ(from->state(1)["flow_count"], 0);
  EXPECT_EQ(to->state(1)["flow_count"], kFlows);
}

// A full table at the other end is said, so that nobody releases what did not arrive.
TEST(FlowMovesOfOne, WhatFindsNoRoomIsCounted) {
  const auto from = make_nf("monitor", {{"max_flows", 1000}}), to = make_nf("monitor", {{"max_flows", 100}});
  Rng rng(3);
  std::vector<Frame> frames;
  for (int i = 0; i < 200; ++i) frames.push_back(build_frame(random_spec(rng)));
  run(*from, frames);
  const json portion = ask(export_flows, *from, json::object());
  const json reply = ask(import_state, *to, {{"state", portion["state"]}, {"renew", true}});
  EXPECT_EQ(reply["left_out"].get<size_t>(), portion["rows"].get<size_t>() - 100);
}

// A NAT's port that is taken at the other end: the mapping stays where it is.
TEST(FlowMovesOfOne, AMappingWhosePortIsTakenIsLeftOut) {
  const json config{{"external_addresses", {"192.0.2.1"}}, {"port_lo", 5000}, {"port_hi", 5000}};
  const auto from = make_nf("nat", config), to = make_nf("nat", config);
  FrameSpec here, there;
  there.src_port = 999;
  run(*from, {build_frame(here)});
  run(*to, {build_frame(there)});
  const json portion = ask(export_flows, *from, json::object());
  EXPECT_EQ(ask(import_state, *to, {{"state", portion["state"]}, {"renew", true}})["left_out"], 1);
}

}  // namespace
}  // namespace orrery
