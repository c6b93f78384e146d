// SPDX-License-Identifier: Apache-2.0
// What is known of the framework that this worker has loaded: what it says of itself and which
// libraries lie in memory.
#pragma once

#include <map>
#include <string>

namespace gradstone::torch_engine {

// BLAS, OpenMP, oneDNN, threads, build, and the environment variables that steer them.
std::map<std::string, std::string> framework_facts();

// OpenBLAS keeps a thread pool of its own that the framework does not know of.
void set_blas_threads(int threads);

}  // namespace gradstone::torch_engine
