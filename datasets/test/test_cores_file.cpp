// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "datasets/cores_file.hpp"
#include "datasets/npy.hpp"
#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

class ImportFiles : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  /// A file as numpy.save writes it.
  template <class T>
  void save(const std::string& header, const std::vector<T>& values) const {
    std::string text = "\x93NUMPY";
    text += std::string("\x01\x00", 2) + static_cast<char>(header.size() + 1) + '\0' + header + '\n';
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    write(text);
  }
  std::string refusal() const {
    try {
      read_npy(path_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  std::string path_ = testing::TempDir() + "shardmark_import";
};

TEST_F(ImportFiles, MatricesOfNumpyAreRead) {
  save<float>("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", {1, 2, 3, 4, 5, 6.5});
  const Matrix matrix = read_npy(path_);
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.columns, 3);
  EXPECT_EQ(matrix.values, (std::vector<float>{1, 2, 3, 4, 5, 6.5}));
  save<double>("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }", {1, 2, 0.25});
  EXPECT_EQ(read_npy(path_).values, (std::vector<float>{1, 2, 0.25}));
}

TEST_F(ImportFiles, OtherFilesAreRefusedByName) {
  write("id,value\n1,2\n");
  EXPECT_EQ(refusal(), path_ + ": is no file of numpy.save");
  for (const char* header : {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                             "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }"}) {
    save<float>(header, {1, 2, 3, 4, 5, 6});
    EXPECT_NE(refusal().find("holds no matrix"), std::string::npos) << refusal();
  }
  save<float>("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(refusal(), path_ + ": ends after 6 of 8 values");
  save<float>("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }", {});
  EXPECT_NE(refusal().find("shape"), std::string::npos) << refusal();
  write("");
  EXPECT_EQ(refusal(), path_ + ": ends too early");
}

TEST_F(ImportFiles, CoresComeBack) {
  const Table table{.name = "x", .rows = 50, .dim = 8, .storage = Storage::tt, .tensor_train = {.ranks = {3, 2}}};
  std::vector<float> values;
  for (int i = 0; i < 400; ++i) values.push_back(static_cast<float>(i * 37 % 101));
  const DecomposedTable tt = tt_svd(table, values);
  write_cores(path_, table, tt);
  const DecomposedTable read = read_cores(path_, table);
  EXPECT_EQ(read.shape, tt.shape);
  EXPECT_EQ(read.cores, tt.cores);
  Table other = table;
  other.rows = 51;
  try {
    read_cores(path_, other);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), path_ + ": holds cores of 50 rows of 8 columns, but table x has 51 of 8");
  }
  write("no HDF5");
  EXPECT_THROW(read_cores(path_, table), InputError);
}

}  // namespace
}  // namespace shardmark::datasets
