// SPDX-License-Identifier: Apache-2.0
#include "nf_process.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "network.h"

namespace orrery::container_nf::testing {

using nlohmann::json;

namespace {

// As in a container with CapDrop ALL and CapAdd. Root gets at an exec what the bounding set leaves.
void drop_capabilities_but(const std::set<int>& kept) {
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability)
    if (!kept.contains(capability)) prctl(PR_CAPBSET_DROP, capability);
}

ThreadStatus read_status(const std::filesystem::path& path) {
  ThreadStatus status;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (const size_t colon = line.find(":\t"); colon != std::string::npos)
      status[line.substr(0, colon)] = line.substr(colon + 2);
  return status;
}

constexpr int kSilenceMs = 10'000;

// All until the end of the output. A program that has not ended and writes nothing for too long is killed.
std::string read_all(int fd, pid_t writer) {
  std::string out;
  char chunk[4096];
  for (;;) {
    pollfd output{fd, POLLIN, 0};
    if (poll(&output, 1, kSilenceMs) == 0) {
      ADD_FAILURE() << "the program did not end";
      kill(writer, SIGKILL);
    }
    const ssize_t n = read(fd, chunk, sizeof(chunk));
    if (n <= 0) return out;
    out.append(chunk, static_cast<size_t>(n));
  }
}

}  // namespace

const std::set<int> kCapabilities = {CAP_NET_RAW, CAP_SETUID, CAP_SETGID};

TemporaryDirectory::TemporaryDirectory() {
  char name[] = "/tmp/container-nf-XXXXXX";
  path_ = mkdtemp(name);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::filesystem::remove_all(path_);
}

Program::Program(const std::vector<std::string>& arguments, const std::set<int>& capabilities) {
  int output[2], errors[2];
  if (pipe(output) != 0 || pipe(errors) != 0) std::abort();
  // CONTAINER_NF is set by the build.
  std::vector<char*> argv = {const_cast<char*>(CONTAINER_NF)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(output[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    for (int fd : {output[0], output[1], errors[0], errors[1]}) ::close(fd);
    drop_capabilities_but(capabilities);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ::close(output[1]);
  ::close(errors[1]);
  output_ = output[0];
  errors_ = errors[0];
}

Program::~Program() {
  if (pid_ > 0) {
    signal(SIGKILL);
    wait();
  }
  ::close(output_);
  ::close(errors_);
}

uint64_t Program::cpu_ns() const {
  clockid_t clock;
  timespec t{};
  EXPECT_EQ(clock_getcpuclockid(pid_, &clock), 0);
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

std::vector<ThreadStatus> Program::threads() const {
  std::vector<ThreadStatus> out;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task"))
    out.push_back(read_status(thread.path() / "status"));
  return out;
}

void Program::signal(int number) const {
  kill(pid_, number);
}

void Program::freeze() const {
  signal(SIGSTOP);
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
  EXPECT_TRUE(WIFSTOPPED(status));
}

std::string Program::line() {
  std::string out;
  for (char c; read(output_, &c, 1) == 1 && c != '\n';) out += c;
  return out;
}

Ended Program::wait() {
  int status = 0;
  const std::string errors = read_all(errors_, pid_);
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), errors};
}

Client::Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << std::strerror(errno);
}

Client::~Client() {
  ::close(fd_);
}

json Client::request(const json& whole) {
  const std::string line = whole.dump() + "\n";
  EXPECT_EQ(::send(fd_, line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
  std::string answer;
  char chunk[65536];
  while (answer.empty() || answer.back() != '\n') {
    const ssize_t n = recv(fd_, chunk, sizeof(chunk), 0);
    if (n <= 0) return nullptr;
    answer.append(chunk, static_cast<size_t>(n));
  }
  return json::parse(answer);
}

ContainerNf::ContainerNf(const std::string& nf, const json& config, const json& metadata)
    : socket_(directory_.file("control.sock")) {
  const std::string instance = directory_.file("instance.json");
  std::ofstream(instance) << json{{"nf", nf}, {"config", config}, {"metadata", metadata}};
  program_ = std::make_unique<Program>(
      std::vector<std::string>{"run", "--near", "near", "--far", "far", "--instance", instance, "--control", socket_});
  EXPECT_EQ(program_->line(), "orrery-container-nf runs");
  client_ = std::make_unique<Client>(socket_);
}

json ContainerNf::request(const std::string& method, const json& params) {
  return client_->request({{"id", 7}, {"method", method}, {"params", params}});
}

json ContainerNf::call(const std::string& method, const json& params) {
  const json response = request(method, params);
  EXPECT_TRUE(response.is_object() && response.contains("result") && response["id"] == 7) << response;
  return response.is_object() ? response.value("result", json()) : json();
}

std::string ContainerNf::refusal(const std::string& method, const json& params) {
  const json response = request(method, params);
  if (!response.contains("error")) return "none";
  const json& error = response["error"];
  EXPECT_NE(error["detail"], "");
  return error["code"].get<std::string>() + " " +
         (error["pointer"].is_null() ? "" : error["pointer"].get<std::string>());
}

json ContainerNf::await_frames(uint64_t n) {
  json stats;
  await(
      [&] {
        stats = call("stats");
        return frames_in(stats) >= n;
      },
      "frames to come in");
  return stats;
}

uint64_t frames_in(const json& stats) {
  return stats["forward"]["packets_in"].get<uint64_t>() + stats["return"]["packets_in"].get<uint64_t>();
}

uint64_t drops(const json& stats, const std::string& reason) {
  return stats["drops"].value(reason, uint64_t{0});
}

}  // namespace orrery::container_nf::testing
