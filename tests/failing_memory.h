// SPDX-License-Identifier: MIT
// Memory that runs out at the n-th request, and a count of what was taken and not given back. The linker puts these in
// place of malloc and its sisters and of pthread_create (failing_memory_args in meson.build); libraries below ours are
// not affected.
#ifndef PFLD_TESTS_FAILING_MEMORY_H
#define PFLD_TESTS_FAILING_MEMORY_H

// From now on the n-th request fails, once (0: none does).
void memory_fails_at(long n);
// No request fails from now on; returns how many there were.
long memory_works_again(void);
// Blocks that are held now.
long memory_num_held(void);

#endif
