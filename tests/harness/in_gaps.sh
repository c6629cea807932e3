#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# in_gaps.sh COMMAND [ARGUMENTS...]: runs the command while processors are idle, or else with the lowest priority. For
# tests that only compile, which take minutes, beside tests that mostly wait for each other.
chrt --idle 0 true 2>/dev/null && exec chrt --idle 0 "$@"
exec nice -n 19 "$@"
