// SPDX-License-Identifier: Apache-2.0
#include "p4/service/server.h"

#include <grpcpp/grpcpp.h>
#include <p4/v1/p4runtime.grpc.pb.h>
#include <sys/stat.h>

#include <charconv>
#include <chrono>
#include <future>
#include <thread>

#include "p4/service/status.h"
#include "p4/service/stream_queue.h"
#include "support/clock.h"

namespace orrery::p4::service {
namespace {

using ::grpc::ServerContext;

constexpr int kMostMessageBytes = 128 << 20;
constexpr int kMostThreads = 64;
// For what waits when a stream ends.
constexpr std::chrono::milliseconds kLastMessages{500};
constexpr std::string_view kUnix = "unix:";

class Service final : public pb::P4Runtime::Service {
 public:
  explicit Service(Device& device) : device_(device) {}

  ::grpc::Status Write(ServerContext*, const pb::WriteRequest* request, pb::WriteResponse*) override {
    return device_.write(*request);
  }

  ::grpc::Status Read(ServerContext*, const pb::ReadRequest* request,
                      ::grpc::ServerWriter<pb::ReadResponse>* writer) override {
    Responses responses;
    ::grpc::Status status = device_.read(*request, responses);
    if (!status.ok()) return status;
    for (const pb::ReadResponse& message : responses.messages())
      if (!writer->Write(message)) break;
    return ::grpc::Status::OK;
  }

  ::grpc::Status SetForwardingPipelineConfig(ServerContext*, const pb::SetForwardingPipelineConfigRequest* request,
                                             pb::SetForwardingPipelineConfigResponse*) override {
    return device_.set_config(*request);
  }

  ::grpc::Status GetForwardingPipelineConfig(ServerContext*, const pb::GetForwardingPipelineConfigRequest* request,
                                             pb::GetForwardingPipelineConfigResponse* response) override {
    bool is_set = false;
    pb::ForwardingPipelineConfig config;
    ::grpc::Status status = device_.get_config(*request, &config, is_set);
    if (status.ok() && is_set) *response->mutable_config() = std::move(config);
    return status;
  }

  ::grpc::Status Capabilities(ServerContext*, const pb::CapabilitiesRequest*,
                              pb::CapabilitiesResponse* response) override {
    response->set_p4runtime_api_version("1.4.1");
    return ::grpc::Status::OK;
  }

  ::grpc::Status StreamChannel(
      ServerContext* context,
      ::grpc::ServerReaderWriter<pb::StreamMessageResponse, pb::StreamMessageRequest>* stream) override {
    const auto queue = std::make_shared<StreamQueue>();
    const auto id = device_.open(queue);
    if (!id) return {Code::RESOURCE_EXHAUSTED, "there are too many streams"};
    auto written = std::async(std::launch::async, [&] {
      while (const auto message = queue->take())
        if (!stream->Write(*message)) break;
    });
    ::grpc::Status status;
    pb::StreamMessageRequest message;
    while (status.ok() && stream->Read(&message)) status = device_.message(*id, message);
    device_.closed(*id);
    queue->close();
    // A client that no longer reads would hold its stream for ever.
    if (written.wait_for(kLastMessages) != std::future_status::ready) context->TryCancel();
    written.wait();
    return status;
  }

 private:
  Device& device_;
};

bool is_loopback(const std::string& host) {
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

}  // namespace

void check_address(const std::string& address) {
  if (address.starts_with(kUnix)) {
    const size_t length = address.size() - kUnix.size();
    if (address[std::min(address.size() - 1, kUnix.size())] != '/' || length < 2 || length > 107)
      throw std::invalid_argument(address + ": a socket has an absolute path of at most 107 bytes");
    return;
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || !is_loopback(address.substr(0, colon)))
    throw std::invalid_argument(address + ": must be unix:/path, 127.0.0.1:PORT or [::1]:PORT");
  unsigned port = 0;
  const char* end = address.data() + address.size();
  const auto [at, error] = std::from_chars(address.data() + colon + 1, end, port);
  if (error != std::errc() || at != end || port == 0 || port > 65535)
    throw std::invalid_argument(address + ": the port must be 1 to 65535");
}

struct Server::Impl {
  explicit Impl(Device& device) : device(device), service(device) {}

  void run_timers() {
    std::unique_lock lock(mutex);
    while (!stopped) {
      woken = false;
      lock.unlock();
      const uint64_t next_ns = device.tick(monotonic_ns());
      lock.lock();
      const uint64_t now_ns = monotonic_ns();
      const auto wait = std::chrono::nanoseconds(
          std::min<uint64_t>(next_ns > now_ns ? next_ns - now_ns : 0, uint64_t{3'600'000'000'000}));
      changed.wait_for(lock, wait, [&] { return woken || stopped; });
    }
  }

  void wake() {
    {
      const std::lock_guard lock(mutex);
      woken = true;
    }
    changed.notify_one();
  }

  Device& device;
  Service service;
  std::unique_ptr<::grpc::Server> server;
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;
  bool stopped = false;
  std::thread timers;
};

Server::Server(Device& device, const std::vector<std::string>& addresses) : impl_(std::make_unique<Impl>(device)) {
  ::grpc::ServerBuilder builder;
  std::vector<int> ports(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i)
    builder.AddListeningPort(addresses[i], ::grpc::InsecureServerCredentials(), &ports[i]);
  builder.RegisterService(&impl_->service);
  builder.SetMaxReceiveMessageSize(kMostMessageBytes);
  builder.SetMaxSendMessageSize(-1);
  ::grpc::ResourceQuota quota("orrery-p4-switch");
  quota.SetMaxThreads(kMostThreads);
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(::grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(::grpc::ServerBuilder::MAX_POLLERS, 2);
  // Two servers of one port would each get some of the clients.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  device.set_waker([impl = impl_.get()] { impl->wake(); });
  const mode_t mask = umask(0177);
  impl_->server = builder.BuildAndStart();
  umask(mask);
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (impl_->server && ports[i] != 0) continue;
    impl_->server.reset();
    device.set_waker({});
    throw std::runtime_error("P4Runtime cannot be served at " + addresses[i]);
  }
  impl_->timers = std::thread([impl = impl_.get()] { impl->run_timers(); });
}

Server::~Server() {
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
  impl_->server->Wait();
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopped = true;
  }
  impl_->changed.notify_one();
  impl_->timers.join();
  impl_->device.set_waker({});
}

}  // namespace orrery::p4::service
