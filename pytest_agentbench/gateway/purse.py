"""Keeps account of a budget: of one run's, or of all runs of a test run together."""

from __future__ import annotations

from pytest_agentbench.gateway.chat import BackendError
from pytest_agentbench.gateway.report import BUDGET_CODE, RUN_BUDGET_CODE, CallReport
from pytest_agentbench.spending import RUN_SPENT, Budget, Price

#: What clients do not try again, as they do 429 and 5xx.
_PAYMENT_REQUIRED = 402


class Purse:
    """Calls are refused once the budget is used up; one that is under way is not cut off."""

    def __init__(self, budget: Budget | None = None, *, whole_run: bool = False) -> None:
        self.budget = budget or Budget()
        self._whole_run = whole_run
        self._tokens = 0
        self._requests = 0
        self._usd = 0.0

    def check(self) -> None:
        """Raises ``BackendError`` if nothing is left."""
        words = self.budget.used_up(self._tokens, self._requests, self._usd)
        if words:
            said = RUN_SPENT if self._whole_run else "the trial's budget is used up"
            code = RUN_BUDGET_CODE if self._whole_run else BUDGET_CODE
            raise BackendError(_PAYMENT_REQUIRED, f"{said}: {words}", code)

    def pay(self, call: CallReport, price: Price | None) -> None:
        """Count a call that has ended. What it does not say, it does not cost."""
        if call.code in (BUDGET_CODE, RUN_BUDGET_CODE):
            return  # it was refused, by this purse or another
        self._requests += 1
        if call.usage is not None:
            self._tokens += call.usage.known_tokens
            self._usd += (price.cost(call.usage) if price else None) or 0.0
