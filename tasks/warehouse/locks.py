"""Locks of a warehouse: the kernel's file locks in a folder, leases of the state database elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tasks.state.leases import Leases
from tasks.warehouse import Warehouse
from tasks.warehouse.folder import FolderWarehouse


@contextmanager
def exclusive(warehouse: Warehouse, state_url: str, name: str) -> Iterator[Path]:
    """The staging folder of `name`, for one run at a time on all machines that share the warehouse.

    Raises:
        StorageError: another run of that name is still working.
    """
    if isinstance(warehouse, FolderWarehouse):
        with warehouse.staging(name) as folder:
            yield folder
        return
    with closing(Leases(state_url)) as leases, leases.held(name), warehouse.staging(name) as folder:
        yield folder


@contextmanager
def serialized(warehouse: Warehouse, state_url: str, name: str, wait_s: float | None = None) -> Iterator[None]:
    """For a few moments nobody else does what is called `name`; the others wait, for a lease at most `wait_s`.

    Raises:
        StorageError: whoever holds the lease does not come to an end.
    """
    if isinstance(warehouse, FolderWarehouse):
        with warehouse.turn(name):
            yield
        return
    with closing(Leases(state_url)) as leases, leases.held(name, wait_s):
        yield
