// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "results/machine.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

class Machine : public FolderTest {
 protected:
  void write(const std::string& file, std::string_view text) const {
    std::filesystem::create_directories((folder / file).parent_path());
    std::ofstream(folder / file) << text;
  }
};

TEST_F(Machine, IsReadFromProcAndSys) {
  std::string cpuinfo;
  for (const std::string line : {"0\nphysical id\t: 0\ncore id\t: 0", "1\nphysical id\t: 0\ncore id\t: 1",
                                 "2\nphysical id\t: 1\ncore id\t: 0", "3\nphysical id\t: 0\ncore id\t: 0"})
    cpuinfo += "processor\t: " + line + "\nmodel name\t: Some CPU @ 2.5GHz\nflags\t\t:\n\n";
  write("proc/cpuinfo", cpuinfo);
  write("proc/meminfo", "MemTotal:        8000000 kB\nMemFree:         100 kB\n");
  write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  write("proc/sys/kernel/randomize_va_space", "2\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  write("sys/devices/system/cpu/smt/active", "1\n");
  write("sys/devices/system/node/node0/cpulist", "0-1\n");
  write("sys/devices/system/node/node12/cpulist", "2-3\n");
  write("sys/devices/system/node/node_other", "");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(describe_machine(folder).dump(),
            R"({"cpu":"Some CPU @ 2.5GHz","logical_cpus":4,"cores":3,"memory_bytes":8192000000,)"
            R"("kernel":"6.1.0-18-amd64","governor":"performance","smt":true,"numa_nodes":2,)"
            R"("transparent_huge_pages":"madvise","aslr":2})");
}

TEST_F(Machine, WhatCannotBeReadIsNull) {
  EXPECT_EQ(describe_machine(folder).dump(),
            R"({"cpu":null,"logical_cpus":null,"cores":null,"memory_bytes":null,"kernel":null,"governor":null,)"
            R"("smt":null,"numa_nodes":null,"transparent_huge_pages":null,"aslr":null})");
}

TEST_F(Machine, NonsenseIsNull) {
  write("proc/cpuinfo", "no colon here\n:\n");
  write("proc/meminfo", "MemTotal: lots kB\n");
  write("proc/sys/kernel/randomize_va_space", "yes\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "]always[\n");
  const auto machine = describe_machine(folder);
  for (const auto& [name, value] : machine.items()) EXPECT_TRUE(value.is_null()) << name;
}

TEST_F(Machine, ThisOneHasProcessorsAndMemory) {
  if (!std::filesystem::exists("/proc/cpuinfo")) GTEST_SKIP() << "no /proc";
  const auto machine = describe_machine();
  EXPECT_GE(machine.at("logical_cpus").get<std::int64_t>(), 1);
  EXPECT_GE(machine.at("memory_bytes").get<std::int64_t>(), 1 << 20);
}

}  // namespace
}  // namespace shardmark::results
