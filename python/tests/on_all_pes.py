# SPDX-License-Identifier: Apache-2.0
"""Random examples for tests that run on all PEs, as Hypothesis draws them."""
import functools
import sys
import traceback

import meshmem
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import UnsatisfiedAssumption


def on_all_pes(max_examples=40, **strategies):
    """Draws examples in the same order on all PEs. A failure ends the job at once: Hypothesis would
    repeat the example on this PE alone."""
    def decorate(check):
        @functools.wraps(check, assigned=("__name__", "__module__", "__doc__"), updated=())
        def ends_the_job(**drawn):
            try:
                check(**drawn)
            except UnsatisfiedAssumption:  # Hypothesis draws another example, on all PEs
                raise
            except (Exception, pytest.fail.Exception):
                print(f"PE {meshmem.my_pe()}: {drawn}\n{traceback.format_exc()}",
                      file=sys.__stderr__, flush=True)
                meshmem.global_exit(1)
        del ends_the_job.__wrapped__
        return settings(derandomize=True, database=None, deadline=None, max_examples=max_examples,
                        phases=[Phase.generate],
                        suppress_health_check=list(HealthCheck))(given(**strategies)(ends_the_job))
    return decorate
