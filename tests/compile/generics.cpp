// SPDX-License-Identifier: Apache-2.0
//
// The test of the type-generic routines compiled as C++, where they are overloads and not _Generic
// macros.
#include "generics.c"
