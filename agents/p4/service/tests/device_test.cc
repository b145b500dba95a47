// SPDX-License-Identifier: Apache-2.0
#include "p4/service/device.h"

#include <gtest/gtest.h>

#include <random>

#include "p4/service/tests/fixture.h"

namespace orrery::p4::service {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kStart = uint64_t{1} << 62;  // behind the start of each pipeline

std::vector<pb::Error> errors_of(const ::grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  std::vector<pb::Error> out(static_cast<size_t>(details.details_size()));
  for (size_t i = 0; i < out.size(); ++i) details.details(static_cast<int>(i)).UnpackTo(&out[i]);
  return out;
}

std::string member(uint32_t number, const std::string& port) {
  static const info::P4Info info = control_plane().p4info();
  return "entity { action_profile_member { action_profile_id: " +
         std::to_string(id_of(info.action_profiles(), ".spread")) + " member_id: " + std::to_string(number) +
         " action { " + Bench::action("forward", Bench::param(1, port)) + "} } }";
}

std::string group(const std::string& members) {
  static const info::P4Info info = control_plane().p4info();
  return "entity { action_profile_group { action_profile_id: " +
         std::to_string(id_of(info.action_profiles(), ".spread")) + " group_id: 1 max_size: 4 " + members + "} }";
}

TEST(Device, AFailedUpdateIsToldWithItsFieldAndTheOthersAreDone) {
  Bench bench;
  const auto status = bench.write({"type: INSERT " + Bench::to_port("\\001", "\\002"),
                                   "type: INSERT " + Bench::to_port("\\002", "\\777"),
                                   "type: INSERT " + Bench::to_port("\\003", "\\002", "priority: 1")});
  EXPECT_EQ(status.error_code(), Code::UNKNOWN);
  const auto errors = errors_of(status);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_EQ(errors[0].canonical_code(), Code::OK);
  EXPECT_EQ(errors[2].canonical_code(), Code::INVALID_ARGUMENT);
  EXPECT_EQ(errors[2].message(), "table_entry.priority: must be 0 in table \"MyIngress.switching\"");
  EXPECT_EQ(bench.pass(frame_to(1), kStart), std::vector{2u});
  EXPECT_TRUE(bench.pass(frame_to(3), kStart).empty());
}

TEST(Device, AStatusIsNotLongerThanClientsTake) {
  Bench bench;
  const std::vector<std::string> updates(2000, "type: DELETE " + Bench::to_port("\\001", "\\002"));
  const auto errors = errors_of(bench.write(updates));
  ASSERT_EQ(errors.size(), updates.size());
  EXPECT_FALSE(errors[49].message().empty());
  EXPECT_TRUE(errors[50].message().empty());
  EXPECT_EQ(errors[1999].canonical_code(), Code::NOT_FOUND);
}

// What a batch at random has changed is undone as if it had never been.
TEST(Device, ABatchIsUndoneExactly) {
  Bench bench;
  std::mt19937 rng(5);
  const auto pick = [&](const std::vector<std::string>& all) { return all[rng() % all.size()]; };
  const auto number = [&](unsigned most) { return std::to_string(1 + rng() % most); };
  const auto octet = [&] { return "\\00" + std::to_string(1 + rng() % 5); };
  const auto update = [&]() -> std::string {
    const std::string type = "type: " + pick({"INSERT", "INSERT", "MODIFY", "DELETE"}) + ' ';
    switch (rng() % 6) {
      case 0:
      case 1:
        return type + Bench::to_port(octet(), octet(), pick({"", "metadata: \"m\"", "idle_timeout_ns: 1000000000"}));
      case 2:
        return type + member(static_cast<uint32_t>(1 + rng() % 4), octet());
      case 3:
        return type + group("members { member_id: " + number(4) + " weight: " + number(2) + "} ");
      case 4:
        return type +
               "entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: " + number(3) +
               " replicas { egress_port: " + number(9) + "} } } }";
      default:
        return type + "entity { table_entry { " + Bench::table("balance") + "match { field_id: 1 exact { value: \"" +
               octet() + "\" } } action { " +
               pick({"action_profile_member_id: " + number(4), "action_profile_group_id: 1",
                     "action_profile_action_set { action_profile_actions { weight: 1 action { " +
                         Bench::action("forward", Bench::param(1, octet())) + "} } }"}) +
               "} } }";
    }
  };
  int failed = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> updates;
    for (unsigned i = 1 + rng() % 6; i > 0; --i) updates.push_back(update());
    auto request = bench.request(updates);
    request.set_atomicity(round % 2 == 0 ? pb::WriteRequest::DATAPLANE_ATOMIC : pb::WriteRequest::CONTINUE_ON_ERROR);
    const std::string before = bench.state();
    const auto status = bench.device.write(request);
    if (status.ok() || round % 2 != 0) continue;
    ++failed;
    ASSERT_EQ(bench.state(), before) << request.DebugString();
  }
  EXPECT_GT(failed, 50);
}

TEST(Device, AReconciledPipelineHasTheStateOfTheOneBefore) {
  Bench bench;
  const auto status =
      bench.write({"type: INSERT " + Bench::to_port("\\001", "\\002", "metadata: \"m\" controller_metadata: 4"),
                   "type: INSERT " + member(1, "\\003"), "type: INSERT " + group("members { member_id: 1 weight: 2 }"),
                   "type: INSERT entity { packet_replication_engine_entry { clone_session_entry { session_id: 3 "
                   "replicas { port: \"\\001\" instance: 2 } } } }"});
  ASSERT_TRUE(status.ok()) << status.error_details();
  const std::string before = bench.state();
  pb::SetForwardingPipelineConfigRequest request;
  request.set_device_id(Bench::kDevice);
  request.mutable_election_id()->set_low(1);
  request.set_action(pb::SetForwardingPipelineConfigRequest::RECONCILE_AND_COMMIT);
  *request.mutable_config() = control_plane();
  const auto old = bench.host.running;
  ASSERT_TRUE(bench.device.set_config(request).ok());
  EXPECT_NE(bench.host.running, old);
  EXPECT_EQ(bench.state(), before);
  // A program that has another width for the key cannot take the entries.
  auto* table = request.mutable_config()->mutable_p4info()->mutable_tables(0);
  table->mutable_preamble()->set_id(table->preamble().id() + 1);
  const auto refused = bench.device.set_config(request);
  EXPECT_EQ(refused.error_code(), Code::INVALID_ARGUMENT);
  EXPECT_NE(refused.error_message().find("the state cannot be kept: table_entry.table_id"), std::string::npos);
  EXPECT_EQ(bench.state(), before);
}

TEST(Device, AMemberWhoseWatchPortIsDownIsPassedOver) {
  Bench bench;
  bench.device.set_ports_up({2, 3});
  ASSERT_TRUE(bench
                  .write({"type: INSERT " + member(1, "\\002"), "type: INSERT " + member(2, "\\003"),
                          "type: INSERT " + group("members { member_id: 1 weight: 1 watch_port: \"\\002\" } "
                                                  "members { member_id: 2 weight: 1 watch_port: \"\\003\" }"),
                          "type: INSERT entity { table_entry { " + Bench::table("balance") +
                              "match { field_id: 1 exact { value: \"\\007\" } } action { action_profile_group_id: 1 "
                              "} } }"})
                  .ok());
  std::vector<uint8_t> packet = frame_to(1);
  packet.resize(60);
  packet[12] = 0x08;
  packet[14] = 0x45;
  packet[33] = 7;
  for (const auto& [up, port] : {std::pair{PortsUp{2}, 2u}, {PortsUp{3}, 3u}}) {
    bench.device.set_ports_up(up);
    for (uint8_t source = 0; source < 20; ++source) {
      packet[29] = source;
      EXPECT_EQ(bench.pass(packet, kStart), std::vector{port});
    }
  }
  bench.device.set_ports_up({});
  EXPECT_TRUE(bench.pass(packet, kStart).empty());
}

TEST(Device, TellsIdleEntriesAtEachFurtherTimeout) {
  Bench bench;
  ASSERT_TRUE(bench.write({"type: INSERT " + Bench::to_port("\\001", "\\002", "idle_timeout_ns: 100000000")}).ok());
  bench.pass(frame_to(1), kStart);
  EXPECT_EQ(bench.device.tick(kStart + 99 * kMs), kStart + 99 * kMs + Device::kIdleScanNs);
  EXPECT_FALSE(bench.stream->next().has_idle_timeout_notification());
  bench.device.tick(kStart + 100 * kMs);
  EXPECT_EQ(bench.stream->next().idle_timeout_notification().table_entry_size(), 1);
  bench.device.tick(kStart + 150 * kMs);
  EXPECT_TRUE(bench.stream->messages.empty());
  bench.device.tick(kStart + 200 * kMs);
  EXPECT_EQ(bench.stream->next().idle_timeout_notification().table_entry_size(), 1);
  EXPECT_EQ(bench.device.stats().idle_notifications, 2u);
}

TEST(Device, CountsWhatAStreamHasNoRoomFor) {
  Bench bench;
  static const info::P4Info info = control_plane().p4info();
  const std::string digest = std::to_string(info.digests(0).preamble().id());
  ASSERT_TRUE(
      bench
          .write({"type: INSERT entity { digest_entry { digest_id: " + digest + " config { max_list_size: 1 } } }",
                  "type: INSERT entity { table_entry { " + Bench::table("switching") +
                      "match { field_id: 1 exact { value: \"\\001\" } } action { action { " + Bench::action("to_cpu") +
                      "} } } }"})
          .ok());
  bench.stream->room = 1;
  for (uint8_t source = 1; source < 4; ++source) bench.pass(frame_to(1, source), kStart);
  bench.device.tick(kStart);
  const DeviceStats stats = bench.device.stats();
  EXPECT_EQ(stats.packet_in, 1u);
  EXPECT_EQ(stats.packet_in_drops, 2u);
  EXPECT_EQ(stats.digest_drops, 3u);
  EXPECT_EQ(bench.stream->messages[0].packet().metadata(0).value(), "\1");
}

TEST(Device, APacketOutOfAnotherThanThePrimaryIsRefused) {
  Bench bench;
  pb::StreamMessageRequest message = from_text<pb::StreamMessageRequest>(
      "packet { payload: \"data\" metadata { metadata_id: 1 value: \"\\002\" } "
      "metadata { metadata_id: 2 value: \"\\000\" } metadata { metadata_id: 3 value: \"\\000\" } }");
  ASSERT_TRUE(bench.device.message(bench.id, message).ok());
  ASSERT_EQ(bench.host.frames.size(), 1u);
  EXPECT_EQ(bench.host.frames[0], (std::vector<uint8_t>{0x01, 0x00, 'd', 'a', 't', 'a'}));
  bench.host.room = 1;
  bench.device.message(bench.id, message);
  EXPECT_EQ(bench.stream->next().error().canonical_code(), Code::RESOURCE_EXHAUSTED);
  const auto other = std::make_shared<FakeStream>();
  const StreamId id = *bench.device.open(other);
  bench.device.message(id, message);
  EXPECT_EQ(other->next().error().canonical_code(), Code::PERMISSION_DENIED);
  EXPECT_EQ(bench.device.stats().packet_out_drops, 1u);
}

TEST(Device, P4InfoMustFitTheProgram) {
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"bitwidth: 48", "bitwidth: 47"},
                                 {"match_type: EXACT", "match_type: LPM"},
                                 {"MyIngress.forward", "MyIngress.backward"},
                                 {"MyIngress.spread", "MyIngress.gather"},
                                 {"MyIngress.port_meter", "MyIngress.other"}}) {
    FakeHost host;
    Device device(1, {}, host);
    pb::ForwardingPipelineConfig config = control_plane();
    std::string text = file("control_plane.p4info.txtpb");
    text.replace(text.find(from), from.size(), to);
    *config.mutable_p4info() = from_text<info::P4Info>(text);
    try {
      device.load(config);
      ADD_FAILURE() << to;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code, Code::INVALID_ARGUMENT) << failure.what();
    }
    EXPECT_EQ(host.running, nullptr);
  }
}

TEST(Device, WhatTheCompilerLeftOutAndTranslatedTypesAreTaken) {
  FakeHost host;
  Device device(1, {}, host);
  pb::ForwardingPipelineConfig config = control_plane();
  info::P4Info& p4info = *config.mutable_p4info();
  p4info.add_tables()->mutable_preamble()->set_name("MyIngress.unused");
  p4info.add_counters()->mutable_preamble()->set_name("MyIngress.unused_too");
  for (info::Action& action : *p4info.mutable_actions())
    for (auto& param : *action.mutable_params())
      if (param.name() == "port") {
        param.set_bitwidth(32);
        param.mutable_type_name()->set_name("port_id_t");
      }
  device.load(config);
  ASSERT_NE(host.running, nullptr);
  auto& type = (*p4info.mutable_type_info()->mutable_new_types())["port_id_t"];
  type.mutable_translated_type()->mutable_sdn_string();
  EXPECT_THROW(device.load(config), Failure);
}

TEST(Device, AProgramForAnotherArchitectureIsRefused) {
  FakeHost host;
  Device device(1, {}, host);
  pb::ForwardingPipelineConfig config = control_plane();
  config.mutable_p4info()->mutable_pkg_info()->set_arch("psa");
  try {
    device.load(config);
    ADD_FAILURE();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code, Code::UNIMPLEMENTED);
    EXPECT_NE(std::string(failure.what()).find("p4info.pkg_info.arch: \"psa\""), std::string::npos);
  }
}

TEST(Device, ATypeThatContainsItselfIsRefused) {
  FakeHost host;
  Device device(1, {}, host);
  pb::ForwardingPipelineConfig config = control_plane();
  auto& learned = (*config.mutable_p4info()->mutable_type_info()->mutable_structs())["learned_t"];
  learned.clear_members();
  for (int i = 0; i < 2; ++i) learned.add_members()->mutable_type_spec()->mutable_struct_()->set_name("learned_t");
  EXPECT_THROW(device.load(config), Failure);
}

}  // namespace
}  // namespace orrery::p4::service
