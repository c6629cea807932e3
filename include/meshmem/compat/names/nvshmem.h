/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs of NVSHMEM include. Invariant: oshhip alone has this folder among those that it
 * searches for headers, and behind the program's own.
 */
#include "meshmem/compat/nvshmem.h"
