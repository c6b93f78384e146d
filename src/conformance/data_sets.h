// SPDX-License-Identifier: Apache-2.0
// Where data sets of a conformance suite lie: SUITE/MODEL/model.onnx, SUITE/MODEL/test_data_set_N/
// {input,output}_I.pb, as ONNX keeps its own. Finds files, opens none.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gradstone {

struct DataSetFiles {
  std::string name;  // "node/test_relu"; of data sets after the first "node/test_relu/1"
  std::string model;
  std::vector<std::string> inputs, outputs;  // in order
};

// ONNX's suites of one operator, and of small models.
std::vector<std::string> default_suites();

// By suite, in order; names sorted within each. Failed, with how to get it, for a folder that is not
// there or holds no data set.
Result<std::vector<DataSetFiles>> find_data_sets(const std::vector<std::string>& suites);

}  // namespace gradstone
