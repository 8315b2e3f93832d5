"""The adaptation contract as a test suite, for whoever writes an adapter.

    pytest --pyargs pytest_agentbench.conformance --runtime=NAME

It runs small scripted tasks on the runtime, through the same runner, gateway and sandbox as every
benchmark, and holds what comes of them against the clauses of the contract (docs/conformance.md).
"""
