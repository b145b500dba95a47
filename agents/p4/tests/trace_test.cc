// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

// A line for each step.
struct Line {
  std::string values(const NamedValues& all) const {
    std::string text;
    for (const auto& [name, value] : all) text += ' ' + name + '=' + value;
    return text;
  }
  std::string words(const std::vector<std::string>& all) const {
    std::string text;
    for (const std::string& word : all) text += ' ' + word;
    return text;
  }
  std::string operator()(const step::Begin& s) const {
    return "begin " + s.kind + " port " + std::to_string(s.port) + " rid " + std::to_string(s.rid) + " bytes " +
           std::to_string(s.bytes);
  }
  std::string operator()(const step::ParserState& s) const {
    return "state " + s.state + words(s.extracted) + " then " + s.next;
  }
  std::string operator()(const step::ParserFailed& s) const { return "failed " + s.error; }
  std::string operator()(const step::ChecksumVerified& s) const { return s.right ? "right" : "wrong"; }
  std::string operator()(const step::ChecksumUpdated& s) const { return "updated " + s.value; }
  std::string operator()(const step::Pipeline& s) const { return "pipeline " + s.name; }
  std::string operator()(const step::TableLookup& s) const {
    return s.table + values(s.key) + (s.hit ? " hit " + std::to_string(s.entry) : " miss");
  }
  std::string operator()(const step::ActionRun& s) const { return "action " + s.action + values(s.args); }
  std::string operator()(const step::Condition& s) const { return "if " + s.source + (s.taken ? " yes" : " no"); }
  std::string operator()(const step::Counted& s) const { return "count " + s.counter + ' ' + std::to_string(s.index); }
  std::string operator()(const step::Metered& s) const {
    return "meter " + s.meter + ' ' + std::to_string(s.index) + ' ' + std::to_string(s.colour);
  }
  std::string operator()(const step::Register& s) const {
    return (s.write ? "write " : "read ") + s.name + ' ' + std::to_string(s.index) + ' ' + s.value;
  }
  std::string operator()(const step::Logged& s) const { return "log " + s.text; }
  std::string operator()(const step::Copied& s) const {
    return s.kind + ' ' + std::to_string(s.id) + " x" + std::to_string(s.copies);
  }
  std::string operator()(const step::Dropped& s) const { return "drop " + s.reason; }
  std::string operator()(const step::Deparsed& s) const {
    return "deparse" + words(s.headers) + ' ' + std::to_string(s.header_bytes) + '+' + std::to_string(s.payload_bytes);
  }
  std::string operator()(const step::Sent& s) const {
    return "sent " + std::to_string(s.port) + " bytes " + std::to_string(s.bytes);
  }
};

std::vector<std::string> lines(const PacketTrace& trace) {
  std::vector<std::string> all;
  for (const TraceStep& step : trace.steps) {
    std::string line = std::visit(Line{}, step);
    // Actions that p4c makes of statements have names of its own.
    if (!line.starts_with("action ") || line.find("Impl.") != std::string::npos)
      if (line.find("tbl_") == std::string::npos) all.push_back(line);
  }
  return all;
}

bool contains(const std::vector<std::string>& all, const std::string& line) {
  return std::ranges::find(all, line) != all.end();
}

TEST(P4Trace, TellsEachStepOfAPacket) {
  Switch with(read_program("l3"));
  with.traced = true;
  const EntryHandle route = with.insert("IngressImpl.routes", {prefix(0x0a000000, 8)},
                                        with.call("IngressImpl.routes", "IngressImpl.route", {3}));
  with.insert("IngressImpl.next_hops", {exactly(3)},
              with.call("IngressImpl.next_hops", "IngressImpl.forward", {4, 1, 2}));
  with.run("aabbccddeeff112233445566 0800 4500 0020 0001 0000 4011 66ca 0a000001 0a000002 1234", 9);
  EXPECT_EQ(lines(with.trace), (std::vector<std::string>{
                                   "begin normal port 9 rid 0 bytes 36",
                                   "state start ethernet then parse_ipv4",
                                   "state parse_ipv4 ipv4 then accept",
                                   "right",
                                   "pipeline ingress",
                                   "count IngressImpl.port_counter 9",
                                   "if hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && std.checksum_error == 0 yes",
                                   "IngressImpl.routes hdr.ipv4.dst=0xa000002 hit " + std::to_string(route),
                                   "count IngressImpl.route_counter " + std::to_string(route),
                                   "action IngressImpl.route next_hop=0x3",
                                   "IngressImpl.next_hops meta.next_hop=0x3 hit 0",
                                   "action IngressImpl.forward port=0x4 src=0x1 dst=0x2",
                                   "pipeline egress",
                                   "updated 0x67ca",
                                   "deparse ethernet ipv4 34+2",
                                   "sent 4 bytes 36",
                               }));
  with.run("aabbcc", 9);
  EXPECT_TRUE(contains(lines(with.trace), "failed PacketTooShort"));
  EXPECT_TRUE(contains(lines(with.trace), "drop marked_in_ingress"));
  with.traced = false;
  with.run("aabbcc", 9);
  EXPECT_TRUE(with.trace.steps.empty());
}

TEST(P4Trace, TellsOfCopies) {
  Switch with(read_program("copies"));
  with.traced = true;
  with.pipeline.control().replication().insert_session(5, {{{7, 2}}});
  with.run("01 05 000000 0000 0000 0000");
  EXPECT_TRUE(contains(lines(with.trace), "clone 5 x1"));
  EXPECT_TRUE(contains(lines(with.trace), "begin ingress_clone port 7 rid 2 bytes 11"));
  with.run("0d 07 000000 0000 0000 0000");
  EXPECT_TRUE(contains(lines(with.trace), "log number 7 of 13"));
  with.run("03 01 000000 0000 0000 0000");
  EXPECT_TRUE(contains(lines(with.trace), "multicast 1 x0"));
  EXPECT_TRUE(contains(lines(with.trace), "drop no_replicas"));
  with.run("07 04 000000 0000 0000 0000");
  EXPECT_TRUE(contains(lines(with.trace), "truncate 4 x0"));
  with.run("05 04 000000 0000 0000 0000");
  EXPECT_TRUE(contains(lines(with.trace), "begin recirculate port 0 rid 0 bytes 11"));
  with.run("06 04 000000 0000 0000 0000");
  EXPECT_TRUE(contains(lines(with.trace), "digest 0 x1"));
}

TEST(P4Trace, TellsOfState) {
  Switch with(read_program("state"));
  with.traced = true;
  with.run("00 03 12345678 00000000");
  EXPECT_TRUE(contains(lines(with.trace), "read IngressImpl.cells 3 0x0"));
  EXPECT_TRUE(contains(lines(with.trace), "write IngressImpl.cells 3 0x12345678"));
  with.run("03 03 12345678 00000000");
  EXPECT_TRUE(contains(lines(with.trace), "meter IngressImpl.packet_rate 3 0"));
}

TEST(P4Trace, KeepsSoManySteps) {
  Switch with(read_program("copies"), {.max_passes = 1000});
  with.traced = true;
  with.run("0a 00 000000 0000 0000 0000");
  EXPECT_EQ(with.trace.steps.size(), PacketTrace::kMaxSteps);
  EXPECT_GT(with.trace.left_out, 0u);
}

}  // namespace
}  // namespace orrery::p4::testing
