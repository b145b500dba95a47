// SPDX-License-Identifier: Apache-2.0
// A device with the program `control_plane`, without sockets.
#pragma once

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <deque>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "p4/service/device.h"

namespace orrery::p4::service {

inline std::string file(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(P4_PROGRAMS) + '/' + name).rdbuf();
  return text.str();
}

template <typename Message>
Message from_text(const std::string& text) {
  // It would warn of fields that are deprecated.
  static const bool silent = google::protobuf::SetLogHandler(nullptr) != nullptr;
  (void)silent;
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message))
    throw std::runtime_error("not a message: " + text);
  return message;
}

inline pb::ForwardingPipelineConfig control_plane() {
  pb::ForwardingPipelineConfig config;
  *config.mutable_p4info() = from_text<info::P4Info>(file("control_plane.p4info.txtpb"));
  config.set_p4_device_config(file("control_plane.json"));
  return config;
}

// By the last part of its name.
template <typename List>
uint32_t id_of(const List& list, const std::string& name) {
  for (const auto& each : list)
    if (each.preamble().name().ends_with(name)) return each.preamble().id();
  throw std::runtime_error("there is no " + name);
}

class FakeHost : public Host {
 public:
  void run(std::shared_ptr<const Running> next) override { running = std::move(next); }
  bool packet_out(std::vector<uint8_t>&& frame) override {
    frames.push_back(std::move(frame));
    return frames.size() <= room;
  }

  std::shared_ptr<const Running> running;
  std::vector<std::vector<uint8_t>> frames;
  size_t room = 1000;
};

class FakeStream : public StreamSink {
 public:
  bool post(pb::StreamMessageResponse&& message, bool) override {
    messages.push_back(std::move(message));
    return messages.size() <= room;
  }
  // The oldest; an empty one where there is none.
  pb::StreamMessageResponse next() {
    if (messages.empty()) return {};
    pb::StreamMessageResponse message = std::move(messages.front());
    messages.pop_front();
    return message;
  }

  std::deque<pb::StreamMessageResponse> messages;
  size_t room = 1000;
};

// What the pipeline sends, as the switch's ports take it.
class Leaving : public Sink {
 public:
  Leaving(Device& device, const Running& running, uint64_t now_ns)
      : device_(device), running_(running), now_ns_(now_ns) {}
  bool send(const FrameOut& frame) override {
    ports.push_back(frame.port);
    if (frame.port == 510) device_.packet_in(running_, frame);
    return true;
  }
  void digest(DigestSample&& sample) override { device_.digest(running_, std::move(sample), now_ns_); }

  std::vector<uint32_t> ports;

 private:
  Device& device_;
  const Running& running_;
  uint64_t now_ns_;
};

// One primary client.
struct Bench {
  static constexpr uint64_t kDevice = 7;

  Bench() {
    device.load(control_plane());
    id = *device.open(stream);
    arbitrate(1);
    stream->next();
  }

  ::grpc::Status arbitrate(uint64_t election) {
    pb::StreamMessageRequest message;
    message.mutable_arbitration()->set_device_id(kDevice);
    message.mutable_arbitration()->mutable_election_id()->set_low(election);
    return device.message(id, message);
  }

  // Updates in text form, in which NAME: is `table_id: NUMBER`.
  pb::WriteRequest request(const std::vector<std::string>& updates) const {
    pb::WriteRequest request;
    request.set_device_id(kDevice);
    request.mutable_election_id()->set_low(1);
    for (const std::string& text : updates) *request.add_updates() = from_text<pb::Update>(text);
    return request;
  }
  ::grpc::Status write(const std::vector<std::string>& updates) { return device.write(request(updates)); }

  static std::string action(const std::string& name, const std::string& params = "") {
    static const info::P4Info info = control_plane().p4info();
    return "action_id: " + std::to_string(id_of(info.actions(), "." + name)) + ' ' + params;
  }
  static std::string param(uint32_t param, const std::string& value) {
    return "params { param_id: " + std::to_string(param) + " value: \"" + value + "\" } ";
  }
  static std::string table(const std::string& name) {
    static const info::P4Info info = control_plane().p4info();
    return "table_id: " + std::to_string(id_of(info.tables(), "." + name)) + ' ';
  }
  // An entry of `switching`.
  static std::string to_port(const std::string& mac, const std::string& port, const std::string& more = "") {
    return "entity { table_entry { " + table("switching") + "match { field_id: 1 exact { value: \"" + mac +
           "\" } } action { action { " + action("forward", param(1, port)) + "} } " + more + "} }";
  }

  // All that a Read of everything answers, in a form that can be compared.
  std::string state() {
    pb::ReadRequest request;
    request.set_device_id(kDevice);
    for (const char* text :
         {"table_entry {}", "action_profile_member {}", "action_profile_group {}", "meter_entry {}",
          "direct_meter_entry { table_entry {} }", "counter_entry {}", "direct_counter_entry { table_entry {} }",
          "packet_replication_engine_entry {}", "value_set_entry {}", "register_entry {}", "digest_entry {}"})
      *request.add_entities() = from_text<pb::Entity>(text);
    Responses responses;
    if (const auto status = device.read(request, responses); !status.ok()) return status.error_message();
    std::vector<std::string> entities;
    for (const auto& message : responses.messages())
      for (const auto& entity : message.entities()) entities.push_back(entity.SerializeAsString());
    std::sort(entities.begin(), entities.end());
    std::string out;
    for (const std::string& each : entities) out += each + '\n';
    return out;
  }

  // Ports by which a frame leaves that came in by port 1.
  std::vector<uint32_t> pass(const std::vector<uint8_t>& frame, uint64_t now_ns) {
    Leaving leaving(device, *host.running, now_ns);
    host.running->pipeline->batch().run({1, frame, now_ns}, leaving);
    return leaving.ports;
  }

  FakeHost host;
  Device device{kDevice, {}, host};
  std::shared_ptr<FakeStream> stream = std::make_shared<FakeStream>();
  StreamId id = 0;
};

inline std::vector<uint8_t> frame_to(uint8_t dst, uint8_t src = 9) {
  std::vector<uint8_t> frame(64);
  frame[5] = dst;
  frame[11] = src;
  frame[12] = 0x12;
  return frame;
}

}  // namespace orrery::p4::service
