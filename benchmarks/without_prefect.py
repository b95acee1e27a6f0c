"""`aqb` without Prefect: `python -m benchmarks.without_prefect nightly --date 2026-02-13`.

The same command with the same functions. Prefect's modules are replaced by stubs: a flow or task is its undecorated
function, and everything else does nothing. Not even the import of Prefect costs time.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any


class _Nothing:
    """Has every attribute and does nothing when it is called."""

    def __getattr__(self, name: str) -> _Nothing:
        return self

    def __getitem__(self, _: object) -> _Nothing:
        return self

    def __call__(self, *_: Any, **__: Any) -> None:
        return None


def _plain(**_: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorator of flows and tasks."""

    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def called(*arguments: Any, return_state: bool = False, **named: Any) -> Any:
            found = function(*arguments, **named)
            return SimpleNamespace(result=lambda **_: found) if return_state else found

        called.fn = function  # type: ignore[attr-defined]  # as Prefect's flows have it
        return called

    return of


_INSTEAD = {
    "flow": _plain,
    "task": _plain,
    "deployment": SimpleNamespace(id=None),
    "PREFECT_API_URL": SimpleNamespace(value=lambda: "http://127.0.0.1:1/api"),
    "APILogHandler": logging.NullHandler,
    "ProcessPoolTaskRunner": object,
    "get_current_settings": lambda: SimpleNamespace(flows=SimpleNamespace(model_fields_set={"heartbeat_frequency"})),
}


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's own attributes, such as the path of the module's file
            raise AttributeError(name)
        return _INSTEAD.get(name, _Nothing())


class _Absent(MetaPathFinder, Loader):
    """Provides an empty stub for every module of Prefect."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname.split(".")[0] == "prefect" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


if __name__ == "__main__":
    sys.meta_path.insert(0, _Absent())
    from flows.cli.app import main

    main()
