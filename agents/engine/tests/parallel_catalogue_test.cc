// SPDX-License-Identifier: Apache-2.0
// The catalogue's NFs in the forms that the planner gives chains of them: side by side where its dependency analysis
// allows that, with the outcome of one after the other; and with another outcome where it does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "parallel_replay.h"
#include "support/hop_tag.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::chain_traffic;
using testing::ChainNf;
using testing::Frame;
using testing::Line;
using testing::nfs_of;
using testing::Outcome;

json read_json(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file);
}

// Written by the planner's tests (backend/planner/src/parallel/planned-forms.test.ts).
const json& planned_forms() {
  static const json forms = read_json(PLANNED_FORMS);
  return forms;
}

const json& descriptor_of(const std::string& kind) {
  static std::map<std::string, json> read;
  if (!read.contains(kind)) read[kind] = read_json(std::string(NFS_SOURCE_DIR) + "/" + kind + "/descriptor.json");
  return read[kind];
}

constexpr const char* kKey = "5f1d3b9a7c2e4f60815d2c3e4a5b6978c0ffee1122334455d00df00dcafebabe";

// What the default configuration has to leave to others: required fields without default, and times within which a run
// would have to end for its outcome not to depend on them.
json needed_config(const std::string& kind) {
  if (kind == "busy-loop") return {{"packet_us", 0}};
  if (kind == "crypto-tunnel") return {{"key", kKey}};
  if (kind == "ddos-detector" || kind == "elephant-detector") return {{"window_ms", 60000}};
  if (kind == "rate-limiter") return {{"rate_bps", 1}};
  return json::object();
}

// A configuration with which the NF does with the traffic of these tests what it is there for.
json acting_config(const std::string& kind) {
  static const std::map<std::string, const char*> kActing = {
      {"busy-loop", "{}"},
      {"crypto-tunnel", R"({"encapsulation": "none", "cipher": "aes-256-ctr"})"},
      {"ddos-detector", R"({"drop": true})"},
      {"elephant-detector", R"({"threshold_bytes": 2000})"},
      {"firewall", R"({"rules": [{"action": "deny", "proto": "tcp", "dst_port": "80-81"},
          {"action": "deny", "src": "198.18.0.0/16", "proto": "udp"}, {"action": "deny", "dst": "10.9.0.1"}]})"},
      {"ids", "{}"},
      {"l2-forwarder", R"({"swap_macs": true})"},
      {"load-balancer", R"({"ports": [], "backends": [{"address": "10.9.0.1", "weight": 3, "state": "up"},
          {"address": "10.9.0.2", "weight": 1, "state": "up"}, {"address": "10.9.0.3", "weight": 1, "state": "drain"}]})"},
      {"monitor", "{}"},
      {"nat", R"({"mode": "port-restricted", "port_hi": 1063})"},
      {"rate-limiter", R"({"burst_bytes": 20000})"},
      {"sqli-detector", R"({"drop": true, "ports": [79, 80, 81]})"},
      {"stateful-firewall", R"({"rules": [{"action": "deny", "proto": "udp", "dst_port": "78-79"}]})"},
      {"static-nat", R"({"unmapped": "pass", "external_addresses": ["198.18.0.1", "2001:db8:f::1"],
          "mappings": [{"inside": "10.0.0.1"}, {"inside": "2001:db8::a00:102"}]})"},
      {"traffic-normalizer", R"({"min_ttl": 100, "transport_checksum": "count", "df_fragments": "drop"})"},
      {"url-filter", R"({"rules": [{"action": "block", "path": "/games/"}], "unreadable": "block"})"}};
  const auto found = kActing.find(kind);
  if (found == kActing.end()) ADD_FAILURE() << "what makes a " << kind << " act?";
  return json::parse(found == kActing.end() ? "{}" : found->second);
}

// What must have happened for it to act, and would take it minutes.
json known_to(const std::string& kind) {
  if (kind != "ddos-detector") return nullptr;
  return {{"counters", {{testing::kVirtualAddress, 900, 1, testing::kVirtualAddress}}}, {"window_age_ms", 0}};
}

enum class Setting { kDefault, kActing };

// NFs of a chain, with attributes of their own.
std::vector<ChainNf> chain_of(const json& kinds, Setting setting) {
  std::vector<ChainNf> out;
  size_t offset = 0;  // in the metadata word
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::string kind = kinds[i];
    const json& descriptor = descriptor_of(kind);
    ChainNf nf{.name = kind + "-" + std::to_string(i), .kind = kind, .config = descriptor["default_config"]};
    nf.config.update(needed_config(kind));
    if (setting == Setting::kActing) nf.config.update(acting_config(kind));
    for (const json& attribute : descriptor["attributes"]) {
      json codes = json::object();
      for (const json& value : attribute["values"]) codes[value["value"].get<std::string>()] = codes.size() + 1;
      const size_t width = codes.size() < 4 ? 2 : 4;
      nf.metadata[attribute["name"].get<std::string>()] = {{"offset", offset}, {"width", width}, {"values", codes}};
      offset += width;
    }
    for (const json& profile : planned_forms()["nfs"]) {
      if (profile["id"] != kind) continue;
      nf.writes = profile["writes"];
      nf.resizes_at = profile["resizes_at"];
    }
    out.push_back(std::move(nf));
  }
  return out;
}

// Steps of a form such as `0,(1|2,(3|4)|)`, in which numbers are NFs of the chain; `text` becomes what follows them.
Line line_of(std::string_view& text, const std::vector<ChainNf>& chain) {
  Line out;
  while (!text.empty() && text[0] != '|' && text[0] != ')') {
    if (text[0] == '(') {
      std::vector<Line> branches;
      do {
        text.remove_prefix(1);
        branches.push_back(line_of(text, chain));
      } while (text[0] == '|');
      out.push_back(testing::parallel(std::move(branches)));
    } else if (text[0] != ',') {
      out.push_back(testing::one(chain.at(static_cast<size_t>(text[0] - '0'))));
    }
    if (!text.empty() && text[0] != '|') text.remove_prefix(1);
  }
  return out;
}

class Planned : public testing::ParallelReplay {
 protected:
  struct Compared {
    std::set<std::string> difference;
    Outcome sequence, parallel;
  };

  Compared compare(const json& planned, Setting setting, const std::vector<Frame>& frames) {
    const std::vector<ChainNf> chain = chain_of(planned["nfs"], setting);
    const std::string form = planned["form"];
    std::string_view rest = form;
    Line line = line_of(rest, chain), in_turn;
    for (const ChainNf& nf : chain) in_turn.push_back(testing::one(nf));
    Known known;
    for (const ChainNf& nf : chain)
      if (const json state = known_to(nf.kind); setting == Setting::kActing && !state.is_null()) known[nf.name] = state;
    // No two encryptions are alike, so their far end is behind them.
    for (const ChainNf& nf : chain) {
      if (nf.kind != "crypto-tunnel") continue;
      ChainNf far = nf;
      far.name = "far-end-of-" + nf.name;
      far.config["mode"] = "decrypt";
      line.push_back(testing::one(far));
      in_turn.push_back(testing::one(far));
    }
    const testing::ParallelGraphOptions options;
    Compared out;
    out.sequence = run(engine_, frames, in_turn, nullptr, known);
    out.parallel = run(engine_, frames, line, &options, known);
    out.difference = difference(out.sequence, out.parallel);
    return out;
  }

  // Where a packet is dropped beside an NF or, since the order of independent NFs may be another, before it, that NF
  // may meet another number of packets. Where its state is not changed by packets only its figures tell.
  static std::set<std::string> difference_beyond_figures(const Compared& compared, const json& kinds) {
    std::set<std::string> out = compared.difference;
    const auto drops = std::ranges::count_if(
        kinds, [](const json& kind) { return descriptor_of(kind)["actions"]["may_drop"].get<bool>(); });
    for (const ChainNf& nf : chain_of(kinds, Setting::kDefault)) {
      const json& descriptor = descriptor_of(nf.kind);
      const std::string state = descriptor["state"]["kind"];
      const bool others_drop = drops > (descriptor["actions"]["may_drop"] == true ? 1 : 0);
      if (others_drop && state != "flow" && state != "aggregate" &&
          compared.sequence.flows.at(nf.name) == compared.parallel.flows.at(nf.name))
        out.erase(nf.name);
    }
    return out;
  }
};

const std::set<std::string> kNoDifference;

// Pairs that the analysis refuses though no difference is to be found: both write MAC addresses, which are written anew
// behind every step.
const std::set<std::string> kMerelyConservative = {"l2-forwarder before l2-forwarder"};

class PlannedPairs : public Planned, public ::testing::WithParamInterface<json> {};

TEST_P(PlannedPairs, AreParallelExactlyWhereTheOutcomeIsThatOfTheSequence) {
  const std::vector<Frame> frames = chain_traffic(3, 400);
  for (const json& pair : planned_forms()["pairs"]) {
    if (pair["nfs"][0] != GetParam()) continue;
    const std::string name = pair["nfs"][0].get<std::string>() + " before " + pair["nfs"][1].get<std::string>();
    SCOPED_TRACE(name);
    Compared acting = compare(pair, Setting::kActing, frames);
    if (pair["parallel"] == false) {
      EXPECT_EQ(acting.difference.empty(), kMerelyConservative.contains(name));
      continue;
    }
    EXPECT_EQ(difference_beyond_figures(acting, pair["nfs"]), kNoDifference);
    const Compared by_default = compare(pair, Setting::kDefault, frames);
    EXPECT_EQ(difference_beyond_figures(by_default, pair["nfs"]), kNoDifference);
    acting.parallel.given_up.erase("branch_dropped");
    EXPECT_EQ(acting.parallel.given_up, (std::map<std::string, uint64_t>{}));
  }
}

std::vector<json> catalogue() {
  std::vector<json> out;
  for (const json& nf : planned_forms()["nfs"]) out.push_back(nf["id"]);
  return out;
}

std::string name_of(const ::testing::TestParamInfo<json>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Before, PlannedPairs, ::testing::ValuesIn(catalogue()), name_of);

class PlannedChains : public Planned {};

TEST_F(PlannedChains, HaveTheOutcomeOfTheirSequence) {
  uint64_t seed = 100;
  for (const json& chain : planned_forms()["chains"]) {
    SCOPED_TRACE(chain.dump());
    const std::vector<Frame> frames = chain_traffic(++seed, 400);
    const Compared compared = compare(chain, seed % 4 == 0 ? Setting::kDefault : Setting::kActing, frames);
    EXPECT_EQ(difference_beyond_figures(compared, chain["nfs"]), kNoDifference);
  }
}

// A test that compares must show what it compares: with the traffic of these tests each NF does what it is there for.
TEST_F(PlannedChains, EveryNfActs) {
  const std::vector<Frame> frames = chain_traffic(3, 400);
  for (const json& kind : catalogue()) {
    const json& actions = descriptor_of(kind)["actions"];
    const std::vector<ChainNf> chain = chain_of(json::array({kind}), Setting::kActing);
    Known known;
    if (const json state = known_to(kind); !state.is_null()) known[chain[0].name] = state;
    const Outcome outcome = run(engine_, frames, {testing::one(chain[0])}, nullptr, known);
    EXPECT_GT(outcome.out.size(), frames.size() / 4) << kind;
    if (actions["may_drop"] == true) {
      EXPECT_LT(outcome.out.size(), frames.size()) << kind;
    }
    std::set<Frame> sent;
    for (Frame frame : frames) {
      if (frame.size() >= kEthernetHeader) std::fill_n(frame.begin(), 12, 0);
      sent.insert(std::move(frame));
    }
    size_t changed = 0, tagged = 0;
    for (Frame frame : outcome.out) {
      tagged += load_be16(&frame[4]) != 0;
      std::fill_n(frame.begin(), 12, 0);
      changed += !sent.contains(frame);
    }
    const bool behind_macs = std::ranges::any_of(
        actions["writes"], [](const json& field) { return !field.get<std::string>().starts_with("eth."); });
    EXPECT_EQ(changed > 0, behind_macs) << kind;
    if (!descriptor_of(kind)["attributes"].empty()) {
      EXPECT_GT(tagged, 0u) << kind;
    }
  }
}

}  // namespace
}  // namespace orrery
