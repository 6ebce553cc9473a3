// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "datasets/checkpoint/parts.hpp"
#include "datasets/criteo_hdf5.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

/// Mounts a file system of so many pages on a folder, for this process alone. False where that is not allowed.
bool mount_disk(const std::string& folder, int pages) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  const std::string size = "size=" + std::to_string(pages * getpagesize());
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

class FullDisk : public DatasetTest {
 protected:
  /// In a process of its own: writes on a small disk, prints the error and what is left on the disk, and ends HDF5,
  /// which crashes when it still has an open file.
  template <class Write>
  [[noreturn]] void run(int pages, Write&& write) const {
    if (!mount_disk(path(""), pages)) {
      std::cerr << "a.h5: /, part-00000.h5: /: cannot write (not tried: no mount). Left: 0";
      std::exit(0);
    }
    const std::string error = error_of(write);
    std::cerr << error << ". Left: " << files().size();
    std::exit(H5close() < 0 ? 1 : 0);
  }
};

TEST_F(FullDisk, AFileOfGroupsAndArraysIsGivenUp) {
  const std::vector<float> values(4000, 1.0F);
  for (const int pages : {1, 2, 3}) {
    const auto write = [&] {
      auto file = hdf5::File::create(path("a.h5"));
      for (const char* group : {"/a", "/b", "/c"}) {
        file.create_group(group);
        file.write_attribute(group, "text", std::string(500, 'x'));
      }
      file.write_array<float>("/a/values", values, {4000});
      file.close();
    };
    EXPECT_EXIT(run(pages, write), testing::ExitedWithCode(0), "a.h5: /.*: cannot .*Left: 1$") << pages << " pages";
  }
}

TEST_F(FullDisk, SamplesAreGivenUpAndLeaveNothing) {
  const std::vector<SparseKey> keys{{"a", 4, 1}};
  Samples samples;
  samples.batch = {.samples = 1 << 16, .features = 1, .offsets = {}, .indices = {}, .weights = {}};
  for (std::int64_t s = 0; s <= samples.batch.samples; ++s) samples.batch.offsets.push_back(s);
  samples.batch.indices.assign(1 << 16, 3);
  samples.labels.assign(1 << 16, 1.0F);
  for (const int pages : {1, 2, 100, 200}) {
    const auto write = [&] {
      SampleFileWriter writer(path("a.h5"), keys, 0, nullptr);
      for (int i = 0; i < 10; ++i) writer.append(samples);
      writer.finish({});
    };
    EXPECT_EXIT(run(pages, write), testing::ExitedWithCode(0), "a.h5: /.*: cannot .*Left: 0$") << pages << " pages";
  }
}

TEST_F(FullDisk, PartsOfCheckpointsAreGivenUpAndLeaveNothing) {
  Manifest manifest;
  manifest.arrays = {saved_array("/tables/t", 70'000, {{"values", hdf5::RowElement::fp32, 3}})};
  const SavedRange all{0, 0, 70'000};
  for (const int pages : {1, 2, 100, 200}) {
    const auto write = [&] {
      PartWriter writer(path(""), manifest, {"part-00000.h5", 0, "", {all}});
      writer.write(all, room_for(manifest.arrays[0], all.count));
      writer.commit();
    };
    EXPECT_EXIT(run(pages, write), testing::ExitedWithCode(0), "part-00000.h5: /.*: cannot .*Left: 0$")
        << pages << " pages";
  }
}

}  // namespace
}  // namespace shardmark::datasets
