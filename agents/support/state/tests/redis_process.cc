// SPDX-License-Identifier: Apache-2.0
#include "redis_process.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "store_client.h"

namespace orrery::state::testing {

namespace fs = std::filesystem;

// As the server loads it, with functions that put, add, refuse, fail and answer a table.
const char* const kTestLibrary = R"(#!lua name=orrery_state
redis.register_function{function_name = 'state_version', callback = function() return 1 end, flags = {'no-writes'}}
redis.register_function('test_put', function(keys, arguments)
  redis.call('SET', keys[1], arguments[1])
  return arguments[1]
end)
redis.register_function('test_add', function(keys, arguments) return redis.call('INCRBY', keys[1], arguments[1]) end)
redis.register_function('test_refuse', function() return redis.error_reply('NOT_TODAY come again') end)
redis.register_function('test_raise', function() error('it broke') end)
redis.register_function('test_table', function() return {1, 'two'} end)
redis.register_function('test_nothing', function() return nil end)
redis.register_function('test_true', function() redis.setresp(3); return true end)
redis.register_function('test_large', function(keys, arguments) return string.rep('x', tonumber(arguments[1])) end)
)";

TemporaryFolder::TemporaryFolder() {
  char name[] = "/tmp/orrery-state-XXXXXX";
  if (mkdtemp(name) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(fd);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

RedisProcess::RedisProcess(const std::vector<std::string>& arguments)
    : arguments_(arguments), port_(free_port()), cluster_port_(free_port()) {
  start();
}

RedisProcess::~RedisProcess() {
  kill_now();
}

void RedisProcess::start() {
  const std::string socket = (folder_.path() / "redis.sock").string();
  std::vector<std::string> line{"redis-server",
                                "--port",
                                std::to_string(port_),
                                "--bind",
                                "127.0.0.1",
                                "--unixsocket",
                                socket,
                                "--dir",
                                folder_.path().string(),
                                "--save",
                                "",
                                "--appendonly",
                                "no",
                                "--daemonize",
                                "no",
                                "--cluster-port",
                                std::to_string(cluster_port_)};
  line.insert(line.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> argv;
  for (std::string& word : line) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = (folder_.path() / "log").string();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (getppid() == parent) execvp(argv[0], argv.data());
    _exit(127);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!answers()) {
    const bool ended = waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (ended) pid_ = -1;
    if (ended || std::chrono::steady_clock::now() > end) throw std::runtime_error("redis-server does not run");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

bool RedisProcess::answers() const {
  try {
    const std::string answer = StoreClient(endpoint()).command({"PING"});
    return answer == "PONG" || answer.starts_with("-NOAUTH");
  } catch (const std::runtime_error&) {
    return false;
  }
}

void RedisProcess::stop() const {
  kill(pid_, SIGSTOP);
  const std::string status = "/proc/" + std::to_string(pid_) + "/stat";
  for (;;) {
    std::ifstream file(status);
    std::string word;
    if (!(file >> word >> word >> word) || word == "T") return;
  }
}

void RedisProcess::go_on() const {
  kill(pid_, SIGCONT);
}

void RedisProcess::kill_now() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace orrery::state::testing
