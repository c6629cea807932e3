/* SPDX-License-Identifier: Apache-2.0
 *
 * The example programs of the specification, written anew as C11 functions that check themselves.
 * Generic names are used wherever the standard has them.
 * Invariant: an example runs at any number of PEs, is collective, and returns how many things were
 * wrong on this PE. A barrier follows each. Run by spec_examples_test.cpp.
 */
#ifndef MESHMEM_TESTS_API_SPEC_EXAMPLES_H
#define MESHMEM_TESTS_API_SPEC_EXAMPLES_H

#ifdef __cplusplus
extern "C" {
#endif

struct SpecExample {
  const char* name;
  int (*run)(void);
};

/* Each list ends with a null name. */
extern const struct SpecExample transfer_examples[];
extern const struct SpecExample atomic_examples[];
extern const struct SpecExample collective_examples[];
extern const struct SpecExample team_examples[];
extern const struct SpecExample context_examples[];
extern const struct SpecExample wait_examples[];
extern const struct SpecExample lock_examples[];
extern const struct SpecExample profiling_examples[];
extern const struct SpecExample setup_examples[];
extern const struct SpecExample deprecated_examples[];

#ifdef __cplusplus
}
#endif

#endif
