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
    fill(*update.mutable_entity(), input, 1);
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
        fill(*request.add_entities(), input, 1);
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
