// SPDX-License-Identifier: Apache-2.0
#include "p4/service/device.h"

#include <algorithm>

#include "p4/service/entities.h"
#include "p4/service/profiles.h"
#include "p4/service/status.h"
#include "support/clock.h"

namespace orrery::p4::service {
namespace {

// Packets wait at most for so many updates.
constexpr int kUpdatesAtOnce = 256;

}  // namespace

Device::Device(uint64_t device_id, const InstanceOptions& options, Host& host)
    : device_id_(device_id), options_(options), host_(host), arbiter_(device_id) {}

void Device::check_device(uint64_t device_id) const {
  if (device_id != device_id_) refuse(Code::NOT_FOUND, "device_id: this is device " + std::to_string(device_id_));
}

void Device::check_writer(const std::string& role, uint64_t role_id, bool has_election,
                          const pb::Uint128& election) const {
  arbiter_.check_writer(role, role_id,
                        has_election ? std::optional(ElectionId{election.high(), election.low()}) : std::nullopt);
}

Instance& Device::addressed() const {
  if (saved_) return *saved_;
  if (!running_) refuse(Code::FAILED_PRECONDITION, "no forwarding pipeline config is set");
  return *running_;
}

::grpc::Status Device::write(const pb::WriteRequest& request) {
  return guarded([&] {
    const std::lock_guard lock(state_mutex_);
    check_device(request.device_id());
    check_writer(request.role(), request.role_id(), request.has_election_id(), request.election_id());
    Instance& instance = addressed();
    if (!pb::WriteRequest::Atomicity_IsValid(request.atomicity()))
      refuse(Code::INVALID_ARGUMENT, "atomicity: there is no such");
    const auto failures = request.atomicity() == pb::WriteRequest::CONTINUE_ON_ERROR
                              ? apply_each(instance, request)
                              : apply_all_or_none(instance, request);
    const bool has_digests =
        std::ranges::any_of(request.updates(), [](const auto& each) { return each.entity().has_digest_entry(); });
    if (has_digests && &instance == running_.get()) configure_digests();
    ++writes_;
    updates_ += static_cast<uint64_t>(request.updates_size());
    failed_updates_ +=
        static_cast<uint64_t>(std::ranges::count_if(failures, [](const auto& failure) { return failure.has_value(); }));
    return write_status(failures);
  });
}

std::vector<std::optional<Failure>> Device::apply_each(Instance& instance, const pb::WriteRequest& request) {
  std::vector<std::optional<Failure>> failures(static_cast<size_t>(request.updates_size()));
  for (int begin = 0; begin < request.updates_size(); begin += kUpdatesAtOnce) {
    Context context(instance, ports_up_, monotonic_ns());
    const int end = std::min(request.updates_size(), begin + kUpdatesAtOnce);
    for (int i = begin; i < end; ++i) {
      try {
        apply(context, request.updates(i));
      } catch (const Failure& failure) {
        failures[static_cast<size_t>(i)] = failure;
      }
    }
  }
  return failures;
}

std::vector<std::optional<Failure>> Device::apply_all_or_none(Instance& instance, const pb::WriteRequest& request) {
  std::vector<std::optional<Failure>> failures(static_cast<size_t>(request.updates_size()));
  std::vector<pb::Update> undo;  // the last one first
  Context context(instance, ports_up_, monotonic_ns());
  for (int i = 0; i < request.updates_size(); ++i) {
    try {
      auto inverse = inverse_of(context, request.updates(i));
      apply(context, request.updates(i));
      std::move(inverse.begin(), inverse.end(), std::back_inserter(undo));
    } catch (const Failure& failure) {
      for (auto& each : failures) each = Failure(Code::ABORTED, "undone, as another update of the batch failed");
      failures[static_cast<size_t>(i)] = failure;
      for (auto each = undo.rbegin(); each != undo.rend(); ++each) apply(context, *each);
      break;
    }
  }
  return failures;
}

::grpc::Status Device::read(const pb::ReadRequest& request, Responses& out) {
  return guarded([&] {
    const std::lock_guard lock(state_mutex_);
    check_device(request.device_id());
    Instance& instance = addressed();
    ++reads_;
    for (const pb::Entity& entity : request.entities()) {
      Context context(instance, ports_up_, monotonic_ns());
      out.pause_by([&] { context.pause(); });
      service::read(context, entity, out);
      out.pause_by({});
    }
    return ::grpc::Status::OK;
  });
}

::grpc::Status Device::set_config(const pb::SetForwardingPipelineConfigRequest& request) {
  using Request = pb::SetForwardingPipelineConfigRequest;
  return guarded([&] {
    const auto check = [&] {
      check_device(request.device_id());
      check_writer(request.role(), request.role_id(), request.has_election_id(), request.election_id());
    };
    uint64_t generation = 0;
    {
      const std::lock_guard lock(state_mutex_);
      check();
      generation = ++generation_;
    }
    if (request.action() == Request::COMMIT) {
      if (request.has_config()) refuse(Code::INVALID_ARGUMENT, "config: must not be set for COMMIT");
      const std::lock_guard lock(state_mutex_);
      check();
      if (!saved_) refuse(Code::NOT_FOUND, "action: no config was saved");
      commit(saved_);
      return ::grpc::Status::OK;
    }
    if (request.action() < Request::VERIFY || request.action() > Request::RECONCILE_AND_COMMIT)
      refuse(Code::INVALID_ARGUMENT, "action: there is no such");
    if (!request.has_config()) refuse(Code::INVALID_ARGUMENT, "config: is missing");
    // Takes long, so others go on meanwhile.
    auto next = std::make_shared<Instance>(request.config(), options_, generation);
    if (request.action() == Request::VERIFY) return ::grpc::Status::OK;
    const std::lock_guard lock(state_mutex_);
    check();
    if (request.action() == Request::VERIFY_AND_SAVE) {
      saved_ = std::move(next);
      return ::grpc::Status::OK;
    }
    if (request.action() == Request::RECONCILE_AND_COMMIT && running_) {
      // The state of the running pipeline must not change until the next one runs.
      Context context(*running_, ports_up_, monotonic_ns());
      const auto state = state_of(context);
      replay(state, *next);
      commit(std::move(next));
      return ::grpc::Status::OK;
    }
    commit(std::move(next));
    return ::grpc::Status::OK;
  });
}

void Device::replay(const std::vector<pb::Update>& state, Instance& next) {
  Context context(next, ports_up_, monotonic_ns());
  for (const TableSpec& table : next.catalogue.tables())
    if (!table.is_constant) context.control().table(table.index).clear();
  for (const pb::Update& update : state) {
    try {
      apply(context, update);
    } catch (const Failure& failure) {
      refuse(Code::INVALID_ARGUMENT, std::string("the state cannot be kept: ") + failure.what());
    }
  }
}

void Device::commit(std::shared_ptr<Instance> instance) {
  running_ = std::move(instance);
  saved_.reset();
  {
    const std::lock_guard lock(digest_mutex_);
    digests_.clear();
    digest_ids_.clear();
    digest_generation_ = running_->running->generation;
    for (const DigestSpec& spec : running_->catalogue.digests()) digest_ids_[spec.index] = spec.id;
  }
  configure_digests();
  host_.run(running_->running);
  wake(0);
}

::grpc::Status Device::get_config(const pb::GetForwardingPipelineConfigRequest& request,
                                  pb::ForwardingPipelineConfig* out, bool& is_set) {
  using Request = pb::GetForwardingPipelineConfigRequest;
  return guarded([&] {
    const std::lock_guard lock(state_mutex_);
    check_device(request.device_id());
    if (!Request::ResponseType_IsValid(request.response_type()))
      refuse(Code::INVALID_ARGUMENT, "response_type: there is no such");
    is_set = saved_ || running_;
    if (!is_set) return ::grpc::Status::OK;
    const pb::ForwardingPipelineConfig& config = addressed().config;
    const auto type = request.response_type();
    if (config.has_cookie()) *out->mutable_cookie() = config.cookie();
    if (type == Request::ALL || type == Request::P4INFO_AND_COOKIE) *out->mutable_p4info() = config.p4info();
    if (type == Request::ALL || type == Request::DEVICE_CONFIG_AND_COOKIE)
      out->set_p4_device_config(config.p4_device_config());
    return ::grpc::Status::OK;
  });
}

void Device::load(pb::ForwardingPipelineConfig config) {
  const std::lock_guard lock(state_mutex_);
  commit(std::make_shared<Instance>(std::move(config), options_, ++generation_));
}

void Device::set_ports_up(PortsUp up) {
  const std::lock_guard lock(state_mutex_);
  if (up == ports_up_) return;
  ports_up_ = std::move(up);
  for (const auto& instance : {running_, saved_}) {
    if (!instance) continue;
    Context context(*instance, ports_up_, monotonic_ns());
    apply_watch_ports(context);
  }
}

DeviceStats Device::stats() {
  DeviceStats out{.writes = writes_,
                  .updates = updates_,
                  .failed_updates = failed_updates_,
                  .reads = reads_,
                  .packet_in = packet_in_,
                  .packet_in_drops = packet_in_drops_,
                  .packet_out = packet_out_,
                  .packet_out_drops = packet_out_drops_,
                  .digests = digest_messages_,
                  .digest_drops = digest_list_drops_,
                  .idle_notifications = idle_notifications_};
  {
    const std::lock_guard lock(state_mutex_);
    out.primary = arbiter_.has_default_primary();
  }
  {
    const std::lock_guard lock(streams_mutex_);
    out.clients = sinks_.size();
  }
  const std::lock_guard lock(digest_mutex_);
  out.digest_drops += digests_.dropped();
  return out;
}

std::optional<ProgramView> Device::program() {
  const std::lock_guard lock(state_mutex_);
  if (!running_) return std::nullopt;
  ProgramView view{running_->program->name, running_->running->generation, {}};
  if (running_->config.has_cookie()) view.cookie = running_->config.cookie().cookie();
  return view;
}

std::optional<PipelineView> Device::pipeline() {
  const std::lock_guard lock(state_mutex_);
  if (!running_) return std::nullopt;
  Control control = running_->pipeline->control();
  PipelineView view{control.packets_in(), control.packets_out(), {}, {}};
  const auto drops = control.drops();
  for (size_t i = 0; i < drops.size(); ++i)
    if (drops[i] != 0) view.drops[std::string(name_of(static_cast<DropReason>(i)))] = drops[i];
  for (const TableSpec& spec : running_->catalogue.tables()) {
    const Table& table = control.table(spec.index);
    const uint64_t size = running_->program->tables[spec.index].max_size;
    view.tables.push_back({spec.name, table.size(), size, table.hits(), table.misses()});
  }
  return view;
}

}  // namespace orrery::p4::service
