// SPDX-License-Identifier: Apache-2.0
// One P4Runtime device: all that the RPCs do, without gRPC's transport.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "p4/core/pipeline.h"
#include "p4/service/arbiter.h"
#include "p4/service/digest_book.h"
#include "p4/service/instance.h"
#include "p4/service/responses.h"

namespace orrery::p4::service {

// Where messages of a stream go. From any thread; never waits.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // Whether there was room. One that is `needed` has room beyond the bound of the others.
  virtual bool post(pb::StreamMessageResponse&& message, bool needed) = 0;
};

// The switch around the device. From any thread; never waits.
class Host {
 public:
  virtual ~Host() = default;
  // Packets go through this pipeline from now on.
  virtual void run(std::shared_ptr<const Running> running) = 0;
  // A frame that enters at the CPU port. Whether there was room.
  virtual bool packet_out(std::vector<uint8_t>&& frame) = 0;
};

struct DeviceStats {
  uint64_t clients = 0;
  bool primary = false;  // of the default role
  uint64_t writes = 0;
  uint64_t updates = 0;
  uint64_t failed_updates = 0;
  uint64_t reads = 0;
  uint64_t packet_in = 0;
  uint64_t packet_in_drops = 0;
  uint64_t packet_out = 0;
  uint64_t packet_out_drops = 0;
  uint64_t digests = 0;
  uint64_t digest_drops = 0;
  uint64_t idle_notifications = 0;
};

// What runs, for people.
struct ProgramView {
  std::string name;
  uint64_t generation;
  std::optional<uint64_t> cookie;
};
struct TableView {
  std::string name;
  uint64_t entries;
  uint64_t size;
  uint64_t hits;
  uint64_t misses;
};
struct PipelineView {
  uint64_t packets_in;
  uint64_t packets_out;
  std::map<std::string, uint64_t> drops;
  std::vector<TableView> tables;
};

class Device {
 public:
  static constexpr size_t kMostStreams = 16;
  static constexpr uint64_t kIdleScanNs = 100'000'000;

  Device(uint64_t device_id, const InstanceOptions& options, Host& host);

  // RPCs, on any thread.
  ::grpc::Status write(const pb::WriteRequest& request);
  ::grpc::Status read(const pb::ReadRequest& request, Responses& out);
  ::grpc::Status set_config(const pb::SetForwardingPipelineConfigRequest& request);
  ::grpc::Status get_config(const pb::GetForwardingPipelineConfigRequest& request, pb::ForwardingPipelineConfig* out,
                            bool& is_set);

  // Nothing: there are too many.
  std::optional<StreamId> open(std::shared_ptr<StreamSink> sink);
  // What is not OK ends the stream.
  ::grpc::Status message(StreamId stream, const pb::StreamMessageRequest& message);
  void closed(StreamId stream);

  // The pipeline at the start. Throws Failure.
  void load(pb::ForwardingPipelineConfig config);

  // The packet thread, within a batch.
  void packet_in(const Running& running, const FrameOut& frame);
  void digest(const Running& running, DigestSample&& sample, uint64_t now_ns);

  void set_ports_up(PortsUp up);

  // Sends the notifications that are due; when it wants to be called again. `waker` is called, from any thread, when
  // that is earlier than said.
  uint64_t tick(uint64_t now_ns);
  void set_waker(std::function<void()> waker) { waker_ = std::move(waker); }

  DeviceStats stats();
  std::optional<ProgramView> program();
  std::optional<PipelineView> pipeline();

 private:
  void check_device(uint64_t device_id) const;
  void check_writer(const std::string& role, uint64_t role_id, bool has_election, const pb::Uint128& election) const;
  Instance& addressed() const;
  std::vector<std::optional<Failure>> apply_each(Instance& instance, const pb::WriteRequest& request);
  std::vector<std::optional<Failure>> apply_all_or_none(Instance& instance, const pb::WriteRequest& request);
  void commit(std::shared_ptr<Instance> instance);
  void replay(const std::vector<pb::Update>& state, Instance& next);
  void configure_digests();
  void deliver(const std::vector<Notice>& notices);
  void primaries_changed();
  void packet_out(StreamId stream, const pb::PacketOut& packet);
  void stream_error(StreamId stream, const Failure& failure, const pb::StreamMessageRequest& cause);
  bool post(StreamId stream, pb::StreamMessageResponse&& message, bool needed);
  size_t post_to_primaries(const pb::StreamMessageResponse& message);
  std::optional<uint64_t> send_digests(uint64_t now_ns);
  void send_idle(uint64_t now_ns);
  void wake(uint64_t at_ns);

  const uint64_t device_id_;
  const InstanceOptions options_;
  Host& host_;
  std::function<void()> waker_;

  // Order of locking: state, then a pipeline's, then those below. The packet thread holds its pipeline's.
  mutable std::mutex state_mutex_;
  Arbiter arbiter_;
  std::shared_ptr<Instance> running_;
  std::shared_ptr<Instance> saved_;
  PortsUp ports_up_;
  uint64_t generation_ = 0;

  std::mutex streams_mutex_;
  std::map<StreamId, std::shared_ptr<StreamSink>> sinks_;
  std::vector<StreamId> primaries_;
  StreamId last_stream_ = 0;

  std::mutex digest_mutex_;
  DigestBook digests_;
  std::map<uint32_t, uint32_t> digest_ids_;  // by index of Program::learn_lists
  uint64_t digest_generation_ = 0;
  uint64_t planned_ns_ = 0;  // when tick() is called next

  std::atomic<uint64_t> writes_ = 0, updates_ = 0, failed_updates_ = 0, reads_ = 0, packet_in_ = 0,
                        packet_in_drops_ = 0, packet_out_ = 0, packet_out_drops_ = 0, digest_messages_ = 0,
                        digest_list_drops_ = 0, idle_notifications_ = 0;
};

}  // namespace orrery::p4::service
