/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of shmemx_moe_create and its relatives (shmemx.h), which send tokens to experts on
 * other PEs. Invariant: a view is copied to kernels by value, and its pointers are of the PE's
 * device. Included by shmemx.h; meshmem/moe.hpp has the functions for kernels.
 */
#ifndef MESHMEM_SHMEM_MOE_H
#define MESHMEM_SHMEM_MOE_H

#include <stddef.h>

#include "shmem/constants.h"

/* Types of elements. The library only moves FP8, with a float as the scale of each 128 elements of
 * a token. The last scale of a token may be of fewer elements. */
#define SHMEMX_MOE_FLOAT 1
#define SHMEMX_MOE_HALF 2
#define SHMEMX_MOE_BFLOAT16 3
#define SHMEMX_MOE_FP8 4
#define SHMEMX_MOE_SCALED_ELEMENTS 128
/* Most choices of a token. */
#define SHMEMX_MOE_MOST_CHOICES 16

/* Bits of the status. BAD_INDEX: an index was neither -1 nor the number of an expert. */
#define SHMEMX_MOE_BAD_INDEX 1

/* The same on all PEs of the team. */
typedef struct {
  int type;        /* of tokens: SHMEMX_MOE_FLOAT, _HALF, _BFLOAT16, or _FP8, which is e4m3 */
  int result_type; /* of results and sums, not FP8; 0: `type`, and BFLOAT16 for FP8 */
  int hidden;      /* elements of a token: 1 to 2^20 */
  int top_k;       /* choices of a token: 1 to SHMEMX_MOE_MOST_CHOICES */
  int experts;     /* of all PEs: 1 to 4,096 */
  int max_tokens;  /* most tokens that a PE has in a round: at least 1 */
  int capacity;    /* most rows of an expert. 0: any number, with room for the worst case */
  int max_blocks;  /* most blocks of a kernel; 0: the library chooses */
} shmemx_moe_shape_t;

/* For meshmem/moe.hpp: a choice of this PE's tokens is row number `rank` of those that this PE has
 * for the expert. expert: -1 for nobody. */
typedef struct {
  int expert, rank;
} shmemx_moe_choice_t;
/* For meshmem/moe.hpp: an expert. Its PE in the world, and the first expert of that PE. Of the last
 * plan: all PEs' rows for it, the row at which those of this PE begin, and how many of these it
 * takes. */
typedef struct {
  int pe, first_of_pe;
  int rows, begin, room;
} shmemx_moe_expert_t;

/* The memory and numbers of a shmemx_moe_t, for kernels. */
typedef struct {
  shmemx_moe_shape_t shape;
  shmem_team_t team;
  int me, n_pes;                   /* in the team */
  int first_expert, local_experts; /* of this PE */
  int max_rows;                    /* for which `rows` and `results` have room */
  int scales_of_row;               /* 0 unless `type` is FP8 */
  size_t row_bytes, result_bytes;  /* of a row of `rows` and of `results` */
  /* Symmetric: the rows that dispatch brings and their scales, [max_rows][hidden] and
   * [max_rows][scales_of_row]; and a place for the experts' results, [max_rows][hidden]. */
  void* rows;
  float* row_scales;
  void* results;
  /* Of the last plan. Local expert i has counts[i] rows from row offsets[i] on, of which there are
   * local_experts + 1; the last offset is behind all. */
  int* counts;
  int* offsets;
  int* dropped; /* choices of this PE's tokens that found no room in an expert */
  int* status;  /* SHMEMX_MOE_* bits that were set since the program last cleared them */

  /* The rest is for meshmem/moe.hpp. */
  int* tokens; /* of the last plan */
  shmemx_moe_choice_t* choices;
  shmemx_moe_expert_t* placed;
  int *my_counts, *all_counts; /* [experts], and the same of all PEs */
  void* stage;                 /* rows from far PEs, top_k for each block; null if no PE is far */
  size_t stage_bytes;          /* of a row there */
  int stage_blocks;
} shmemx_moe_view_t;

#endif
