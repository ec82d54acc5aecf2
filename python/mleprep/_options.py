"""The table of options: each option of the program is a key of a `TypedDict`, with its type and its description.

The keys are the names of the options with underscores. The functions' signatures, docstrings, command lines and
messages follow from this table.

A parameter of type `bool` is an option without a value. If a parameter may be a `bool` or another type, True is the option
without a value, and False is the value `no`.
"""

from __future__ import annotations

import difflib
import errno
import functools
import inspect
import numbers
import os
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Protocol, TypedDict, TypeVar, cast, runtime_checkable

from mleprep.errors import UsageError

Path_ = str | os.PathLike[str]
Directory = Annotated[str | os.PathLike[str], "directory"]
#: A file or directory that must exist.
Input = Annotated[str | os.PathLike[str], "input"]
InputDirectory = Annotated[str | os.PathLike[str], "input", "directory"]


@runtime_checkable
class Graded(Protocol):
    """The result of a grading. It has a report if the call had `output`."""

    @property
    def score(self) -> float | None: ...
    @property
    def path(self) -> Path | None: ...


#: Grading reports: files, directories, or results of `grade` and `grade_all` with reports.
Reports = Input | Graded | Iterable[Input | Graded | Iterable[Graded]]
Progress = bool | Callable[[str], object]
Set = Literal["lite", "scored", "systemcard", "all", "low", "medium", "high", "dev", "own"]


class Variant(TypedDict, total=False):
    variant: Annotated[str | None, "'v1' (as upstream), 'fixed' (all corrections), or for example 'fixed:63,30'"]


class Places(TypedDict, total=False):
    data_dir: Annotated[Directory | None, "directory of prepared competitions"]
    pipelines: Annotated[InputDirectory | None, "directory of additional pipelines: DIR/ID/pipeline.yaml"]


class Common(Places, total=False):
    cache_dir: Annotated[Directory | None, "directory of the cache"]
    jobs: Annotated[int | None, "number of steps that run at once"]
    memory: Annotated[str | int | None, "memory for all running steps, such as '8GB'"]
    verbose: Annotated[bool, "show more details in the messages"]


class Location(Variant, Places, total=False):
    pass


class Call(Common, total=False):
    check: Annotated[bool, "raise an exception with all failures after all competitions ended; default: True"]
    progress: Annotated[Progress, "show messages on stderr, or pass each line to a function; default: True"]


class Selection(Call, total=False):
    set: Annotated[Set | str | None, "a named set of competitions, or of a pack: 'PACK' or 'PACK/NAME'"]
    ids_from: Annotated[Input | None, "a text file with one id per line"]
    closed_after: Annotated[str | date | None, "only competitions that closed after this day, such as '2025-12-31'"]


class Listing(Selection, total=False):
    long: Annotated[bool, "measure the disk space in the data directory: the field `disk` of the results"]


class Source(TypedDict, total=False):
    source: Annotated[InputDirectory | None, "directory with bundles that you have: DIR/ID.zip or DIR/ID/ID.zip"]


class Identity(TypedDict, total=False):
    identity: Annotated[Input | None, "file with the secret key that opens sealed answers"]


class Leaderboard(TypedDict, total=False):
    leaderboard: Annotated[Input | None, "rank on this leaderboard: a CSV with the column `score`, best first"]


class Ranking(Leaderboard, Common, total=False):
    pass


class Comparison(Variant, Identity, Leaderboard, total=False):
    answers: Annotated[Input | None, "compare with these answers instead of the prepared ones; not verified"]


class Submission(Comparison, Common, total=False):
    pass


class Signature(TypedDict, total=False):
    sign: Annotated[str | None, "sign the report with this key, created by `prep remote key new NAME`"]


class Grading(Submission, Signature, total=False):
    output: Annotated[Directory | None, "directory for the report"]
    reward: Annotated[Path_ | None, "write this file, like Harbor's reward.json: score, medal, and a reward from 0 to 1"]


class GradingList(Comparison, Signature, Call, total=False):
    submission_path: Annotated[str | None, "path of the submission in the directory of a run"]
    logs_path: Annotated[str | None, "path of the agent's log in the directory of a run"]
    code_path: Annotated[str | None, "path of the agent's code in the directory of a run"]


class Expansion(TypedDict, total=False):
    expand_archives: Annotated[
        Literal["beside", "instead", "no"] | bool | None, "unpack archives in `public`, and keep (True) or replace (`instead`) them"
    ]


class Remote(TypedDict, total=False):
    remote: Annotated[str | None, "URL of a cache that machines share, such as 's3://BUCKET/PREFIX'"]
    no_remote: Annotated[bool, "use no remote, even if prep.toml names one"]


class Limits(TypedDict, total=False):
    discard_bundle: Annotated[bool, "delete each bundle after its competition is prepared (in `fetch`: after its upload)"]
    max_rate: Annotated[str | int | None, "bytes per second of all downloads together, such as '20MB'"]
    connections: Annotated[int | None, "connections of all downloads together"]


class Unit(TypedDict, total=False):
    unit: Annotated[str | None, "only a part of the selection: 'I/N', or 'N' in a job array"]


class Why(Call, Variant, Source, Expansion, total=False):
    from_cache: Annotated[bool, "if the bundle is missing, use the latest results in the cache"]
    partial: Annotated[bool | None, "download only the members of a bundle that the pipeline reads"]
    skip_bundle_verification: Annotated[bool | None, "accept a bundle whose MD5 is not the published one"]
    skip_verification: Annotated[bool | None, "do not compare bundles and outputs with published checksums"]
    forget_options: Annotated[bool, "use no options of the last run in the data directory"]


class Preparation(Selection, Why, Remote, total=False):
    no_download: Annotated[bool, "send no request; a missing bundle is an error in `run`"]
    available: Annotated[bool, "download nothing; prepare the competitions whose bundles you have"]


class Run(Preparation, Limits, Unit, total=False):
    fail_fast: Annotated[bool, "start no further step once a competition has failed"]
    locked: Annotated[bool, "publish only what prep.lock in the data directory lists"]
    link_mode: Annotated[Literal["hardlink", "reflink", "copy"] | None, "how files share bytes with the cache"]
    descriptions: Annotated[InputDirectory | None, "publish your own descriptions: DIR/ID.md or DIR/ID/description.md"]
    remove_unpublished: Annotated[bool, "remove files in the prepared directory that no run published"]
    unseal: Annotated[bool, "write the plain answers of sealed competitions again"]


class Fetch(Selection, Source, Limits, Remote, Unit, total=False):
    skip_bundle_verification: Annotated[bool, "accept a bundle whose MD5 is not the published one"]
    no_download: Annotated[bool, "send no request to Kaggle; only check the bundles that you have"]


class FetchList(Selection, Source, Remote, Unit, total=False):
    no_download: Annotated[bool, "send no request to Kaggle"]


class FetchCheckRules(Selection, Unit, total=False):
    open: Annotated[bool, "open the pages of rules to accept in the browser, at most 10"]
    again: Annotated[bool, "also check competitions whose rules were accepted at the last check"]
    pause: Annotated[float | None, "seconds between two requests"]


class Groups(Call, total=False):
    groups: Annotated[Input | None, "a CSV with the columns experiment_id and run_group, in place of reports"]
    runs: Annotated[InputDirectory | None, "directory of the run groups; default: the directory of the table"]
    experiment: Annotated[str | None, "only this experiment of the table"]


class Report(Selection, Variant, Groups, total=False):
    grading: Annotated[
        Reports | Mapping[str, Reports] | None,
        "grading reports of prep or of upstream, or grades with reports; the keys of a mapping are names of experiments",
    ]


class Leaks(Selection, Variant, Source, total=False):
    pass


class Audit(Leaks, total=False):
    tree: Annotated[InputDirectory | None, "directory that another program prepared: with `public`, or with ID/prepared"]


class Digest(Selection, Variant, total=False):
    pass


class Diff(Variant, Call, total=False):
    pass


class Export(Variant, Expansion, Call, total=False):
    private: Annotated[bool, "also copy the private files, such as the answers"]
    layout: Annotated[Literal["mle-bench", "dojo"] | None, "layout of the files; default: that of the pack"]


class Summarize(Groups, total=False):
    name: Annotated[str | None, "name of the experiment"]
    set: Annotated[Set | None, "a named set of competitions; default: each of low, medium, high, all, own"]
    ids_from: Annotated[Input | Iterable[str] | None, "ids as a set, or a text file with one id per line"]
    seeds: Annotated[int | None, "number of seeds; default: all complete ones"]
    take: Annotated[Literal["first", "last"] | None, "the runs to use if there are more than seeds"]
    pad_missing: Annotated[bool, "count missing runs as failed, instead of dropping incomplete seeds"]
    budget: Annotated[Input | None, "YAML or JSON file with hours, hardware, model and cutoff of each experiment"]


#: Options without a parameter, and the Python code to write instead.
REPLACED = {
    "--competition": "ids",
    "--lite": 'set="lite"',
    "--all": 'set="all"',
    "--dry-run": "mleprep.plan",
    "--timings": "the attribute `timings` of the result",
    "--quiet": "progress=False",
    "--no-log": "log=False",
    "--list": "mleprep.fetch_list",
    "--check-rules": "mleprep.fetch_check_rules",
    "--keep-going": "check=False",
    "--per-competition": "the field `competitions` of the records",
}
#: Functions that also work if the data directory does not exist yet.
_WITHOUT_DATA = {"list", "plan", "why", "run", "fetch", "fetch_list", "fetch_check_rules", "summarize"}
#: Parameters that are not options of the program.
_OWN = {"check", "progress"}
#: The parameters of each function: name of the function -> name of the parameter -> its type.
VERBS: dict[str, dict[str, Any]] = {}
#: Parameters that are not in a table and have one of the types in `_TYPES`.
_CHECKED = {"library", "log", "new", "old", "output", "reports", "score", "step", "submissions"}
#: Parameters that are not in a table of options, such as `score`.
POSITIONAL: set[str] = set()

#: Parameters that name competitions.
_COMPETITIONS = {"id", "ids", "what"}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def verb(function: _Function) -> _Function:
    """Gives a function with `**options: Unpack[...]` the signature and the docstring of its options."""
    unpacked = eval(function.__annotations__["options"], function.__globals__)
    table = typing.get_type_hints(typing.get_args(unpacked)[0], include_extras=True)
    VERBS[function.__name__] = table
    shown = typing.get_type_hints(typing.get_args(unpacked)[0])
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    order = [one.name for one in own if one.kind is not one.KEYWORD_ONLY]
    # Without ids and submissions, which the functions themselves check.
    kinds = {name: kind.__origin__ for name, kind in table.items()} | {
        name: kind for name, kind in typing.get_type_hints(function).items() if name in _CHECKED
    }
    names = [*table, *(one.name for one in own)]
    POSITIONAL.update(one.name for one in own)

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        named = {name: _listed(name, value) for name, value in [*zip(order, arguments), *options.items()]}
        for name in options:
            if name not in names:
                raise TypeError(f"{function.__name__}() has no parameter `{name}`{_hint(function.__name__, name, names)}")
        for name, value in named.items():
            # None is the default of each option.
            if name in kinds and (value is not None or name not in table):
                check_type(name, kinds[name], value, order)
        given = [*(named[name] for name, _ in zip(order, arguments)), *arguments[len(order) :]]
        options = {name: named[name] for name in options}
        for name in _COMPETITIONS & named.keys():
            options |= _implied(named[name], table, options)
        return function(*given, **options)

    def parameter(name: str) -> inspect.Parameter:
        default = name in _OWN if name in _OWN or shown[name] is bool else None
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=shown[name])

    checked.__signature__ = signature.replace(parameters=[*own, *map(parameter, table)])  # type: ignore[attr-defined]
    texts = "\n".join(f"    {name}: {kind.__metadata__[-1]}" for name, kind in table.items())
    checked.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n{texts}\n"
    return cast(_Function, checked)


def _hint(function: str, name: str, names: Sequence[str]) -> str:
    """Returns a hint for a `name` that is not a parameter: code to use instead, another function, or a similar name."""
    instead = REPLACED.get(f"--{name.replace('_', '-')}", "")
    if name == "competition":
        instead = next((one for one in ("ids", "id") if one in names), "")
    if instead and ("=" not in instead or instead.split("=")[0] in names):
        return f"; use {instead if '`' in instead else f'`{instead}`'}"
    for other, table in VERBS.items():
        if other.startswith(f"{function}_") and name in table:
            return f"; `mleprep.{other}` has it"
    near = difflib.get_close_matches(name, names, 1, 0.75)
    return f"; did you mean `{near[0]}`?" if near else ""


def _listed(name: str, value: Any) -> Any:
    """Converts an iterator of competitions to a list, because an iterator can be read only once. Returns other values unchanged."""
    return [*value] if name in _COMPETITIONS and isinstance(value, Iterator) else value


def _implied(competitions: Any, table: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the data directory and the variant of records, unless the call gives them."""
    rows = competitions if isinstance(competitions, Iterable) and not isinstance(competitions, str) else [competitions]
    origins = [getattr(row, "origin", {}) for row in rows]
    for name, words in (("data_dir", "data directories"), ("variant", "variants")):
        found = {str(origin[name]): origin[name] for origin in origins if name in origin and name in table}
        if given.get(name) is None and len(found) > 1:
            help = f"pass the records of one of them, or select one with `{name}`"
            raise UsageError(f"the records are from several {words}: {', '.join(sorted(found))}", code=2, help=help)
        yield from ((name, one) for one in found.values() if given.get(name) is None)


def command_line(name: str, options: Mapping[str, Any]) -> Iterator[str]:
    """Returns the options of a call as arguments of the program. Raises `FileNotFoundError` if an input is missing."""
    for key, value in options.items():
        if value is None or key in _OWN:
            continue
        kind = VERBS[name][key].__origin__
        option = f"--{key.replace('_', '-')}"
        if isinstance(value, bool):
            yield from [option] if value else [] if kind is bool else [f"{option}=no"]
            continue
        for prefix, one in _values(value):
            is_data = key == "data_dir" and name not in _WITHOUT_DATA
            if "'input'" in str(kind) or is_data:
                one = existing(one, key)
            if "'directory'" in str(kind):
                check_directory(one, key)
            yield f"{option}={prefix}{text(one)}"


def check_type(key: str, kind: Any, value: object, order: Sequence[str] = ()) -> None:
    """Raises `TypeError` for a value of a wrong type, and `UsageError` for an invalid word."""
    if not _is_a(value, kind):
        shown = repr(value)
        shown = type(value).__name__ if len(shown) > 80 or "\n" in shown else shown
        hint = f"; the order of the arguments is {', '.join(order)}" if key in order[:-1] else ""
        raise TypeError(f"`{key}` must be {' or '.join(dict.fromkeys(_names(kind)))}, not {shown}{hint}")
    kinds = typing.get_args(kind) if typing.get_origin(kind) is not Literal else (kind,)
    words = [word for one in kinds if typing.get_origin(one) is Literal for word in typing.get_args(one)]
    is_closed = words and all(one in (bool, NoneType) or typing.get_origin(one) is Literal for one in kinds)
    if is_closed and not isinstance(value, bool | None) and value not in words:
        help = f"write {', '.join(map(repr, words[:-1]))} or {words[-1]!r}"
        raise UsageError(f"invalid value {value!r} for `{key}`", code=2, help=help)


#: For each type: the class of valid values, and the type's name in messages. NumPy's numbers are in these classes, too.
_TYPES: dict[Any, tuple[Any, str]] = {
    bool: (bool, "True or False"), int: (numbers.Integral, "an integer"), float: (numbers.Real, "a number"),
    str: (str, "a text"), Literal: (str, "a text"), os.PathLike: (os.PathLike, "a path"), date: (date, "a date"),
    Graded: (Graded, "a grade"), Mapping: (Mapping, "a mapping"), Iterable: (Iterable, "several of them"), Callable: (Callable, "a function"),
}  # fmt: skip


def _kinds(kind: Any) -> Iterator[Any]:
    """Yields the keys of `_TYPES` for a type."""
    origin = typing.get_origin(kind)
    if origin in (UnionType, typing.Union, Annotated):
        inner = typing.get_args(kind)[:1] if origin is Annotated else typing.get_args(kind)
        yield from (one for part in inner if part is not NoneType for one in _kinds(part))
    else:
        yield origin or kind


def _is_a(value: object, kind: Any) -> bool:
    if value is None:
        return NoneType in typing.get_args(kind)
    # A frame is iterable, too, but yields the names of its columns.
    is_frame, is_bool = hasattr(type(value), "columns"), isinstance(value, bool)
    for one in _kinds(kind):
        if isinstance(value, _TYPES[one][0]) and (is_bool <= (one is bool)) and not is_frame:
            return True
    return False


def _names(kind: Any) -> Iterator[str]:
    return (_TYPES[one][1] for one in _kinds(kind))


def os_error(number: int, name: str, path: Path_, hint: str = "") -> OSError:
    """Returns the exception for an error number, such as `FileNotFoundError`. Its message names the parameter."""
    return OSError(number, f"{os.strerror(number)} for `{name}`{hint}", os.fspath(path))


def check_directory(path: Path_, name: str) -> None:
    """Raises an exception if `path` is a file.

    If `name` is `data_dir` or `cache_dir`, also raises an exception if `path` is the directory of a competition.
    """
    found = Path(os.path.abspath(os.path.expanduser(path)))
    if found.exists() and not found.is_dir():
        raise os_error(errno.ENOTDIR, name, path)
    for home in (found, found.parent, found.parent.parent) if name in ("data_dir", "cache_dir") else ():
        places = [home / "prepared" / part for part in ("public", "private")]
        if any(place.is_dir() for place in places) and found in (home, home / "prepared", *places):
            # Directories of variants and packs may be between the data directory and the competition.
            parent = next((one for one in home.parents if (one / "prep.lock").exists()), home.parent)
            message = f"{found} is the directory of a competition, not a data directory"
            raise UsageError(message, code=2, help=f"name the directory that contains it, {parent}")


def _values(value: object) -> Iterator[tuple[str, Any]]:
    """Yields pairs of a prefix `NAME=`, which may be empty, and a value of an option that can be repeated."""
    if isinstance(value, Mapping):
        yield from ((f"{name}={inner}", one) for name, all in value.items() for inner, one in _values(all))
    elif isinstance(value, Iterable) and not isinstance(value, str):
        yield from (("", one) for one in value)
    else:
        yield "", value


def text(value: object) -> str:
    if isinstance(value, date):
        return f"{value:%Y-%m-%d}"
    return str(value) if isinstance(value, numbers.Real) else os.path.expanduser(os.fspath(cast(Path_, value)))


def existing(path: Path_, name: str) -> Path:
    """Returns the path of the input `name`. Raises `FileNotFoundError` if there is no such file or directory."""
    found = Path(os.path.expanduser(path))
    if not found.exists():
        siblings = [one.name for one in found.parent.iterdir()] if found.parent.is_dir() else []
        near = difflib.get_close_matches(found.name, siblings, 1)
        hint = f"; did you mean {str(found.with_name(near[0]))!r}?" if near else ""
        raise os_error(errno.ENOENT, name, path, hint)
    return found
