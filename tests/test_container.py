import socket
import struct

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.sandbox.container import Frames, Report, Stream

FRAMES = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=20)


@given(FRAMES, st.lists(st.integers(1, 50), min_size=1))
def test_streams_come_apart_however_the_bytes_arrive(
    frames: list[tuple[int, bytes]], sizes: list[int]
) -> None:
    wire = b"".join(struct.pack(">BxxxI", number, len(data)) + data for number, data in frames)
    streams = {1: Stream(1000), 2: Stream(1000)}
    taken = Frames(streams)
    turn = 0
    while wire:
        size = sizes[turn % len(sizes)]
        taken.feed(wire[:size])
        wire, turn = wire[size:], turn + 1
    for number, stream in streams.items():
        said = b"".join(data for of, data in frames if of == number)
        assert (bytes(stream.kept), stream.total) == (said, len(said))


def test_a_stream_keeps_its_start_and_counts_the_rest() -> None:
    stream = Stream(5)
    for _ in range(3):
        stream.take(b"abc")
    assert (bytes(stream.kept), stream.total) == (b"abcab", 9)


def test_only_the_first_to_report_is_heard() -> None:
    with Report() as report:
        for said in (b"up\nexit 0 0\n", b"failed 2\n"):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(report.path))
                connection.sendall(said)
        assert report.lines() == [b"up", b"exit 0 0"]
        folder = report.path.parent
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


def test_nothing_said_is_no_line() -> None:
    with Report() as report:
        assert report.lines() == []
