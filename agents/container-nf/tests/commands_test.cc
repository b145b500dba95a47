// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "network.h"
#include "nf_process.h"
#include "nfs/registry.h"

namespace orrery::container_nf::testing {
namespace {

using nlohmann::json;

std::vector<std::string> run_of(const std::string& instance, const std::string& socket) {
  return {"run", "--near", "near", "--far", "far", "--instance", instance, "--control", socket};
}

TEST(Commands, ListsEveryNfOfTheEngine) {
  Program program({"--nfs"});
  const auto kinds = nf_kinds();
  EXPECT_EQ(json::parse(program.line()), json(std::vector(kinds.begin(), kinds.end())));
  EXPECT_EQ(program.wait().status, 0);
}

TEST(Commands, HoldsUntilASignal) {
  for (int number : {SIGTERM, SIGINT}) {
    Program program({"hold"});
    EXPECT_EQ(program.line(), "orrery-container-nf holds");
    program.signal(number);
    EXPECT_EQ(program.wait().status, 0);
  }
}

TEST(Commands, HelpsAndSaysWhatIsWrong) {
  EXPECT_EQ(Program({"--help"}).wait().status, 0);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "a command is required"},
      {{"teapot"}, "there is no command teapot"},
      {{"hold", "x"}, "unexpected argument x"},
      {{"run", "--near", "near"}, "--far is required"},
      {{"run", "--near"}, "unknown option, or one without its value: --near"},
      {{"run", "--teapot", "1"}, "unknown option, or one without its value: --teapot"},
      {{"run", "--near", "a", "--far", "b", "--instance", "c", "--control", "d", "e"}, "unexpected argument e"},
  };
  for (const auto& [arguments, text] : cases) {
    const Ended ended = Program(arguments).wait();
    EXPECT_EQ(ended.status, 2);
    EXPECT_TRUE(ended.errors.starts_with("orrery-container-nf: " + text + "\nusage:")) << ended.errors;
  }
}

TEST(Commands, RefusesAnInstanceThatItCannotUse) {
  Network network;
  TemporaryDirectory directory;
  const std::string file = directory.file("instance.json");
  for (const auto& [text, fault] : {
           std::pair{"", " is not JSON"},
           {"[]", ": it must be an object"},
           {R"({"config": {}})", ": /nf is required"},
           {R"({"nf": "teapot", "config": {}})", ": /nf there is no NF called teapot"},
           {R"({"nf": "nat", "config": {"zz": 1, "external_addresses": ["198.18.0.1"]}})",
            ": /config/zz is not a known field"},
           {R"({"nf": "monitor", "config": {}, "metadata": {"a": {"width": 2, "values": {}}}})",
            ": /metadata/a/offset is required"},
           {R"({"nf": "monitor", "config": {}, "zz": 1})", ": /zz is not a known field"},
       }) {
    std::ofstream(file) << text;
    const Ended ended = Program(run_of(file, directory.file("socket"))).wait();
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.errors, "orrery-container-nf: " + file + fault + "\n");
  }
  const Ended ended = Program(run_of(directory.file("absent"), directory.file("socket"))).wait();
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.errors, "orrery-container-nf: " + directory.file("absent") + " cannot be read\n");
}

TEST(Commands, AnAbsentInterfaceMayBeThereNextTime) {
  TemporaryDirectory directory;
  std::ofstream(directory.file("instance.json")) << R"({"nf": "monitor", "config": {}})";
  const Ended ended = Program(run_of(directory.file("instance.json"), directory.file("socket"))).wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.errors, "orrery-container-nf: there is no interface near\n");
}

TEST(Commands, AKilledOneLeavesNothingInTheWayOfTheNext) {
  Network network;
  TemporaryDirectory directory;
  std::ofstream(directory.file("instance.json")) << R"({"nf": "monitor", "config": {}})";
  const auto arguments = run_of(directory.file("instance.json"), directory.file("socket"));
  for (int i = 0; i < 3; ++i) {
    Program program(arguments);
    EXPECT_EQ(program.line(), "orrery-container-nf runs");
    program.signal(SIGKILL);
    EXPECT_EQ(program.wait().status, 128 + SIGKILL);
  }
}

}  // namespace
}  // namespace orrery::container_nf::testing
