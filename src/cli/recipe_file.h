// SPDX-License-Identifier: Apache-2.0
// Recipe files: how a person's own model is trained, in TOML. docs/onnx.md lists the keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recipe/recipe.h"

namespace gradstone {

struct RecipeFile {
  Recipe recipe;
  bool states_batch = false;  // the file names a batch size
  std::string loss, labels, batch_norm;
  std::vector<std::string> freeze;
};

// Errors name line or key.
Result<RecipeFile> parse_recipe_file(std::string_view text);
Result<RecipeFile> read_recipe_file(const std::string& path);

}  // namespace gradstone
