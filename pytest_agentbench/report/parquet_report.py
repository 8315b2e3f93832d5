"""Parquet: the table of trials for data frames. Needs the extra ``parquet``."""

from __future__ import annotations

from typing import Any, BinaryIO

from pytest_agentbench import __version__
from pytest_agentbench.record import SCHEMA_VERSION
from pytest_agentbench.report.flat import COLUMNS, row
from pytest_agentbench.report.reader import RunReader
from pytest_agentbench.report.run import RunError
from pytest_agentbench.text import encodable

_BATCH = 10_000


def write(run: RunReader, out: BinaryIO) -> None:
    """The columns of the CSV with types; unknown is null. Raises ``RunError``."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise RunError(
            "the format parquet needs pyarrow: pip install 'pytest-agentbench[parquet]'"
        ) from error
    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    kinds[bool] = pyarrow.bool_()
    metadata = {"agentbench": __version__, "schema": SCHEMA_VERSION}
    schema = pyarrow.schema([(c.name, kinds[c.kind]) for c in COLUMNS], metadata=metadata)
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        rows: list[list[Any]] = []
        for trial, record in run.pairs():
            rows.append(row(trial, record))
            if len(rows) == _BATCH:
                writer.write_batch(_batch(pyarrow, schema, rows))
                rows.clear()
        if rows:
            writer.write_batch(_batch(pyarrow, schema, rows))


def _batch(pyarrow: Any, schema: Any, rows: list[list[Any]]) -> Any:
    arrays = []
    for column, values, field in zip(COLUMNS, zip(*rows, strict=True), schema, strict=True):
        cells = list(values)
        if column.kind is str:
            cells = list(map(encodable, values))
        elif column.kind is float:
            cells = [None if value is None else float(value) for value in values]
        arrays.append(pyarrow.array(cells, field.type))
    return pyarrow.record_batch(arrays, schema=schema)
