// SPDX-License-Identifier: Apache-2.0
#include "engines/reference/bundle.h"

#include <cstring>
#include <new>

namespace gradstone::reference {
namespace {

Error out_of_memory(const std::string& place) {
  return {ErrorKind::kOutOfMemory, place + ": an allocation failed; take a smaller batch"};
}

}  // namespace

Result<std::unique_ptr<Bundle>> ReferenceBundle::load(const BundleSpec& spec,
                                                      const BundleOptions& options,
                                                      const std::shared_ptr<Profile>& profile) {
  try {
    auto bundle = std::unique_ptr<ReferenceBundle>(new ReferenceBundle(options.seed, profile));
    const auto pool = std::make_shared<kernels::BufferPool>();
    for (const ProgramSpec& program : spec.programs) {
      bundle->programs_.push_back(
          TRY(LoadedProgram::make(program, options, bundle->variables_, pool)));
    }
    pool->allocate();
    return std::unique_ptr<Bundle>(std::move(bundle));
  } catch (const std::bad_alloc&) {
    return out_of_memory("load");
  }
}

Status ReferenceBundle::run(const RunRequest& request) {
  TRY(check_program_index(request.program, programs_.size()));
  try {
    return programs_[request.program].run(request, seed_, *profile_);
  } catch (const std::bad_alloc&) {
    return out_of_memory("run");
  }
}

Status ReferenceBundle::read(std::string_view variable, TensorSink sink) {
  const Variable* source = TRY(variables_.to_read(variable, sink.type));
  if (sink.data != nullptr) std::memcpy(sink.data, source->value.data(), sink.type.bytes());
  return {};
}

Status ReferenceBundle::write(std::string_view variable, const TensorRef& value) {
  Variable* target = TRY(variables_.to_write(variable, value.type));
  std::memcpy(target->value.data(), value.data, value.type.bytes());
  target->defined = true;
  return {};
}

Result<TensorType> ReferenceBundle::type_of(std::string_view variable) const {
  return variables_.type_of(variable);
}

}  // namespace gradstone::reference
