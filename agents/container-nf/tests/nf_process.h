// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace orrery::container_nf::testing {

// How a program ended: its exit status, or 128 + the signal that ended it.
struct Ended {
  int status;
  std::string errors;  // what it wrote to stderr
};

// A directory for instance file and control socket.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Those that its container has.
extern const std::set<int> kCapabilities;

// One thread of a process as the kernel sees it: the lines of its status by name.
using ThreadStatus = std::map<std::string, std::string>;

// The program under test, as root with the capabilities of its container.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const std::set<int>& capabilities = kCapabilities);
  ~Program();  // kills it
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  uint64_t cpu_ns() const;
  std::vector<ThreadStatus> threads() const;
  void signal(int number) const;
  // Stops it, and returns when it has stopped.
  void freeze() const;

  // The next line of its output; empty at the end of the output.
  std::string line();
  // Fails the test for one that does not end, and kills it.
  Ended wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  int errors_ = -1;
};

// One connection to a control socket.
class Client {
 public:
  explicit Client(const std::string& path);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The whole response.
  nlohmann::json request(const nlohmann::json& whole);

 private:
  int fd_;
};

// The program under test, which runs an NF between `near` and `far`.
class ContainerNf {
 public:
  explicit ContainerNf(const std::string& nf, const nlohmann::json& config,
                       const nlohmann::json& metadata = nlohmann::json::object());

  Program& program() { return *program_; }
  const std::string& socket() const { return socket_; }

  // The result; fails the test for a refusal.
  nlohmann::json call(const std::string& method, const nlohmann::json& params = nlohmann::json::object());
  // The code and pointer of a refusal.
  std::string refusal(const std::string& method, const nlohmann::json& params);

  // Waits until so many frames have come in altogether and returns the figures of that moment.
  nlohmann::json await_frames(uint64_t n);

 private:
  nlohmann::json request(const std::string& method, const nlohmann::json& params);

  TemporaryDirectory directory_;
  std::string socket_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Client> client_;
};

uint64_t frames_in(const nlohmann::json& stats);
uint64_t drops(const nlohmann::json& stats, const std::string& reason);

}  // namespace orrery::container_nf::testing
