"""What the lines of a gateway's process share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pytest_agentbench.gateway.deck import Deck
from pytest_agentbench.gateway.purse import Purse

if TYPE_CHECKING:
    from aiohttp import ClientSession


class Host:
    """Connections to providers, kept open from one call to the next; a deck for cassettes; the
    purse of the run; and the turns of judges."""

    def __init__(self) -> None:
        self.purse = Purse(whole_run=True)
        self.deck = Deck()
        self._session: ClientSession | None = None
        self._judges: asyncio.Semaphore | None = None

    def judges(self, places: int) -> asyncio.Semaphore:
        """At most ``places`` calls of judges at once: as whoever asked first said."""
        if self._judges is None:
            self._judges = asyncio.Semaphore(places)
        return self._judges

    @property
    def session(self) -> ClientSession:
        """For use in the loop of the gateway alone."""
        if self._session is None:
            from aiohttp import ClientSession, DummyCookieJar, TCPConnector

            # As many connections as there are calls: what limits them is not the gateway's to say.
            connector = TCPConnector(limit=0)
            self._session = ClientSession(connector=connector, cookie_jar=DummyCookieJar())
        return self._session

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
