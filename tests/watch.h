// SPDX-License-Identifier: MIT
// Between begin and end nothing may end the program or print. exit(), abort() and _exit() here take the place of the C
// library's, for libpfld and for the codecs below it; standard output and error go into a file that must stay empty.
#ifndef TESTS_WATCH_H
#define TESTS_WATCH_H

#include <stdio.h>

enum { WATCHED_EXIT = 70, WATCHED_ABORT = 71 }; // what the process ends with

extern FILE *watch_caught; // what was printed since begin
void begin_watching(void);
void end_watching(void); // fails the test when something was printed

#endif
