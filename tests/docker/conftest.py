"""These tests need the engine that ``make test-docker`` starts, and fail without it."""

import os

collect_ignore = (
    [] if "AGENTBENCH_TEST_DOCKER" in os.environ else ["test_sandbox.py", "test_runs.py"]
)
