// SPDX-License-Identifier: Apache-2.0
// Chains run in sequence and in parallel on the same packets: the same bytes must come out, and NFs must know the same.
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <algorithm>
#include <map>
#include <set>

#include "parallel_replay.h"
#include "support/hop_tag.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::chain_traffic;
using testing::ChainNf;
using testing::Frame;
using testing::GraphBuilder;
using testing::Line;
using testing::module_stats;
using testing::nfs_of;
using testing::one;
using testing::Outcome;
using testing::parallel;
using testing::Rng;
using testing::Step;
using testing::timeless;

constexpr auto kAll = static_cast<size_t>(1) << 20;

json attribute(const char* name, int offset, std::initializer_list<const char*> values) {
  json codes = json::object();
  for (const char* value : values) codes[value] = codes.size() + 1;
  return {{name, {{"offset", offset}, {"width", 2}, {"values", codes}}}};
}

// NFs as they are in a chain; nothing in their configuration makes them depend on how long a run takes.
ChainNf monitor(std::string name = "mon") {
  return {.name = std::move(name), .kind = "monitor"};
}
ChainNf elephants(std::string name = "ele") {
  return {.name = std::move(name),
          .kind = "elephant-detector",
          .config = {{"threshold_bytes", 2000}, {"window_ms", 60000}},
          .metadata = attribute("size", 0, {"mouse", "elephant"})};
}
ChainNf ids(std::string name = "ids") {
  return {.name = std::move(name), .kind = "ids", .metadata = attribute("verdict", 2, {"safe", "unsafe"})};
}
ChainNf syn_floods(std::string name = "ddos") {
  return {.name = std::move(name),
          .kind = "ddos-detector",
          .config = {{"window_ms", 60000}, {"minimum", 2}},
          .metadata = attribute("verdict", 4, {"normal", "attack"})};
}
ChainNf sqli(std::string name = "sqli", bool drops = false) {
  return {.name = std::move(name),
          .kind = "sqli-detector",
          .config = {{"drop", drops}},
          .metadata = attribute("verdict", 6, {"clean", "attack"})};
}
ChainNf firewall(std::string name = "fw") {
  return {.name = std::move(name),
          .kind = "firewall",
          .config = json::parse(R"({"rules":[{"action":"deny","proto":"tcp","dst_port":"80-81"}]})")};
}
ChainNf stateful_firewall(std::string name = "sfw") {
  return {.name = std::move(name),
          .kind = "stateful-firewall",
          .config = json::parse(R"({"rules":[{"action":"deny","proto":"udp","dst_port":"78-79"}]})")};
}
ChainNf rate_limiter(std::string name = "rate") {
  return {.name = std::move(name), .kind = "rate-limiter", .config = {{"rate_bps", 1}, {"burst_bytes", 60'000}}};
}
ChainNf nat(std::string name = "nat", int ports = 60000) {
  return {.name = std::move(name),
          .kind = "nat",
          .config = {{"external_addresses", {"198.18.0.1"}}, {"port_lo", 1024}, {"port_hi", 1023 + ports}},
          .writes = true};
}
ChainNf writer(const std::string& field) {
  return {.name = "write-" + field, .kind = "field_writer", .config = {{"field", field}}, .writes = true};
}
ChainNf resizer(const std::string& at, int bytes) {
  return {.name = "resize-" + at,
          .kind = "resizer",
          .config = {{"at", at}, {"bytes", bytes}},
          .writes = true,
          .resizes_at = at};
}

class ParallelTest : public testing::ParallelReplay {
 protected:
  using ParallelReplay::difference;

  // Between the chain, by default the NFs of the line in turn, and the line in each of its forms.
  std::set<std::string> difference(const Line& line, uint64_t seed = 1, size_t count = 600, const Line& chain = {}) {
    const std::vector<Frame> frames = chain_traffic(seed, count);
    const Outcome sequence = run(engine_, frames, chain.empty() ? line : chain, nullptr);
    EXPECT_GT(sequence.out.size(), count / 20);
    const testing::ParallelGraphOptions plain, queued{.queues = true}, spread{.workers = 2, .queues = true};
    std::set<std::string> out;
    out.merge(difference(sequence, merged(engine_, frames, line, plain)));
    out.merge(difference(sequence, merged(engine_, frames, line, queued)));
    out.merge(difference(sequence, merged(two_workers_, frames, line, spread)));
    return out;
  }

  // The line in a form in which nothing is given up that no branch dropped.
  Outcome merged(Engine& engine, const std::vector<Frame>& frames, const Line& line,
                 const testing::ParallelGraphOptions& options) {
    Outcome outcome = run(engine, frames, line, &options);
    outcome.given_up.erase("branch_dropped");
    EXPECT_EQ(outcome.given_up, (std::map<std::string, uint64_t>{}));
    return outcome;
  }
};

const std::set<std::string> kNone;

TEST_F(ParallelTest, ReadersSideBySide) {
  EXPECT_EQ(difference({parallel({{one(monitor())}, {one(ids())}})}), kNone);
  EXPECT_EQ(difference({parallel({{one(elephants())}, {one(syn_floods())}, {one(sqli())}})}), kNone);
}

TEST_F(ParallelTest, UpToSixBranches) {
  std::vector<Line> branches{{one(monitor())}};
  for (const ChainNf& nf : {elephants(), ids(), syn_floods(), sqli(), firewall()}) {
    branches.push_back({one(nf)});
    EXPECT_EQ(difference({parallel(branches)}, branches.size(), 400), kNone) << branches.size();
  }
}

TEST_F(ParallelTest, AnNfThatDropsBehindOnesThatKeepState) {
  EXPECT_EQ(difference({parallel({{one(monitor())}, {one(firewall())}})}), kNone);
  EXPECT_EQ(difference({parallel({{one(monitor())}, {one(elephants())}, {one(stateful_firewall())}})}), kNone);
  EXPECT_EQ(difference({parallel({{one(elephants())}, {one(rate_limiter())}})}), kNone);
  EXPECT_EQ(difference({parallel({{one(ids())}, {one(nat())}})}), kNone);
}

TEST_F(ParallelTest, SeveralBranchesThatDrop) {
  // What the later NF counts of packets that the earlier one drops is the one thing that may differ.
  const Line line{parallel({{one(monitor())}, {one(firewall())}, {one(sqli("sqli", true))}})};
  const auto found = difference(line);
  EXPECT_TRUE(found.empty() || found == std::set<std::string>{"sqli"});
}

TEST_F(ParallelTest, AWriterBesideReadersOfOtherFields) {
  EXPECT_EQ(difference({parallel({{one(syn_floods())}, {one(nat())}})}), kNone);
  EXPECT_EQ(difference({parallel({{one(monitor()), one(ids())}, {one(elephants())}, {one(nat())}})}), kNone);
  EXPECT_EQ(difference({parallel({{one(monitor())}, {one(writer("dst"))}}), one(stateful_firewall())}), kNone);
}

TEST_F(ParallelTest, SeveralWritersOfDifferentFields) {
  EXPECT_EQ(difference({parallel({{one(nat())}, {one(writer("tos"))}, {}})}), kNone);
  EXPECT_EQ(difference({parallel({{}, {one(writer("dst_port"))}, {one(writer("payload"))}, {one(writer("dst"))}})}),
            kNone);
  EXPECT_EQ(difference({parallel({{one(monitor())}, {one(nat())}, {one(writer("tos"))}, {one(writer("ttl"))}})}),
            kNone);
}

TEST_F(ParallelTest, AWriterBesideOneThatChangesTheLength) {
  for (const auto& [at, bytes] : std::vector<std::pair<const char*, int>>{
           {"l3", 4}, {"l3", -4}, {"l4", 8}, {"payload", 5}, {"payload", -2}, {"end", 4}, {"end", -1}}) {
    const Line line{parallel({{one(resizer(at, bytes))}, {one(writer("dst"))}, {one(elephants())}})};
    const std::vector<Frame> frames = chain_traffic(7, 600);
    // Its checksums are made anew, so what comes to it must be right.
    std::vector<Frame> right;
    std::ranges::copy_if(frames, std::back_inserter(right), [](const Frame& frame) {
      const ParsedPacket p = parse_packet(frame);
      return p.kind == PacketKind::kIpTransport && !p.fragment && p.ip_version == 4 && p.ip_proto != testing::kIcmp &&
             testing::checksums_hold(frame);
    });
    ASSERT_GT(right.size(), 100u);
    const testing::ParallelGraphOptions plain;
    auto found = difference(run(engine_, right, line, nullptr), run(engine_, right, line, &plain));
    // In the sequence it meets packets of another length.
    found.erase("ele");
    EXPECT_EQ(found, kNone) << at << " " << bytes;
  }
}

TEST_F(ParallelTest, StepsWithinSteps) {
  EXPECT_EQ(difference({parallel({{one(monitor())}, {one(ids()), parallel({{one(elephants())}, {one(firewall())}})}}),
                        one(nat())}),
            kNone);
  EXPECT_EQ(difference(
                {one(syn_floods()),
                 parallel({{parallel({{one(monitor())}, {one(ids())}}), one(writer("ttl"))}, {one(writer("tos"))}, {}}),
                 parallel({{one(elephants())}, {one(stateful_firewall())}})}),
            kNone);
  EXPECT_EQ(difference({parallel({{parallel({{parallel({{one(monitor())}, {one(ids())}})}, {one(elephants())}})},
                                  {parallel({{one(syn_floods())}, {one(firewall())}})}})}),
            kNone);
}

// HydraNF, Fig. 6.1: beside the firewall the NAT gives ports to packets that it would never meet.
TEST_F(ParallelTest, AFirewallBeforeANatMustNotRunBesideIt) {
  const auto found = difference({parallel({{one(firewall())}, {one(nat("nat", 24))}})});
  EXPECT_TRUE(found.contains("packets"));
  EXPECT_TRUE(found.contains("nat"));
}

// What may run side by side (planner, dependencies.ts).
struct Profile {
  ChainNf nf;
  std::set<std::string> reads, writes;
  bool may_drop, keeps_state;
};

bool independent(const Profile& a, const Profile& b) {
  const auto meet = [](const std::set<std::string>& x, const std::set<std::string>& y) {
    return std::ranges::any_of(x, [&](const std::string& it) { return y.contains(it); });
  };
  return !meet(a.writes, b.reads) && !meet(a.writes, b.writes) && !(a.may_drop && b.keeps_state);
}

// A series-parallel form of the chain, by chance: branches are independent of each other.
Line random_form(Rng& rng, const std::vector<Profile>& chain) {
  if (chain.size() == 1) return {one(chain[0].nf)};
  const auto part = [&](size_t from, size_t to) {
    return std::vector<Profile>(chain.begin() + static_cast<ptrdiff_t>(from),
                                chain.begin() + static_cast<ptrdiff_t>(to));
  };
  std::vector<std::vector<Profile>> branches(2 + rng() % 2);
  std::map<std::string, size_t> branch_of;
  for (const Profile& nf : chain) {
    const size_t branch = rng() % branches.size();
    branches[branch].push_back(nf);
    branch_of[nf.nf.name] = branch;
  }
  std::erase_if(branches, [](const auto& branch) { return branch.empty(); });
  bool allowed = branches.size() > 1;
  for (size_t i = 0; allowed && i < chain.size(); ++i)
    for (size_t j = i + 1; j < chain.size(); ++j)
      if (branch_of[chain[i].nf.name] != branch_of[chain[j].nf.name] && !independent(chain[i], chain[j]))
        allowed = false;
  if (allowed) {
    std::vector<Line> lines;
    for (const auto& branch : branches) lines.push_back(random_form(rng, branch));
    const auto writers = std::ranges::count_if(
        lines, [](const Line& line) { return std::ranges::any_of(nfs_of(line), &ChainNf::writes); });
    if (writers > 1 && static_cast<size_t>(writers) == lines.size()) lines.push_back({});
    return {parallel(std::move(lines))};
  }
  const size_t cut = 1 + rng() % (chain.size() - 1);
  Line out = random_form(rng, part(0, cut));
  for (Step& step : random_form(rng, part(cut, chain.size()))) out.push_back(std::move(step));
  return out;
}

bool has_step(const Line& line) {
  return std::ranges::any_of(line, [](const Step& step) { return !step.branches.empty(); });
}

TEST_F(ParallelTest, ChainsByChanceInFormsByChance) {
  const std::set<std::string> tuple{"ip.src", "ip.dst", "ip.proto", "port.src", "port.dst"};
  const auto with = [&](std::initializer_list<const char*> more) {
    std::set<std::string> out = tuple;
    for (const char* it : more) out.insert(it);
    return out;
  };
  const std::vector<Profile> profiles = {
      {monitor(), with({"length"}), {}, false, true},
      {elephants(), with({"length"}), {}, false, true},
      {ids(), with({"tcp.flags", "payload"}), {}, false, true},
      {syn_floods(), {"ip.dst", "ip.proto", "tcp.flags"}, {}, false, true},
      {sqli(), with({"payload"}), {}, false, true},
      {firewall(), tuple, {}, true, true},
      {stateful_firewall(), with({"tcp.flags"}), {}, true, true},
      {rate_limiter(), {"length"}, {}, true, true},
      {nat(), with({"payload"}), {"ip.src", "port.src", "payload"}, true, true},
      {writer("ttl"), {"ttl"}, {"ttl"}, false, false},
      {writer("tos"), {"tos"}, {"tos"}, false, false},
      {writer("dst"), {"ip.dst"}, {"ip.dst"}, false, false},
      {writer("dst_port"), {"port.dst"}, {"port.dst"}, false, false},
  };
  int forms = 0;
  for (uint64_t seed = 1; forms < 10; ++seed) {
    Rng rng(seed);
    std::vector<Profile> chain = profiles;
    std::shuffle(chain.begin(), chain.end(), rng);
    chain.resize(3 + rng() % 5);
    const Line line = random_form(rng, chain);
    if (!has_step(line)) continue;
    ++forms;
    Line in_turn;
    for (const Profile& nf : chain) in_turn.push_back(one(nf.nf));
    ASSERT_EQ(difference(line, seed, 300, in_turn), kNone) << "seed " << seed;
  }
}

// Every packet is somewhere, whatever form the chain changes to while its engine has more packets than it can process.
TEST_F(ParallelTest, ChangesOfFormUnderFullLoadLoseNoPacket) {
  const ChainNf deny{.name = "fw",
                     .kind = "firewall",
                     .config = json::parse(R"({"rules":[{"action":"deny","src":"198.18.0.0/28"}]})")};
  const std::vector<Line> forms = {
      {one(monitor()), one(ids()), one(deny), one(nat())},
      {parallel({{one(monitor())}, {one(ids())}, {one(deny)}}), one(nat())},
      {one(monitor()), parallel({{one(ids())}, {one(deny)}}), one(nat())},
      {parallel({{parallel({{one(monitor())}, {one(ids())}})}, {one(deny)}}), one(nat())},
  };
  Rng rng(8);
  uint64_t seen = 0;
  for (int generation = 1; generation <= 60; ++generation) {
    const Line& form = forms[rng() % forms.size()];
    GraphBuilder g;
    g.generation(generation).module("src", "source", {{"flows", 64}}).task("src").module("entry", "counter");
    g.module("sink", "sink").chain({"src", "entry"});
    if (form[0].branches.empty() && rng() % 2 == 0) {
      testing::add_sequence(g, form, "entry", "sink");
    } else {
      testing::add_parallel(g, form, "entry", "sink");
    }
    engine_.apply(g.json);
    const json stats = engine_.stats();
    const json sink = module_stats(stats, "sink"), fw = module_stats(stats, "fw");
    ASSERT_EQ(module_stats(stats, "entry")["packets_out"],
              sink["packets_in"].get<uint64_t>() + testing::drops_of(fw, "denied"));
    ASSERT_EQ(module_stats(stats, "mon")["packets_in"], module_stats(stats, "entry")["packets_out"]);
    for (const json& module : stats["modules"]) {
      if (module["kind"] != "merge") continue;
      ASSERT_EQ(module["queue_depth"], 0) << "copies in one pass wait for nothing";
      for (const auto& [reason, count] : module["drops"].items()) ASSERT_EQ(reason, "branch_dropped") << count;
    }
    seen = testing::await_packets_in(engine_, "sink", seen + 64)["modules"][2]["packets_in"];
  }
  EXPECT_GT(testing::drops_of(module_stats(engine_.stats(), "fw"), "denied"), 0u);
  engine_.apply(json::parse(testing::kEmptyGraph));
  EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u);
}

// A branch on another engine: frames carry identity and metadata word in their addresses.
TEST_F(ParallelTest, ABranchOnAnotherEngine) {
  std::vector<Frame> frames = chain_traffic(5, 600);
  // Ports take no others.
  std::erase_if(frames, [](const Frame& frame) { return frame.size() < kEthernetHeader || frame.size() > 1518; });
  const Outcome sequence = run(
      engine_, frames, {one(ids()), one(monitor()), one(writer("ttl")), one(writer("tos")), one(firewall())}, nullptr);
  const auto add = [](GraphBuilder& g, const ChainNf& nf) {
    nf.metadata.empty() ? g.module(nf.name, nf.kind, nf.config) : g.nf(nf.name, nf.kind, nf.config, nf.metadata);
  };
  const auto send = [&](GraphBuilder& g, const std::string& from, int gate, int hop) {
    const std::string name = "to-" + std::to_string(hop);
    g.module(name, "hop_out", {{"hop", hop}}).capture_out("out-" + name, dir_.file(name)).link(from, gate, name);
    g.link(name, 0, "out-" + name);
  };
  const auto receive = [&](GraphBuilder& g, int hop, const std::string& to, int input) {
    const std::string name = "from-" + std::to_string(hop);
    g.capture_in("in-" + name, dir_.file("to-" + std::to_string(hop)));
    g.module(name, "hop_in", {{"hops", json::array({{{"hop", hop}, {"gate", 0}}})}});
    g.link("in-" + name, 0, name).link(name, 0, to, input);
  };
  const auto end = [](Engine& engine) { engine.apply(json::parse(testing::kEmptyGraph)); };

  GraphBuilder first;
  testing::write_capture(dir_.file("in.pcap"), frames);
  first.capture_in("in", dir_.file("in.pcap"));
  for (const ChainNf& nf : {ids(), monitor(), writer("ttl")}) add(first, nf);
  first.module("mirror", "mirror",
               json::parse(R"({"nested":false,"copies":[{"writes":false},{"writes":true},{"writes":true}]})"));
  first.chain({"in", "ids", "mirror", "mon"}).link("mirror", 2, "write-ttl");
  send(first, "mon", 0, 1);
  send(first, "mirror", 1, 2);
  send(first, "write-ttl", 0, 3);
  engine_.apply(first.json);
  testing::await_packets_in(engine_, "in", frames.size());
  EXPECT_EQ(timeless(engine_.get_state("mon", kAll)), sequence.state.at("mon"));
  end(engine_);

  GraphBuilder other;
  for (const ChainNf& nf : {writer("tos"), firewall()}) add(other, nf);
  receive(other, 2, "write-tos", 0);
  other.chain({"write-tos", "fw"});
  send(other, "fw", 0, 4);
  send(other, "fw", 2, 5);
  two_workers_.apply(other.json);
  testing::await_packets_in(two_workers_, "fw", frames.size());
  EXPECT_EQ(timeless(two_workers_.get_state("fw", kAll)), sequence.state.at("fw"));
  end(two_workers_);

  GraphBuilder last;
  json branches = json::array();
  for (const bool writes : {false, true, true}) branches.push_back({{"writes", writes}, {"resizes_at", nullptr}});
  last.module("merge", "merge", {{"nested", false}, {"branches", branches}, {"timeout_us", 10'000'000}});
  last.module("tag", "hop_out", {{"hop", 1}}).capture_out("out", dir_.file("out.pcap")).chain({"merge", "tag", "out"});
  receive(last, 1, "merge", 0);
  receive(last, 4, "merge", 1);
  receive(last, 3, "merge", 2);
  receive(last, 5, "merge", 15);
  engine_.apply(last.json);
  const uint64_t copies = 3 * frames.size();
  const json stats = testing::await_packets_in(engine_, "merge", copies);
  end(engine_);
  EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u);
  const json merge = module_stats(stats, "merge");
  EXPECT_EQ(merge["drops"], (json{{"branch_dropped", frames.size() - sequence.out.size()}}));
  std::vector<Frame> out = testing::read_capture(dir_.file("out.pcap"));
  for (Frame& frame : out) std::fill_n(frame.begin() + 6, 6, 0);
  EXPECT_EQ(out, sequence.out);
}

}  // namespace
}  // namespace orrery
