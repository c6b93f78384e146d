// SPDX-License-Identifier: Apache-2.0
#include "run/environment.h"

#include <unistd.h>

#include <map>
#include <string>
#include <string_view>

namespace gradstone {
namespace {

// Starts of names: of thread pools, BLAS and kernel libraries, allocators, the loader, accelerators.
constexpr std::string_view kPrefixes[] = {
    "OMP_",  "GOMP_",   "KMP_",  "MKL_",    "OPENBLAS_", "GOTO_",  "BLIS_",
    "DNNL_", "ONEDNN_", "XLA_",  "TBB_",    "MALLOC_",   "GLIBC_", "LD_",
    "CUDA_", "CUDNN_",  "NCCL_", "NVIDIA_", "MPI_",      "OMPI_",  "GRADSTONE_"};

}  // namespace

Json environment_that_matters() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    for (const std::string_view prefix : kPrefixes) {
      if (text.starts_with(prefix)) found.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return found;
}

}  // namespace gradstone
