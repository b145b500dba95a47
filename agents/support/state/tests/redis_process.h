// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/state/store_address.h"

namespace orrery::state::testing {

// A folder that goes with this.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A port of the loopback interface that nobody had a moment ago.
uint16_t free_port();

// A redis-server of the test's own, without files of its state. It ends with this, and with the test.
class RedisProcess {
 public:
  // arguments: of redis-server, beside those that say where it listens. Throws std::runtime_error when it does not run.
  explicit RedisProcess(const std::vector<std::string>& arguments = {});
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  uint16_t port() const { return port_; }
  uint16_t cluster_port() const { return cluster_port_; }
  Endpoint endpoint() const { return {.host = "127.0.0.1", .port = port_}; }
  std::string unix_address() const { return "unix:" + (folder_.path() / "redis.sock").string(); }
  std::string tcp_address() const { return "redis://" + endpoint().text(); }

  // SIGSTOP, until it stands still; and SIGCONT.
  void stop() const;
  void go_on() const;
  // SIGKILL, and what it had is gone. start() begins anew at the same place.
  void kill_now();
  void start();

 private:
  bool answers() const;

  TemporaryFolder folder_;
  const std::vector<std::string> arguments_;
  const uint16_t port_;
  const uint16_t cluster_port_;
  pid_t pid_ = -1;
};

// The functions that the tests call, beside state_version.
extern const char* const kTestLibrary;

}  // namespace orrery::state::testing
