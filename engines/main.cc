// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_main.h"

int main(int argc, char** argv) { return gradstone::worker_main(argc, argv); }
