// SPDX-License-Identifier: Apache-2.0
// programs/copies.p4: what, number, instance type, mark (kept), lost (not kept), egress port, rid, length.
#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

// As a packet comes in.
std::string frame(const char* what, const char* number) {
  return std::string(what) + number +
         "000000"
         "0000"
         "0000"
         "0000"
         "c0ffee";
}
// As it goes out.
std::string out(const char* what, const char* number, const char* kind, const char* mark, const char* lost,
                const char* port, const char* rid, const char* length = "1111", const char* payload = "c0ffee") {
  return std::string(what) + number + kind + mark + lost + port + rid + length + payload;
}

class P4Copies : public ::testing::Test {
 protected:
  P4Copies() {
    auto control = switch_.pipeline.control();
    control.replication().insert_session(5, {{{7, 0}, {8, 3}}});
    control.replication().insert_session(6, {{{7, 0}}, 9});
    control.replication().insert_group(1, {{2, 10}, {3, 11}, {3, 12}});
    control.replication().insert_group(2, {});
  }
  uint64_t drops(DropReason reason) { return switch_.drops(reason); }

  Switch switch_{read_program("copies")};
};

TEST_F(P4Copies, CloneOfIngressIsThePacketAsItCame) {
  EXPECT_EQ(switch_.run(frame("01", "05")), (Sent{{7, out("01", "05", "01", "aa", "00", "0007", "0000", "0000")},
                                                  {8, out("01", "05", "01", "aa", "00", "0008", "0003", "0000")},
                                                  {1, out("01", "05", "00", "aa", "bb", "0001", "0000")}}));
}

TEST_F(P4Copies, CloneIsCutToTheSessionsLength) {
  EXPECT_EQ(switch_.run(frame("01", "06"))[0],
            (std::pair<uint32_t, std::string>{7, out("01", "06", "01", "aa", "00", "0007", "0000", "", "")}));
}

TEST_F(P4Copies, CloneOfEgressIsThePacketAsItGoes) {
  EXPECT_EQ(switch_.run(frame("02", "05")), (Sent{{1, out("02", "05", "00", "aa", "bb", "0001", "0000")},
                                                  {7, out("02", "05", "02", "aa", "00", "0007", "0000")},
                                                  {8, out("02", "05", "02", "aa", "00", "0008", "0003")}}));
}

TEST_F(P4Copies, CloneToNoSession) {
  EXPECT_EQ(switch_.run(frame("01", "63")).size(), 1u);
  EXPECT_EQ(switch_.run(frame("02", "63")).size(), 1u);
  EXPECT_EQ(drops(DropReason::kNoSession), 2u);
}

TEST_F(P4Copies, MulticastToTheReplicasOfAGroup) {
  EXPECT_EQ(switch_.run(frame("03", "01")), (Sent{{2, out("03", "01", "05", "aa", "bb", "0002", "000a")},
                                                  {3, out("03", "01", "05", "aa", "bb", "0003", "000b")},
                                                  {3, out("03", "01", "05", "aa", "bb", "0003", "000c")}}));
  EXPECT_TRUE(switch_.run(frame("03", "02")).empty());
  EXPECT_TRUE(switch_.run(frame("03", "09")).empty());
  EXPECT_EQ(drops(DropReason::kNoReplicas), 2u);
}

TEST_F(P4Copies, MarkToDropTakesBackAMulticast) {
  EXPECT_TRUE(switch_.run(frame("0e", "00")).empty());
  EXPECT_EQ(drops(DropReason::kMarkedInIngress), 1u);
}

TEST_F(P4Copies, ResubmitBeginsAgain) {
  EXPECT_EQ(switch_.run(frame("04", "00")), (Sent{{1, out("04", "00", "00", "aa", "00", "0001", "0000")}}));
}

TEST_F(P4Copies, RecirculateBeginsWithThePacketAsItWouldGo) {
  EXPECT_EQ(switch_.run(frame("05", "00")), (Sent{{1, out("00", "00", "00", "aa", "00", "0001", "0000")}}));
}

TEST_F(P4Copies, LoopsEnd) {
  EXPECT_TRUE(switch_.run(frame("0a", "00")).empty()) << "resubmitted again and again";
  EXPECT_TRUE(switch_.run(frame("0b", "00")).empty()) << "recirculated";
  EXPECT_EQ(drops(DropReason::kTooManyPasses), 2u);
  EXPECT_EQ(switch_.run(frame("10", "06")).size(), 1u + PipelineOptions{}.max_passes) << "cloned";
  EXPECT_EQ(drops(DropReason::kTooManyPasses), 3u);
  const size_t sent = switch_.run(frame("10", "05")).size();
  EXPECT_EQ(sent, 1u + PipelineOptions{}.max_copies) << "two clones of each clone";
  EXPECT_GT(drops(DropReason::kTooManyCopies), 0u);
}

TEST_F(P4Copies, DigestIsHandedOver) {
  EXPECT_EQ(switch_.run(frame("06", "2a"), 4).size(), 1u);
  ASSERT_EQ(switch_.digests.size(), 1u);
  EXPECT_EQ(switch_.pipeline.program().learn_lists[switch_.digests[0].list].widths, (std::vector<uint32_t>{8, 16}));
  EXPECT_EQ(switch_.digests[0].ingress_port, 4u);
  ASSERT_EQ(switch_.digests[0].fields.size(), 2u);
  EXPECT_EQ(hex_of(switch_.digests[0].fields[0]), "2a");
}

TEST_F(P4Copies, TruncateCutsWhatGoesOut) {
  EXPECT_EQ(switch_.one(frame("07", "0c")), out("07", "0c", "00", "aa", "bb", "0001", "0000", "1111", "c0"));
  EXPECT_EQ(switch_.one(frame("07", "02")), "0702");
  EXPECT_EQ(switch_.one(frame("07", "ff")), out("07", "ff", "00", "aa", "bb", "0001", "0000"));
}

TEST_F(P4Copies, DropsByReason) {
  EXPECT_TRUE(switch_.run(frame("08", "00")).empty());
  EXPECT_EQ(drops(DropReason::kMarkedInIngress), 1u);
  EXPECT_TRUE(switch_.run(frame("09", "00")).empty());
  EXPECT_EQ(drops(DropReason::kMarkedInEgress), 1u);
  EXPECT_TRUE(switch_.run("").empty());
  EXPECT_EQ(drops(DropReason::kRunt), 1u);
  EXPECT_TRUE(switch_.run(std::string(size_t{PipelineOptions{}.max_frame_bytes} * 2 + 2, '0')).empty());
  EXPECT_EQ(drops(DropReason::kTooLong), 1u);
  EXPECT_TRUE(switch_.run(frame("0c", "00")).empty());
  EXPECT_EQ(switch_.run(frame("0c", "01")).size(), 1u);
  EXPECT_EQ(drops(DropReason::kAssertion), 1u);
  switch_.missing_port = 1;
  EXPECT_EQ(switch_.run(frame("00", "00")).size(), 0u);
  EXPECT_EQ(drops(DropReason::kNoSuchPort), 1u);
  auto control = switch_.pipeline.control();
  EXPECT_EQ(control.packets_in(), 7u);
  EXPECT_EQ(control.packets_out(), 1u);
}

TEST_F(P4Copies, ExitEndsIngressAlone) {
  EXPECT_EQ(switch_.one(frame("0f", "01")), out("0f", "01", "00", "aa", "00", "0001", "0000", "0000"));
  EXPECT_EQ(switch_.one(frame("0f", "00")), out("0f", "00", "00", "aa", "15", "0001", "0000"));
}

TEST_F(P4Copies, GroupsAndSessionsAreChecked) {
  auto control = switch_.pipeline.control();
  Replication& copies = control.replication();
  EXPECT_EQ(refusal([&] { copies.insert_group(1, {}); }), Refusal::kAlreadyExists);
  EXPECT_EQ(refusal([&] { copies.insert_group(0, {}); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { copies.insert_group(9, std::vector<Replica>(5000)); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { copies.modify_group(9, {}); }), Refusal::kNotFound);
  EXPECT_EQ(refusal([&] { copies.remove_group(9); }), Refusal::kNotFound);
  EXPECT_EQ(refusal([&] { copies.insert_session(5, {}); }), Refusal::kAlreadyExists);
  EXPECT_EQ(refusal([&] { copies.insert_session(1 << 15, {}); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { copies.modify_session(9, {}); }), Refusal::kNotFound);
  EXPECT_EQ(refusal([&] { copies.remove_session(9); }), Refusal::kNotFound);
  copies.modify_group(1, {{4, 1}});
  EXPECT_EQ(*copies.group(1), (std::vector<Replica>{{4, 1}}));
  copies.remove_group(1);
  EXPECT_EQ(copies.group(1), nullptr);
  copies.modify_session(5, {{{4, 1}}, 60});
  EXPECT_EQ(copies.session(5)->truncate_bytes, 60u);
  copies.remove_session(5);
  EXPECT_EQ(copies.sessions().size(), 1u);
}

}  // namespace
}  // namespace orrery::p4::testing
