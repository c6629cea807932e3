#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# in_gaps.sh COMMAND [ARGUMENTS...]: runs it on the processors while nothing else asks for them. For tests that only
# compile, which take minutes, beside tests that wait for each other most of their time.
chrt --idle 0 true 2>/dev/null && exec chrt --idle 0 "$@"
exec nice -n 19 "$@"
