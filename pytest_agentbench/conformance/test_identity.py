"""Identity: which program it is, which model it asks, and as whom."""

from __future__ import annotations

import pytest

from pytest_agentbench.conformance.conftest import Contract
from pytest_agentbench.conformance.rig import MODEL, Rig


@pytest.mark.clause("identity.version")
def test_version(contract: Contract, rig: Rig) -> None:
    contract.holds(rig.info.version, "the version is empty")
    contract.holds(rig.info.digest, "the digest is empty")
    again = rig.runtime.probe()
    contract.holds(
        (again.version, again.digest) == (rig.info.version, rig.info.digest),
        f"asked again it is {again.version} {again.digest}, "
        f"not {rig.info.version} {rig.info.digest}",
    )


@pytest.mark.clause("identity.model")
def test_model(contract: Contract, rig: Rig) -> None:
    models = rig.first.heard.models
    contract.holds(models, f"no request reached the gateway; {rig.first.ending}")
    contract.holds(models == (MODEL,), f"asked for {', '.join(models)}, not for {MODEL} alone")


@pytest.mark.clause("identity.token")
def test_token(contract: Contract, rig: Rig) -> None:
    seen = rig.first.execution.observed.get("model_calls", {})
    strangers = seen.get("strangers", 0)
    contract.holds(not strangers, f"{strangers} requests came without it, or with another")
    contract.holds(seen.get("requests"), f"no request reached the gateway; {rig.first.ending}")
