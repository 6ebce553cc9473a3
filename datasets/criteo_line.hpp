// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark::datasets {

/// Receives the fields of one line.
struct CriteoLine {
  std::uint8_t label = 0;
  float* dense = nullptr;        ///< [13]
  std::uint32_t categories[26];  ///< the hex values, 0 when missing
  std::uint64_t missing = 0;     ///< bit f: field f is empty
};

/// Says what all lines of a file have in common.
struct CriteoForm {
  bool labelled = true;   ///< a label before the 39 fields
  char separator = '\t';  ///< or a comma
};

/// Scans [begin, end), a line without its end; *end must be readable, and no digit, hex digit or separator. Returns
/// false when the line is malformed; parts of `line` are then overwritten.
bool parse_criteo_line(const char* begin, const char* end, CriteoForm form, CriteoLine& line);

/// Returns what is wrong with a line that parse_criteo_line refused: it names the field and quotes it.
std::string explain_criteo_line(std::string_view text, CriteoForm form);

/// Returns the form of a line by its separators; empty where it has neither 39 nor 40 fields.
std::optional<CriteoForm> form_of_criteo_line(std::string_view text);

/// Returns whether a line of this form holds names: no label and no integer is a number or empty.
bool is_criteo_header(std::string_view text, CriteoForm form);

inline constexpr int criteo_dense = 13;       ///< integer columns I1..I13
inline constexpr int criteo_categories = 26;  ///< categorical columns C1..C26
inline constexpr int criteo_fields = criteo_dense + criteo_categories;

using CriteoRows = std::array<std::int64_t, criteo_categories>;

/// Holds the rows of the 26 tables, in the order of the columns.
struct CriteoCardinalities {
  std::string_view name;
  std::string_view description;
  CriteoRows rows;
};

inline constexpr std::array criteo_cardinalities{
    CriteoCardinalities{"kaggle",
                        "Criteo Kaggle display advertising challenge, 33,762,577 rows (DLRM)",
                        {1460,  583,     10131227, 2202608, 305,  24, 12517,   633, 3,  93145,  5683, 8351593, 3194, 27,
                         14992, 5461306, 10,       5652,    2173, 4,  7046547, 18,  15, 286181, 105,  142572}},
    CriteoCardinalities{
        "terabyte",
        "Criteo 1 TB, all ids, 882,774,559 rows",
        {227605432, 39060, 17295, 7424, 20265, 3,  7122,      1543,     63,        130229467, 3067956, 405282, 10,
         2209,      11938, 155,   4,    976,   14, 292775614, 40790948, 187188510, 590152,    12973,   108,    36}},
    CriteoCardinalities{
        "terabyte_40m",
        "Criteo 1 TB, min(rows, 40 M), 204,184,588 rows (MLPerf DLRM-DCNv2)",
        {40000000, 39060, 17295, 7424, 20265, 3,  7122,     1543,     63,       40000000, 3067956, 405282, 10,
         2209,     11938, 155,   4,    976,   14, 40000000, 40000000, 40000000, 590152,   12973,   108,    36}},
};

/// These are counts of the 45,840,617 lines of the Kaggle training file, as in the public notebook
/// github.com/ansjory/w261_project, submission/fpj_workbook.ipynb (cell "look at missing statistics").
namespace kaggle_statistics {

inline constexpr std::int64_t samples = 45840617;
inline constexpr std::int64_t positives = 11745438;

/// Counts the empty fields of I1..I13, C1..C26. Columns with the same count are empty together in the lines that the
/// notebook shows.
inline constexpr std::array<std::int64_t, criteo_fields> missing{
    20793556, 0,        9839447,  9937369, 1183117,  10252328, 1982866, 22773,    1982866, 20793556,
    1982866,  35071652, 9937369,  0,       0,        1559473,  1559473, 0,        5540625, 0,
    0,        0,        0,        0,       1559473,  0,        0,       0,        1559473, 0,
    0,        20172858, 20172858, 1559473, 34955073, 0,        1559473, 20172858, 20172858};

/// These are the mean and maximum of I1..I13 where present, in the notebook's sample of 459,205 lines.
inline constexpr std::array<double, criteo_dense> mean{3.476,  106.285, 26.600, 7.330, 18447.9, 115.409, 16.436,
                                                       12.511, 106.338, 0.617,  2.746, 0.978,   8.215};
inline constexpr std::array<std::int64_t, criteo_dense> maximum{640,  21478, 65535, 707, 2311254, 48611, 10625,
                                                                6047, 25618, 8,     136, 329,     6968};

}  // namespace kaggle_statistics

/// Returns "I3" or "C17" for field 0..38 (the fields after the label).
std::string criteo_field_name(int field);

}  // namespace shardmark::datasets
