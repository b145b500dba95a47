// SPDX-License-Identifier: Apache-2.0
// The streams of a device: arbitration, packets, digests, idle time-outs.
#include <algorithm>

#include "p4/service/data_types.h"
#include "p4/service/device.h"
#include "p4/service/status.h"
#include "p4/service/tables.h"
#include "support/clock.h"

namespace orrery::p4::service {
namespace {

constexpr uint64_t kNever = ~uint64_t{0};
constexpr size_t kMostFrameBytes = 16384;
constexpr int kIdleEntriesInMessage = 256;

int64_t epoch_ns(uint64_t now_ns) {
  return static_cast<int64_t>(wall_ms_at(now_ns) * 1e6);
}

}  // namespace

std::optional<StreamId> Device::open(std::shared_ptr<StreamSink> sink) {
  const std::lock_guard lock(streams_mutex_);
  if (sinks_.size() >= kMostStreams) return std::nullopt;
  sinks_[++last_stream_] = std::move(sink);
  return last_stream_;
}

::grpc::Status Device::message(StreamId stream, const pb::StreamMessageRequest& message) {
  return guarded([&] {
    const std::lock_guard lock(state_mutex_);
    if (message.has_arbitration()) {
      deliver(arbiter_.update(stream, message.arbitration()));
      return ::grpc::Status::OK;
    }
    try {
      if (message.has_packet()) {
        packet_out(stream, message.packet());
      } else if (message.has_digest_ack()) {
        if (!running_) refuse(Code::FAILED_PRECONDITION, "no forwarding pipeline config is set");
        running_->catalogue.digest(message.digest_ack().digest_id(), "digest_ack.digest_id");
        const std::lock_guard digest_lock(digest_mutex_);
        digests_.acknowledge(message.digest_ack().digest_id(), message.digest_ack().list_id());
      } else {
        refuse(message.has_other() ? Code::UNIMPLEMENTED : Code::INVALID_ARGUMENT, "the kind of message is not known");
      }
    } catch (const Failure& failure) {
      stream_error(stream, failure, message);
    }
    return ::grpc::Status::OK;
  });
}

void Device::closed(StreamId stream) {
  {
    const std::lock_guard lock(streams_mutex_);
    sinks_.erase(stream);
  }
  const std::lock_guard lock(state_mutex_);
  deliver(arbiter_.closed(stream));
}

// Precondition: the state is locked.
void Device::deliver(const std::vector<Notice>& notices) {
  const auto primaries = arbiter_.primaries();
  bool changed = false;
  {
    const std::lock_guard lock(streams_mutex_);
    changed = primaries != primaries_;
    primaries_ = primaries;
  }
  if (changed) {
    const std::lock_guard lock(digest_mutex_);
    digests_.forget();
  }
  for (const Notice& notice : notices) {
    pb::StreamMessageResponse response;
    *response.mutable_arbitration() = notice.update;
    post(notice.to, std::move(response), true);
  }
  if (changed) wake(0);
}

void Device::packet_out(StreamId stream, const pb::PacketOut& packet) {
  if (!arbiter_.is_primary(stream)) refuse(Code::PERMISSION_DENIED, "packet: only of the primary client");
  if (!running_) refuse(Code::FAILED_PRECONDITION, "no forwarding pipeline config is set");
  std::vector<uint8_t> frame = running_->packet_out.frame_of(packet);
  if (frame.size() > kMostFrameBytes)
    refuse(Code::INVALID_ARGUMENT, "packet.payload: is longer than 16384 bytes with its header");
  if (frame.empty()) refuse(Code::INVALID_ARGUMENT, "packet.payload: is empty");
  if (!host_.packet_out(std::move(frame))) {
    ++packet_out_drops_;
    refuse(Code::RESOURCE_EXHAUSTED, "packet: too many wait for the switch");
  }
  ++packet_out_;
}

void Device::stream_error(StreamId stream, const Failure& failure, const pb::StreamMessageRequest& cause) {
  pb::StreamMessageResponse response;
  pb::StreamError* error = response.mutable_error();
  error->set_canonical_code(failure.code);
  error->set_message(failure.what());
  if (cause.has_packet()) {
    auto* packet = error->mutable_packet_out()->mutable_packet_out();
    *packet->mutable_metadata() = cause.packet().metadata();
    packet->set_payload(cause.packet().payload().substr(0, 256));
  } else if (cause.has_digest_ack()) {
    *error->mutable_digest_list_ack()->mutable_digest_list_ack() = cause.digest_ack();
  } else {
    error->mutable_other();
  }
  post(stream, std::move(response), false);
}

bool Device::post(StreamId stream, pb::StreamMessageResponse&& message, bool needed) {
  const std::lock_guard lock(streams_mutex_);
  const auto sink = sinks_.find(stream);
  return sink != sinks_.end() && sink->second->post(std::move(message), needed);
}

// How many had no room.
size_t Device::post_to_primaries(const pb::StreamMessageResponse& message) {
  const std::lock_guard lock(streams_mutex_);
  size_t refused = 0;
  for (const StreamId stream : primaries_) {
    const auto sink = sinks_.find(stream);
    if (sink == sinks_.end() || !sink->second->post(pb::StreamMessageResponse(message), false)) ++refused;
  }
  return refused;
}

void Device::packet_in(const Running& running, const FrameOut& frame) {
  auto packet = running.packet_in.packet_of(frame.head, frame.payload);
  if (!packet) {
    ++packet_in_drops_;
    return;
  }
  pb::StreamMessageResponse response;
  *response.mutable_packet() = std::move(*packet);
  {
    const std::lock_guard lock(streams_mutex_);
    if (primaries_.empty()) {
      ++packet_in_drops_;
      return;
    }
  }
  if (const size_t refused = post_to_primaries(response); refused > 0)
    packet_in_drops_ += refused;
  else
    ++packet_in_;
}

void Device::digest(const Running& running, DigestSample&& sample, uint64_t now_ns) {
  const std::lock_guard lock(digest_mutex_);
  if (running.generation != digest_generation_) return;
  const auto id = digest_ids_.find(sample.list);
  if (id == digest_ids_.end()) return;
  digests_.add(id->second, std::move(sample.fields), now_ns);
  if (const auto next = digests_.next_ns(); next && *next < planned_ns_) {
    planned_ns_ = *next;
    if (waker_) waker_();
  }
}

void Device::wake(uint64_t at_ns) {
  const std::lock_guard lock(digest_mutex_);
  planned_ns_ = std::min(planned_ns_, at_ns);
  if (waker_) waker_();
}

// Precondition: the state is locked.
void Device::configure_digests() {
  const std::lock_guard lock(digest_mutex_);
  for (const DigestSpec& spec : running_->catalogue.digests()) {
    const auto entry = running_->digests.find(spec.id);
    if (entry == running_->digests.end()) {
      digests_.disable(spec.id);
      continue;
    }
    const auto& config = entry->second.config();
    digests_.configure(spec.id, {.max_timeout_ns = static_cast<uint64_t>(config.max_timeout_ns()),
                                 .max_list_size = static_cast<uint64_t>(config.max_list_size()),
                                 .ack_timeout_ns = static_cast<uint64_t>(config.ack_timeout_ns())});
  }
}

uint64_t Device::tick(uint64_t now_ns) {
  const std::lock_guard lock(state_mutex_);
  uint64_t next_ns = kNever;
  const bool has_primary = !arbiter_.primaries().empty();
  if (running_ && has_primary) {
    next_ns = send_digests(now_ns).value_or(kNever);
    if (std::ranges::any_of(running_->catalogue.tables(), &TableSpec::has_idle_timeout)) {
      send_idle(now_ns);
      next_ns = std::min(next_ns, now_ns + kIdleScanNs);
    }
  }
  const std::lock_guard digest_lock(digest_mutex_);
  // A message may have come meanwhile.
  if (const auto digests_ns = digests_.next_ns(); digests_ns && has_primary) next_ns = std::min(next_ns, *digests_ns);
  planned_ns_ = next_ns;
  return next_ns;
}

std::optional<uint64_t> Device::send_digests(uint64_t now_ns) {
  std::vector<DueDigests> lists;
  std::optional<uint64_t> next;
  {
    const std::lock_guard lock(digest_mutex_);
    lists = digests_.due(now_ns);
    next = digests_.next_ns();
  }
  for (const DueDigests& list : lists) {
    const DigestSpec& spec = running_->catalogue.digest(list.digest_id, "digest_id");
    pb::StreamMessageResponse response;
    pb::DigestList* out = response.mutable_digest();
    out->set_digest_id(list.digest_id);
    out->set_list_id(list.list_id);
    out->set_timestamp(epoch_ns(now_ns));
    for (const auto& message : list.messages) {
      std::span<const ByteString> fields(message);
      if (fields.size() >= leaves_of(spec.shape)) to_data(spec.shape, fields, out->add_data());
    }
    if (post_to_primaries(response) > 0)
      digest_list_drops_ += list.messages.size();
    else
      digest_messages_ += list.messages.size();
  }
  return next;
}

void Device::send_idle(uint64_t now_ns) {
  pb::StreamMessageResponse response;
  const auto flush = [&] {
    auto* notification = response.mutable_idle_timeout_notification();
    if (notification->table_entry_size() == 0) return;
    notification->set_timestamp(epoch_ns(now_ns));
    idle_notifications_ += static_cast<uint64_t>(notification->table_entry_size());
    post_to_primaries(response);
    response.Clear();
  };
  Context context(*running_, ports_up_, now_ns);
  context.control().each_idle(now_ns, [&](const IdleEntry& idle) {
    const TableSpec* table = running_->catalogue.table_at(idle.table);
    if (table == nullptr) return;
    write_idle_entry(context, *table, idle.entry, response.mutable_idle_timeout_notification()->add_table_entry());
    if (response.idle_timeout_notification().table_entry_size() >= kIdleEntriesInMessage) flush();
  });
  flush();
}

}  // namespace orrery::p4::service
