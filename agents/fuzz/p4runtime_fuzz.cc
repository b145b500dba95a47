// SPDX-License-Identifier: Apache-2.0
// Requests of P4Runtime, with the numbers of a program in their fields, on a device whose pipeline runs between them.
#include <google/protobuf/reflection.h>

#include "fuzz/input.h"
#include "p4/service/tests/fixture.h"

namespace {

using namespace orrery::p4;
using namespace orrery::p4::service;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using orrery::fuzz::Bytes;
using orrery::fuzz::Input;
using orrery::fuzz::require;

constexpr int kDeepest = 6;

// Numbers of the program, and edges.
const std::vector<uint32_t>& numbers() {
  static const std::vector<uint32_t> all = [] {
    const info::P4Info p4info = control_plane().p4info();
    std::vector<uint32_t> out{0, 1, 2, 3, 4, 5, 510, 511, 65535, 65536, 0xffffffff};
    const auto add = [&](const auto& list) {
      for (const auto& each : list) out.push_back(each.preamble().id());
    };
    add(p4info.tables());
    add(p4info.actions());
    add(p4info.action_profiles());
    add(p4info.counters());
    add(p4info.direct_counters());
    add(p4info.meters());
    add(p4info.direct_meters());
    add(p4info.registers());
    add(p4info.value_sets());
    add(p4info.digests());
    return out;
  }();
  return all;
}

int64_t number(Input& input) {
  static constexpr int64_t kEdges[] = {0, 1, 2, 3, 8, 16, 63, 64, 511, -1, 1000000000, INT32_MAX, INT32_MIN, INT64_MAX};
  return kEdges[input.u8() % std::size(kEdges)];
}

void fill(Message& message, Input& input, int depth);

void set(Message& message, const FieldDescriptor& field, Input& input, int depth) {
  const auto& access = *message.GetReflection();
  const auto put = [&](auto single, auto repeated, const auto& value) {
    if (field.is_repeated())
      (access.*repeated)(&message, &field, value);
    else
      (access.*single)(&message, &field, value);
  };
  using R = google::protobuf::Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (depth < kDeepest)
        fill(field.is_repeated() ? *access.AddMessage(&message, &field) : *access.MutableMessage(&message, &field),
             input, depth + 1);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      put(&R::SetUInt32, &R::AddUInt32, numbers()[input.u8() % numbers().size()]);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      put(&R::SetUInt64, &R::AddUInt64, uint64_t{input.u8()} % 8);
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      put(&R::SetInt32, &R::AddInt32, static_cast<int32_t>(number(input)));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      put(&R::SetInt64, &R::AddInt64, number(input));
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      put(&R::SetBool, &R::AddBool, input.u8() % 4 == 0);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      put(&R::SetEnumValue, &R::AddEnumValue, input.u8() % 5);
      break;
    case FieldDescriptor::CPPTYPE_STRING: {
      const Bytes bytes = input.bytes(input.u8() % 9);
      const std::string text(bytes.begin(), bytes.end());
      if (field.is_repeated())
        access.AddString(&message, &field, field.type() == FieldDescriptor::TYPE_BYTES ? text : "x");
      else
        access.SetString(&message, &field, field.type() == FieldDescriptor::TYPE_BYTES ? text : "");
      break;
    }
    default:
      break;
  }
}

// One byte says whether a field is there; of a oneof, one says which.
void fill(Message& message, Input& input, int depth) {
  const auto& descriptor = *message.GetDescriptor();
  if (descriptor.full_name() == "google.protobuf.Any") return;
  for (int i = 0; i < descriptor.oneof_decl_count(); ++i) {
    const auto& choice = *descriptor.oneof_decl(i);
    set(message, *choice.field(input.u8() % choice.field_count()), input, depth);
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.containing_oneof() != nullptr) continue;
    const uint8_t there = input.u8();
    if (there % 4 == 0) continue;
    for (int n = field.is_repeated() ? there % 3 : 1; n > 0; --n) set(message, field, input, depth);
  }
}

// Entities that the program has, right as they are.
const std::vector<pb::Entity>& right_entities() {
  static const std::vector<pb::Entity> all = [] {
    const info::P4Info p4info = control_plane().p4info();
    const auto profile = [&](const char* name) { return std::to_string(id_of(p4info.action_profiles(), name)); };
    const auto match = [](const std::string& text) { return "match { " + text + " } "; };
    const auto entry = [](const std::string& table, const std::string& rest) {
      return "table_entry { " + Bench::table(table) + rest + " }";
    };
    const std::string forward = Bench::action("forward", Bench::param(1, "\\002"));
    const std::string call = "action { action { " + forward + " } } ";
    const std::string route =
        "action { action { " + Bench::action("route", Bench::param(1, "\\004") + Bench::param(2, "\\002")) + " } } ";
    const std::string key = match("field_id: 1 exact { value: \"\\001\" }");
    const std::string prefix = match("field_id: 1 lpm { value: \"\\012\\000\\000\\000\" prefix_len: 8 }");
    const std::string masked = match("field_id: 1 ternary { value: \"\\001\" mask: \"\\003\" }");
    const std::string rates = "{ cir: 1 cburst: 1 pir: 2 pburst: 2 }";
    const auto number = [](uint32_t id) { return std::to_string(id); };
    const std::string one_shot =
        "action { action_profile_action_set { action_profile_actions { weight: 1 watch_port: \"\\001\" action { " +
        forward + " } } action_profile_actions { weight: 2 action { " + forward + " } } } } ";
    std::vector<pb::Entity> out;
    for (const std::string& text :
         {entry("switching", key + call),
          entry("switching", key + call + "idle_timeout_ns: 1000000000 metadata: \"m\" "),
          entry("switching", "is_default_action: true " + call),
          entry("routes", prefix + route),
          entry("routes", route + "counter_data { packet_count: 1 byte_count: 2 } "),
          entry("acl",
                masked + "priority: 1 action { action { " + Bench::action("police") + " } } meter_config " + rates),
          entry("acl", match("field_id: 2 optional { value: \"\\006\" }") +
                           match("field_id: 3 range { low: \"\\001\" high: \"\\010\" }") +
                           "priority: 2 action { action { " + Bench::action("drop") + " } } "),
          entry("balance", key + "action { action_profile_member_id: 1 } "),
          entry("balance", key + "action { action_profile_group_id: 1 } "),
          entry("balance", key + one_shot),
          entry("indirect", key + "action { action_profile_member_id: 1 } "),
          "action_profile_member { member_id: 1 action { " + forward + " } action_profile_id: " + profile(".spread") +
              " }",
          "action_profile_member { member_id: 2 action { " + forward + " } action_profile_id: " + profile(".spread") +
              " }",
          "action_profile_member { member_id: 1 action { " + forward + " } action_profile_id: " + profile(".hops") +
              " }",
          "action_profile_group { group_id: 1 max_size: 4 members { member_id: 1 weight: 1 } action_profile_id: " +
              profile(".spread") + " }",
          "action_profile_group { group_id: 1 max_size: 4 members { member_id: 1 weight: 1 watch_port: \"\\003\" } "
          "members { member_id: 2 weight: 2 } action_profile_id: " +
              profile(".spread") + " }",
          "meter_entry { index { index: 1 } config " + rates +
              " meter_id: " + number(p4info.meters(0).preamble().id()) + " }",
          "counter_entry { index { index: 1 } data { packet_count: 4 } counter_id: " +
              number(p4info.counters(0).preamble().id()) + " }",
          "register_entry { index { index: 1 } data { bitstring: \"\\007\" } register_id: " +
              number(p4info.registers(0).preamble().id()) + " }",
          "direct_counter_entry { data { packet_count: 4 } " + entry("routes", prefix) + " }",
          "direct_meter_entry { config " + rates + entry("acl", masked + "priority: 1 ") + " }",
          std::string("packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 "
                      "replicas { port: \"\\001\" } replicas { port: \"\\002\" instance: 1 } } }"),
          std::string(
              "packet_replication_engine_entry { clone_session_entry { session_id: 1 replicas { port: \"\\001\" } "
              "packet_length_bytes: 64 } }"),
          "value_set_entry { members { match { field_id: 1 exact { value: \"\\210\" } } } value_set_id: " +
              number(p4info.value_sets(0).preamble().id()) + " }",
          "digest_entry { config { max_list_size: 2 max_timeout_ns: 1000 ack_timeout_ns: 100000 } digest_id: " +
              number(p4info.digests(0).preamble().id()) + " }"})
      out.push_back(from_text<pb::Entity>(text));
    return out;
  }();
  return all;
}

// Changes one field somewhere in the message.
void edit(Message& message, Input& input, int depth) {
  const auto& descriptor = *message.GetDescriptor();
  if (descriptor.field_count() == 0 || descriptor.full_name() == "google.protobuf.Any") return;
  const auto& access = *message.GetReflection();
  const FieldDescriptor& field = *descriptor.field(input.u8() % descriptor.field_count());
  const int count = field.is_repeated() ? access.FieldSize(message, &field) : 0;
  const bool is_there = field.is_repeated() ? count > 0 : !field.has_presence() || access.HasField(message, &field);
  const uint8_t how = input.u8() % 8;
  if (is_there && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && how < 6)
    edit(field.is_repeated() ? *access.MutableRepeatedMessage(&message, &field, input.u8() % count)
                             : *access.MutableMessage(&message, &field),
         input, depth + 1);
  else if (how == 6)
    access.ClearField(&message, &field);
  else
    set(message, field, input, depth);
}

void choose(pb::Entity& entity, Input& input) {
  const uint8_t kind = input.u8();
  if (kind >= 240) {
    fill(entity, input, 1);
    return;
  }
  entity = right_entities()[kind % right_entities().size()];
  const uint8_t edits = input.u8();
  for (int n = edits < 128 ? 0 : edits % 4; n > 0; --n) edit(entity, input, 1);
}

// What there is of each kind, members first.
void populate(Bench& bench) {
  for (const auto type : {pb::Update::INSERT, pb::Update::MODIFY})
    for (int round = 0; round < 3; ++round)
      for (const pb::Entity& entity : right_entities()) {
        pb::WriteRequest request = bench.request({});
        request.add_updates()->set_type(type);
        *request.mutable_updates(0)->mutable_entity() = entity;
        bench.device.write(request);
      }
  require(bench.device.pipeline()->tables.at(0).entries > 0, "what is right is taken");
}

void write(Bench& bench, Input& input) {
  pb::WriteRequest request = bench.request({});
  static constexpr pb::WriteRequest::Atomicity kModes[] = {pb::WriteRequest::CONTINUE_ON_ERROR,
                                                           pb::WriteRequest::DATAPLANE_ATOMIC};
  request.set_atomicity(kModes[input.u8() % 2]);
  for (int n = 1 + input.u8() % 3; n > 0; --n) {
    pb::Update& update = *request.add_updates();
    static constexpr pb::Update::Type kTypes[] = {pb::Update::INSERT, pb::Update::MODIFY, pb::Update::DELETE,
                                                  pb::Update::INSERT, pb::Update::UNSPECIFIED};
    update.set_type(kTypes[input.u8() % std::size(kTypes)]);
    choose(*update.mutable_entity(), input);
  }
  const bool is_atomic = request.atomicity() == pb::WriteRequest::DATAPLANE_ATOMIC;
  const std::string before = is_atomic ? bench.state() : "";
  const auto status = bench.device.write(request);
  if (is_atomic && !status.ok()) require(bench.state() == before, "a batch that failed has changed nothing");
  require(status.error_code() != service::Code::INTERNAL, status.error_message());
}

void reconcile(Bench& bench) {
  const std::string before = bench.state();
  pb::SetForwardingPipelineConfigRequest request;
  request.set_device_id(Bench::kDevice);
  request.mutable_election_id()->set_low(1);
  request.set_action(pb::SetForwardingPipelineConfigRequest::RECONCILE_AND_COMMIT);
  *request.mutable_config() = control_plane();
  const auto status = bench.device.set_config(request);
  require(status.ok(), "state that was written can be written again: " + status.error_message());
  require(bench.state() == before, "a reconciled pipeline has the state of the one before");
}

}  // namespace

std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  for (uint8_t kind = 0; kind < 16; ++kind) {
    Bytes seed;
    for (int i = 0; i < 400; ++i) seed.push_back(static_cast<uint8_t>(kind * 37 + i * (kind + 3)));
    out.push_back(std::move(seed));
  }
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input({data, size});
  Bench bench;
  if (input.u8() % 2 != 0) populate(bench);
  uint64_t now_ns = uint64_t{1} << 62;
  for (int requests = 0; requests < 24 && !input.empty(); ++requests) {
    now_ns += uint64_t{input.u8()} * 10'000'000;
    switch (input.u8() % 8) {
      case 0:
      case 1:
      case 2:
      case 3:
        write(bench, input);
        break;
      case 4: {
        pb::ReadRequest request;
        request.set_device_id(Bench::kDevice);
        choose(*request.add_entities(), input);
        Responses responses;
        const auto status = bench.device.read(request, responses);
        require(status.error_code() != service::Code::INTERNAL, status.error_message());
        break;
      }
      case 5: {
        pb::StreamMessageRequest message;
        fill(message, input, 1);
        if (!message.has_arbitration()) bench.device.message(bench.id, message);
        break;
      }
      case 6: {
        const Bytes frame = input.bytes(input.u8() % 64);
        bench.pass(frame, now_ns);
        bench.device.tick(now_ns);
        break;
      }
      default:
        reconcile(bench);
    }
    bench.stream->messages.clear();
    bench.host.frames.clear();
  }
  return 0;
}
