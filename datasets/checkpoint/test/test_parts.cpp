// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "datasets/checkpoint/parts.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

namespace fs = std::filesystem;

/// Two arrays of several blocks each, the second one of 2-byte values without state.
Manifest two_arrays(std::int64_t step) {
  Manifest manifest;
  manifest.step = step;
  manifest.run = {{"seed", 1}};
  manifest.arrays = {saved_array("/tables/users%d", 70'000,
                                 {{"values", hdf5::RowElement::fp32, 3}, {"state", hdf5::RowElement::fp32, 1}}),
                     saved_array("/tables/items", 200'001, {{"values", hdf5::RowElement::bf16, 5}})};
  return manifest;
}

SavedRows rows_of(const Manifest& manifest, const SavedRange& range) {
  SavedRows rows = room_for(manifest.arrays[range.array], range.count);
  for (std::size_t f = 0; f < rows.size(); ++f)
    for (std::size_t i = 0; i < rows[f].size(); ++i) {
      const auto at =
          rows[f].size() / static_cast<std::size_t>(range.count) * static_cast<std::size_t>(range.first) + i;
      rows[f][i] = static_cast<std::byte>((at * 2654435761U >> 13) + static_cast<std::size_t>(manifest.step) + f);
    }
  return rows;
}

SavedPart write_part(const std::string& folder, const Manifest& manifest, SavedPart part, const FileSteps& before) {
  PartWriter writer(folder, manifest, part, before);
  for (const SavedRange& range : part.ranges) {
    const std::int64_t block = manifest.arrays[range.array].block_rows;
    for (std::int64_t first = range.first; first < range.end(); first += block) {
      const SavedRange blocks{range.array, first, std::min(block, range.end() - first)};
      writer.write(blocks, rows_of(manifest, blocks));
    }
  }
  SavedPart written = writer.close();
  writer.commit();
  return written;
}

/// Saves as two ranks would: the second array is cut between its blocks.
void save(const std::string& folder, std::int64_t step, const FileSteps& before = {}) {
  Manifest manifest = two_arrays(step);
  const std::string own = step_folder(folder, step);
  make_folder(own);
  const std::int64_t cut = manifest.arrays[1].block_rows;
  manifest.parts = {write_part(own, manifest, {"part-00000.h5", 0, "", {{0, 0, 70'000}, {1, 0, cut}}}, before),
                    write_part(own, manifest, {"part-00001.h5", 0, "", {{1, cut, 200'001 - cut}}}, before)};
  write_index(own, manifest, before);
  write_manifest(own, manifest, before);
}

void expect_whole(const std::string& folder, std::int64_t step) {
  const CheckpointReader reader(folder);
  ASSERT_EQ(reader.manifest().step, step);
  EXPECT_EQ(reader.damages(), std::vector<std::string>{});
  for (const SavedRange& range : {SavedRange{0, 0, 70'000}, SavedRange{1, 0, 200'001}})
    EXPECT_EQ(reader.read(range), rows_of(reader.manifest(), range)) << step;
}

void change_byte(const std::string& file, std::size_t from_end) {
  std::string text = slurp(file);
  text[text.size() - from_end] ^= 1;
  std::ofstream(file, std::ios::binary) << text;
}

class Parts : public DatasetTest {};

TEST_F(Parts, RowsComeBackBitForBitAndTheIndexShowsThemAsOneArray) {
  save(path("a"), 3);
  save(path("a"), 12);
  EXPECT_EQ(saved_steps(path("a")), (std::vector<std::int64_t>{3, 12}));
  expect_whole(path("a"), 12);
  expect_whole(step_folder(path("a"), 3), 3);
  const Manifest manifest = two_arrays(3);
  const auto index = hdf5::File::open(step_folder(path("a"), 3) + "/index.h5");
  for (std::int64_t a = 0; a < 2; ++a) {
    const SavedArray& array = manifest.arrays[a];
    const SavedRows wanted = rows_of(manifest, {a, 0, array.rows});
    for (std::size_t f = 0; f < array.fields.size(); ++f) {
      Bytes seen(wanted[f].size());
      const SavedField& field = array.fields[f];
      hdf5::RowData::open(index, array.path + "/" + field.name, field.type, array.rows, field.elements).read(0, seen);
      EXPECT_TRUE(seen == wanted[f]) << array.path << " " << field.name;
    }
  }
}

TEST_F(Parts, WhatIsNotWhatWasWrittenIsNamed) {
  save(path("a"), 3);
  save(path("b"), 4);
  const std::string own = step_folder(path("a"), 3), part = own + "/part-00001.h5", other = path("part");
  const auto error = [&] { return error_of([&] { CheckpointReader(path("a")).read({1, 0, 200'001}); }); };
  const std::string whole = slurp(part);
  const auto bring_back = [&] { std::ofstream(part, std::ios::binary) << whole; };

  std::size_t at = whole.size() / 2;  // of the rows, which are most of the file
  change_byte(part, at);
  EXPECT_CONTAINS(error(), "part-00001.h5: /tables/items: rows 1");
  EXPECT_CONTAINS(error(), "are damaged");
  ASSERT_EQ(CheckpointReader(path("a")).damages().size(), 1U);
  fs::resize_file(part, at);
  EXPECT_CONTAINS(error(), "part-00001.h5: this part has " + std::to_string(at) + " bytes, and ");
  fs::remove(part);
  EXPECT_CONTAINS(error(), "part-00001.h5: this part is missing");
  fs::copy_file(step_folder(path("b"), 4) + "/part-00001.h5", part);
  EXPECT_CONTAINS(error(), "part-00001.h5: this part is of another checkpoint");
  bring_back();
  EXPECT_EQ(error(), "no error");

  change_byte(own + "/manifest.json", 400);
  EXPECT_CONTAINS(error(), "manifest.json: is damaged");
  std::ofstream(own + "/manifest.json") << "{}";
  EXPECT_CONTAINS(error(), "manifest.json: is no manifest");
  fs::remove(own + "/manifest.json");
  EXPECT_CONTAINS(error(), "step-00000003 has no manifest.json, as its save was cut off");
  EXPECT_CONTAINS(error_of([&] { CheckpointReader(path("nowhere")); }), "nowhere: is no folder");
}

TEST_F(Parts, ADifferenceIsNamedByArrayAndRow) {
  save(path("a"), 3);
  save(path("b"), 3);
  EXPECT_TRUE(differences(CheckpointReader(path("a")), CheckpointReader(path("b"))).empty());
  save(path("c"), 4);
  const auto found = differences(CheckpointReader(path("a")), CheckpointReader(path("c")));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].path, "/tables/items");
  EXPECT_EQ(found[1].rows, 200'001);
  EXPECT_EQ(found[1].first_row, 0);
}

TEST_F(Parts, AKillAtAnyWriteSyncOrRenameLeavesTheCheckpointBefore) {
  int killed = 0;
  for (bool finished = false; !finished; ++killed) {
    const std::string folder = path(std::to_string(killed));
    save(folder, 3);
    const pid_t child = fork();
    if (child == 0) {
      int left = killed;  // for the files of all writers
      save(folder, 12, [&left](std::string_view) {
        if (left-- == 0) _exit(9);
      });
      remove_old_checkpoints(folder, 1);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const bool renamed = saved_steps(folder).back() == 12;
    expect_whole(folder, renamed ? 12 : 3);
    if (finished) {
      EXPECT_EQ(saved_steps(folder), std::vector<std::int64_t>{12});
      continue;
    }
    save(folder, 5);  // as the next run would
    remove_old_checkpoints(folder, 2);
    EXPECT_EQ(saved_steps(folder), (renamed ? std::vector<std::int64_t>{5, 12} : std::vector<std::int64_t>{3, 5}));
    EXPECT_EQ(fs::exists(step_folder(folder, 12)), renamed) << "what a save left that was cut off";
    fs::remove_all(folder);
  }
  EXPECT_GT(killed, 15);
}

}  // namespace
}  // namespace shardmark::datasets
