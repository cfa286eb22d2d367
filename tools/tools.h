/* SPDX-License-Identifier: MIT */
/*
 * tools.h - the subcommands of progpack
 *
 * argv[0] is the subcommand's name. Each returns the exit status: an enum cli_status.
 */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

int run_main(int argc, char **argv);
int dump_main(int argc, char **argv);
int heap_command_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int map_main(int argc, char **argv);
int plugin_main(int argc, char **argv);

#endif
