// SPDX-License-Identifier: Apache-2.0
// The whole command line: finds the command, parses its options, runs it, prints its error.
#pragma once

namespace gradstone {

int run_command_line(int argc, char** argv);  // answers the exit code

}  // namespace gradstone
