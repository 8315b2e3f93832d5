"""Entry point of the plugin: options, and the decision whether it is used at all.

A project that gives neither ``--runtime`` nor ``[tool.agentbench]`` sees no option, no fixture,
no collector and no import beyond this module and the hook specifications.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_TRIGGER = "--runtime"
_HELP = {"-h", "--help"}


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    # Needed even when inactive: a conftest.py that implements a hook must not be refused.
    from pytest_agentbench import hooks

    pluginmanager.add_hookspecs(hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    # Not pytest_addoption: options with names this short would clash with those of projects
    # that do not use the plugin. An xdist worker has the options' values and no arguments.
    asked = any(arg in _HELP or arg.partition("=")[0] == _TRIGGER for arg in args)
    in_worker = hasattr(early_config.option, "agentbench_runtime")
    if asked or in_worker or _has_table(early_config):
        _add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config.option, "agentbench_runtime"):
        return
    if not config.option.agentbench_runtime and not _has_table(config):
        return  # only --help brought the options
    if config.option.agentbench_dry_run:
        config.option.dist, config.option.tx = "no", []  # the matrix is collected here
    from pytest_agentbench.start import start

    start(config, _table_path(config))


def _table_path(config: pytest.Config) -> Path | None:
    # The file that pytest was configured by may be another one, a pytest.toml say.
    for path in (config.inipath, config.rootpath / "pyproject.toml"):
        is_toml = path is not None and path.suffix == ".toml" and path.is_file()
        if path and is_toml and b"[tool.agentbench" in path.read_bytes():
            return path
    return None


def _has_table(config: pytest.Config) -> bool:
    return _table_path(config) is not None


def _add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentbench", "agent benchmarks")

    def add(name: str, **kw: object) -> None:
        dest = "agentbench_" + name.removeprefix("--").replace("-", "_")
        group.addoption(name, dest=dest, **kw)

    add(
        _TRIGGER,
        action="append",
        default=[],
        metavar="NAME",
        help="agent runtime: a profile of [tool.agentbench.runtimes], an adapter, or "
        "adapter@version (repeatable)",
    )
    add(
        "--model",
        action="append",
        default=[],
        metavar="NAME",
        help="model: a profile of [tool.agentbench.models], or scripted (repeatable)",
    )
    add(
        "--mode",
        action="append",
        default=[],
        metavar="NAME",
        help="experimental condition (repeatable; default: baseline)",
    )
    add(
        "--transfer",
        action="store_true",
        default=False,
        help="add the mode 'transfer': the agent is given what was authored on a sibling of the "
        "scenario, from the --skill-library",
    )
    add(
        "--skill-library",
        metavar="DIR",
        help="where skills that agents author are kept and taken from (default: kept in the run "
        "folder)",
    )
    add(
        "--skill-check",
        metavar="WHAT",
        help="skills that agents make, before another is given them: record what speaks against "
        "them (default), or refuse those",
    )
    add(
        "--skill-mutation",
        metavar="WHAT",
        help="an agent that changes the skills it is to use: record it (default), or fail the trial",
    )
    add("--trials", type=int, metavar="N", help="trials of each scenario (default: 1)")
    add("--sandbox", metavar="NAME", help="where agents run (default: auto, the strongest)")
    add("--run-dir", metavar="DIR", help="folder of the run; the same folder again resumes it")
    add(
        "--rerun",
        action="append",
        default=[],
        metavar="WHICH",
        help="run again in a folder that has been run: infra (trials without a score), failed, or "
        "the beginning of a trial's key (repeatable); scores that are asked for again make the "
        "run 'tuned'",
    )
    add(
        "--accept-changes",
        action="store_true",
        default=False,
        help="plan what has changed since the run began in place of what it was",
    )
    add(
        "--shard",
        metavar="I/N",
        help="run the I-th of N parts; 'agentbench merge' puts the folders together",
    )
    add(
        "--claim",
        action="store_true",
        default=False,
        help="share the run folder with other invocations: each takes trials that no other has",
    )
    add(
        "--view",
        metavar="NAME",
        help="primary view, declared when the run begins: clean, clean_after_rerun (default) or "
        "incomplete",
    )
    add(
        "--profile",
        metavar="NAME",
        help="the scenarios of a profile: of [tool.agentbench.profiles], or core, intelligence, "
        "coverage, native and full of the published composite suite",
    )
    add(
        "--selector",
        metavar="FILE",
        help="exactly the scenarios of a selector that agentbench freeze wrote, as they were then",
    )
    add(
        "--scoring",
        metavar="NAME",
        help="default, or published: the formulas of the harnesses that the suites come from",
    )
    add(
        "--exposure",
        metavar="LABEL",
        help="how far the makers of what is tested knew the scenarios: zero-shot, "
        "prompt-tuned-on-dev, benchmark-exposed or diagnostic-only",
    )
    add(
        "--progress",
        metavar="KIND",
        help="how far the run is: live (a line on the terminal instead of dots), plain (a line on "
        "standard error every half a minute), off, or auto (default)",
    )
    add(
        "--keep-workspace",
        metavar="WHICH",
        help="keep workspaces in the run folder: failed, all or none (default)",
    )
    add(
        "--gate",
        metavar="FILE",
        help="what fails the run: trials (default), none, or the folder of an earlier run, which "
        "this one is compared with (rules: [tool.agentbench.gate])",
    )
    add(
        "--conformance-report",
        metavar="PATH",
        help="where pytest_agentbench.conformance writes its result: a .json file, or a folder for "
        "one of each runtime (default: the folder of the run)",
    )
    add(
        "--timeout-multiplier",
        type=float,
        metavar="X",
        help="multiply every scenario's time limit (default: 1; kept in the trial's lock)",
    )
    add(
        "--timeout-floor",
        type=float,
        metavar="SECONDS",
        help="the least that any time limit is (default: what the scenarios say; kept in the lock)",
    )
    add(
        "--judge",
        action="append",
        default=[],
        metavar="NAME",
        help="model that judges rubrics: a profile of [tool.agentbench.models] (repeatable: several "
        "judges decide together)",
    )
    add("--judge-vote", metavar="RULE", help="of several judges: majority (default) or mean")
    add(
        "--judge-concurrency",
        type=int,
        metavar="N",
        help="calls of judges that are under way at once on a host (default: 4)",
    )
    add("--judge-cache", metavar="DIR", help="keep verdicts in DIR, and take those that are there")
    add("--record", metavar="DIR", help="keep model calls, and what judges say, below DIR")
    add("--replay", metavar="DIR", help="answer model calls from below DIR, without any model")
    add(
        "--dry-run",
        action="store_true",
        default=False,
        help="print the matrix of trials and start nothing",
    )
