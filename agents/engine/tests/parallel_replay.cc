// SPDX-License-Identifier: Apache-2.0
#include "parallel_replay.h"

#include <rte_mempool.h>

#include <algorithm>
#include <array>

#include "support/base64.h"
#include "support/checksum.h"
#include "test_modules.h"

namespace orrery::testing {
namespace {

using nlohmann::json;

constexpr auto kAllRows = static_cast<size_t>(1) << 20;

// Which columns of rows of exported state (nfs/flow_rows.h) are ages, counted from the last.
std::set<size_t> age_columns(const std::string& kind) {
  static const std::map<std::string, std::set<size_t>> kAges = {
      {"monitor", {0, 1}}, {"elephant-detector", {0, 1}}, {"stateful-firewall", {0}},
      {"nat", {0}},        {"url-filter", {0}},           {"load-balancer", {0}},
      {"ids", {0, 3}},     {"ddos-detector", {}}};
  const auto found = kAges.find(kind);
  if (found == kAges.end()) ADD_FAILURE() << "which numbers are ages in a row of " << kind << "?";
  return found == kAges.end() ? std::set<size_t>{} : found->second;
}

// Rows without those columns, in an order that does not depend on them.
json timeless_rows(const std::vector<uint8_t>& rows, const std::set<size_t>& ages) {
  const size_t columns = rows[4];
  std::multiset<std::vector<uint8_t>> out;
  for (size_t at = 5 + columns + 4; at < rows.size();) {
    std::vector<uint8_t> row;
    for (size_t i = 0; i < columns; at += rows[5 + i++])
      if (!ages.contains(columns - 1 - i))
        row.insert(row.end(), rows.begin() + static_cast<ptrdiff_t>(at),
                   rows.begin() + static_cast<ptrdiff_t>(at + rows[5 + i]));
    out.insert(std::move(row));
  }
  return out;
}

json timeless_export(const json& exported, const std::string& kind) {
  json out = timeless(exported);
  for (const auto& [key, value] : exported.items()) {
    if (!value.is_string()) continue;
    const auto bytes = base64_decode(value.get<std::string>());
    if (bytes && bytes->size() > 5 && std::equal(bytes->begin(), bytes->begin() + 3, "OFR"))
      out[key] = timeless_rows({bytes->begin(), bytes->end()}, age_columns(kind));
  }
  return out;
}

std::string http_request(Rng& rng) {
  static constexpr const char* kPaths[] = {"/", "/games/a", "/../../etc/passwd", "/?id=1 UNION SELECT password"};
  static constexpr const char* kHosts[] = {"www.example.com", "news.example.org"};
  return std::string("GET ") + kPaths[rng() % std::size(kPaths)] +
         " HTTP/1.1\r\nHost: " + kHosts[rng() % std::size(kHosts)] + "\r\n\r\n";
}

}  // namespace

std::vector<Frame> chain_traffic(uint64_t seed, size_t count) {
  Rng rng(seed);
  std::vector<Frame> out;
  std::vector<Frame> corpus = malformed_corpus(rng);
  for (Frame& frame : malformed_ipv6_corpus(rng)) corpus.push_back(std::move(frame));
  std::erase_if(corpus, [](const Frame& frame) { return frame.empty(); });
  while (out.size() < count) {
    FrameSpec spec = random_spec(rng);
    spec.src &= 0xffff030f;
    const uint64_t what = rng() % 20;
    if (what < 3) spec.payload = http_request(rng);
    if (what < 4) {
      spec.proto = kTcp;
      spec.dst_port = static_cast<uint16_t>(79 + rng() % 3);
    }
    if (rng() % 6 == 0) {
      spec.dst = kVirtualAddress;
      spec.proto = rng() % 3 == 0 ? kUdp : kTcp;
    }
    if (what == 4) spec.more_fragments = true;
    if (what == 5) spec.fragment_offset = static_cast<uint16_t>(1 + rng() % 100);
    if (rng() % 5 == 0) spec = over_ipv6(spec);
    Frame frame = build_frame(spec);
    const ParsedPacket p = parse_packet(frame);
    // Connections begin and end, and some senders only ever begin.
    if (p.kind == PacketKind::kIpTransport && p.ip_proto == kTcp && rng() % 2 == 0) {
      uint8_t *const flags = &frame[p.l4_offset + 12u], *const sum = &frame[p.l4_offset + 16u];
      const uint16_t before = load_be16(flags);
      flags[1] = static_cast<uint8_t>(std::array{0x02, 0x12, 0x11, 0x04}[rng() % 4]);
      ChecksumDelta delta;
      delta.change16(before, load_be16(flags));
      store_be16(sum, delta.apply(load_be16(sum)));
    }
    if (what == 6) frame = corpus[rng() % corpus.size()];
    if (what == 7 && spec.ip_version == 4) frame = build_icmp_error(0x01010101, 3, frame, 28);
    if (what == 8) frame[rng() % frame.size()] ^= static_cast<uint8_t>(1 + rng() % 255);
    out.push_back(std::move(frame));
  }
  return out;
}

json timeless(const json& state) {
  if (state.is_array()) {
    std::vector<json> rows;
    for (const json& row : state) rows.push_back(timeless(row));
    std::ranges::sort(rows);
    return rows;
  }
  if (!state.is_object()) return state;
  json out = json::object();
  for (const auto& [key, value] : state.items())
    if (!key.ends_with("_ms") && !key.ends_with("spi") && key != "tokens_bytes") out[key] = timeless(value);
  return out;
}

ParallelReplay::ParallelReplay()
    : engine_({.workers = 1, .cpus = {}, .more_kinds = {&kFieldWriter, &kResizer}}, eal()),
      two_workers_({.workers = 2, .cpus = {}, .more_kinds = {&kFieldWriter, &kResizer}}, eal()) {}

Outcome ParallelReplay::run(Engine& engine, const std::vector<Frame>& frames, const Line& line,
                            const ParallelGraphOptions* parallel_options, const Known& known) {
  write_capture(dir_.file("in.pcap"), frames);
  const std::vector<ChainNf> nfs = nfs_of(line);
  if (!known.empty()) {
    GraphBuilder before;
    for (const ChainNf& nf : nfs) before.nf(nf.name, nf.kind, nf.config, nf.metadata);
    engine.apply(before.json);
    for (const auto& [nf, state] : known) engine.import_state(nf, state);
  }
  GraphBuilder g;
  g.capture_in("in", dir_.file("in.pcap")).module("tag", "hop_out", {{"hop", 1}});
  g.capture_out("out", dir_.file("out.pcap")).chain({"tag", "out"});
  if (parallel_options == nullptr) {
    add_sequence(g, line, "in", "tag");
  } else {
    add_parallel(g, line, "in", "tag", *parallel_options);
  }
  engine.apply(g.json);
  const json stats = await_stats(engine, [&](const json& s) {
    return module_stats(s, "in")["packets_in"] == frames.size() && std::ranges::all_of(s["modules"], [](const json& m) {
             return m["queue_depth"].is_null() || m["queue_depth"] == 0;
           });
  });
  Outcome outcome;
  for (const ChainNf& nf : nfs) {
    if (nf.kind == "field_writer" || nf.kind == "resizer") continue;
    outcome.state[nf.name] = timeless(engine.get_state(nf.name, kAllRows));
    outcome.flows[nf.name] = timeless_export(engine.export_state(nf.name), nf.kind);
  }
  uint64_t gone = 0;
  for (const json& module : stats["modules"]) {
    for (const auto& [reason, count] : module["drops"].items()) {
      gone += count.get<uint64_t>();
      if (module["kind"] == "merge") outcome.given_up[reason] += count.get<uint64_t>();
    }
  }
  engine.apply(json::parse(kEmptyGraph));
  EXPECT_EQ(rte_mempool_in_use_count(eal().pool()), 0u) << "packet buffers were lost";
  outcome.out = read_capture(dir_.file("out.pcap"));
  if (parallel_options == nullptr) {
    EXPECT_EQ(outcome.out.size() + gone, frames.size()) << "a packet is neither delivered nor counted as dropped";
  }
  for (Frame& frame : outcome.out) std::fill_n(frame.begin() + 6, 6, 0);
  return outcome;
}

std::set<std::string> ParallelReplay::difference(const Outcome& a, const Outcome& b) {
  std::set<std::string> out;
  if (a.out != b.out) out.insert("packets");
  for (const auto& [nf, state] : a.state)
    if (state != b.state.at(nf) || a.flows.at(nf) != b.flows.at(nf)) out.insert(nf);
  return out;
}

}  // namespace orrery::testing
