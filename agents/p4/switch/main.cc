// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "p4/service/server.h"
#include "p4/switch/arguments.h"
#include "p4/switch/control.h"
#include "p4/switch/forwarder.h"
#include "support/end_signals.h"
#include "support/epoch.h"
#include "support/heartbeat_server.h"
#include "support/json_line_server.h"
#include "support/request.h"

namespace orrery::p4 {
namespace {

int report(const std::exception& error, int code) {
  std::fprintf(stderr, "orrery-p4-switch: %s\n", error.what());
  return code;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error(path + " cannot be read");
  return text.str();
}

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = std::to_string(line + 1) + ':' + std::to_string(column + 1) + ": " + message;
  }

  std::string text;
};

service::pb::ForwardingPipelineConfig read_config(const Arguments& arguments) {
  service::pb::ForwardingPipelineConfig config;
  config.set_p4_device_config(content(arguments.program));
  const std::string p4info = content(arguments.p4info);
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(p4info, config.mutable_p4info()) && !config.mutable_p4info()->ParseFromString(p4info))
    throw std::runtime_error(arguments.p4info + ':' + error.text);
  return config;
}

// Serves until a signal, a `shutdown` request or the end of the packet thread, whose fault is thrown.
void serve(const Arguments& arguments, Forwarder& forwarder, service::Device& device) {
  SwitchControl control(arguments, forwarder, device, random_epoch());
  JsonLineServer* address = nullptr;
  JsonLineServer server({.path = arguments.control}, [&](const nlohmann::json& request) {
    return answer_request(request, [&](const std::string& method, const nlohmann::json& params) {
      return control.call(method, params, [&] { address->stop(); });
    });
  });
  address = &server;
  HeartbeatServer heartbeat(arguments.control);
  const EndSignals signals([&] { server.stop(); });
  heartbeat.start();
  std::exception_ptr fault;
  std::exception_ptr serving;
  std::thread packets([&] {
    try {
      forwarder.run();
    } catch (...) {
      fault = std::current_exception();
    }
    server.stop();
  });
  try {
    forwarder.set_ports(arguments.ports);
    // After the ports, so that what is programmed forwards.
    const service::Server p4runtime(device, arguments.p4runtime);
    std::puts("orrery-p4-switch runs");
    std::fflush(stdout);
    server.run();
  } catch (...) {
    serving = std::current_exception();
  }
  forwarder.stop();
  packets.join();
  // Where the packet thread has ended, the other fault is that it has.
  if (fault) std::rethrow_exception(fault);
  if (serving) std::rethrow_exception(serving);
}

int run(const Arguments& arguments) {
  Forwarder forwarder({.cpu_port = arguments.cpu_port, .drop_port = arguments.drop_port});
  service::Device device(arguments.device_id, {.cpu_port = arguments.cpu_port, .drop_port = arguments.drop_port},
                         forwarder);
  forwarder.serve(device);
  if (!arguments.program.empty()) {
    try {
      device.load(read_config(arguments));
    } catch (const std::exception& error) {
      return report(error, 2);
    }
  }
  serve(arguments, forwarder, device);
  return 0;
}

}  // namespace
}  // namespace orrery::p4

int main(int argc, char** argv) {
  orrery::p4::Arguments arguments;
  try {
    arguments = orrery::p4::parse_arguments(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "orrery-p4-switch: %s\n%s", error.what(), orrery::p4::kUsage);
    return 2;
  }
  if (arguments.help) {
    std::fputs(orrery::p4::kUsage, stdout);
    return 0;
  }
  try {
    return orrery::p4::run(arguments);
  } catch (const std::exception& error) {
    return orrery::p4::report(error, 1);
  }
}
