// SPDX-License-Identifier: Apache-2.0
// A loaded bundle: the variable store and the programs over it.
#pragma once

#include <memory>
#include <vector>

#include "engines/reference/loaded_program.h"
#include "engines/reference/variables.h"
#include "worker/engine.h"

namespace gradstone::reference {

class ReferenceBundle : public Bundle {
 public:
  // Events go to `profile` while it holds a list.
  static Result<std::unique_ptr<Bundle>> load(const BundleSpec& spec, const BundleOptions& options,
                                              const std::shared_ptr<Profile>& profile);

  Status run(const RunRequest& request) override;
  Status synchronise() override { return {}; }  // run() returns when all is done
  Status read(std::string_view variable, TensorSink sink) override;
  Status write(std::string_view variable, const TensorRef& value) override;
  Result<TensorType> type_of(std::string_view variable) const override;

 private:
  ReferenceBundle(std::uint64_t seed, std::shared_ptr<Profile> profile)
      : seed_(seed), profile_(std::move(profile)) {}

  std::uint64_t seed_;
  std::shared_ptr<Profile> profile_;
  VariableTable variables_ = make_variables();
  std::vector<LoadedProgram> programs_;
};

}  // namespace gradstone::reference
