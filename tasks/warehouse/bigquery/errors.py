"""Errors of BigQuery as one line that says what failed and what to do.

Its messages may quote values of rows ("Bad double value: ..."), so none is passed on: known ones are reworded with the
names that they contain, of the others only the reason and the job are told.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from google.api_core.exceptions import (
    Forbidden,
    GoogleAPICallError,
    NotFound,
    RetryError,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError
from grpc import RpcError  # type: ignore[import-untyped]
from requests.exceptions import RequestException

from scoring.errors import AqbError, InputError, StorageError, UsageError

_LOG_IN = "`gcloud auth application-default login`"
_LOG_IN_ANEW = f"{_LOG_IN}, or check the service account"
_MISSING_NAME = re.compile(
    r"Unrecognized name: `?([\w.]+)|Name (\w+) not found inside|Field name (\w+) does not exist", re.ASCII
)
_UNFILTERED = re.compile(
    r"Cannot query over table '([^']+)' without a filter over column\(s\) ('\w+'(?:, '\w+')*)", re.ASCII
)
_RESOURCE = re.compile(r"\b(Project|Dataset|Table|View|Routine|Job) (?!ID\b)([\w.:-]+\w)")
_LOCATION = re.compile(r"in location ([\w-]+\w)", re.ASCII)
_PERMISSION = re.compile(r"\bbigquery\.[A-Za-z]+\.[A-Za-z]+\b")
_TAGGED = re.compile(r"policy tag .* on columns? ([\w.:, -]*\w)")
_SWITCHED_OFF = re.compile(r"API has not been used in project ([\w:.-]+\w) before", re.ASCII)
_NEEDED_BYTES = re.compile(r"([0-9]+) or higher required")
_BUSY = (
    "rateLimitExceeded",
    "jobRateLimitExceeded",
    "quotaExceeded",
    "usageQuotaExceeded",
    "backendError",
    "internalError",
)


@contextmanager
def as_aqb_errors(where: str = "") -> Iterator[None]:
    """Converts errors of BigQuery and its client in the block to an AqbError; `where` is the resource."""
    try:
        yield
    except DefaultCredentialsError:
        fix = f"{_LOG_IN}, or a service account (docs/bigquery.md)"
        raise UsageError("no Google credentials on this machine", where=where, fix=fix) from None
    except TransportError as error:
        raise _out_of_reach(where, error) from None
    except GoogleAuthError as error:
        refused = f"the Google credentials are refused ({type(error).__name__})"
        raise UsageError(refused, where=where, fix=_LOG_IN_ANEW) from None
    except RetryError as error:
        raise _explained(error.cause, where) from None
    except (GoogleAPICallError, RequestException, ConnectionError) as error:
        raise _explained(error, where) from None


def reasons_of(error: GoogleAPICallError) -> list[str]:
    """The reasons of a BigQuery error; its Storage API gives none."""
    return [str(detail["reason"]) for detail in error.errors if isinstance(detail, Mapping) and detail.get("reason")]


def _explained(error: BaseException | None, where: str) -> AqbError:
    if not isinstance(error, GoogleAPICallError):
        return _out_of_reach(where, error)
    reason = next(iter(reasons_of(error)), "")
    message = error.message or ""
    kind: type[AqbError] = UsageError
    if isinstance(error, (TooManyRequests, ServerError)) or reason in _BUSY:
        kind, what = StorageError, f"BigQuery is busy or over its quota ({reason or error.code}{_job(error)})"
        fix = "run again later; quotas stand in the console"
        if isinstance(error.response, RpcError):
            what = f"the BigQuery Storage API is busy or out of reach ({error.code})"
            fix = "run again later, or do without it: bigquery.use_storage_api = false"
    elif isinstance(error, Unauthorized):
        what, fix = f"the Google credentials are refused ({reason or error.code})", _LOG_IN_ANEW
    elif isinstance(error, NotFound):
        return _not_found(message, where)
    elif isinstance(error, Forbidden):
        what, where, fix = _forbidden(reason, message, where)
    elif reason == "bytesBilledLimitExceeded":
        needed = _NEEDED_BYTES.search(message)
        what = f"the query would bill {f'{int(needed[1]):,} bytes, ' if needed else ''}more than allowed"
        fix = "raise bigquery.maximum_bytes_billed, or choose a shorter period"
    elif missing := _MISSING_NAME.search(message):
        kind, what = InputError, f"there is no column {next(filter(None, missing.groups()))}"
        fix = "correct the view, or bigquery.columns and bigquery.prefix"
    elif unfiltered := _UNFILTERED.search(message):
        where, columns = unfiltered[1], unfiltered[2].replace("'", "")
        what = f"the table is not read without a filter over {columns} (require_partition_filter)"
        fix = "let the view give that column as `timestamp`; ask `aqb rows` for rows of scored days; or switch it off"
    elif "location" in message and (found := _LOCATION.search(message)):
        what, fix = f"is not in location {found[1]}", "correct bigquery.location"
    else:
        kind, what = AqbError, f"BigQuery refused the request ({reason or error.code}{_job(error)})"
        fix = "the console shows the whole message of the job to who may see the rows"
    return kind(what, where=where, fix=fix)


def _not_found(message: str, where: str) -> AqbError:
    resource = _RESOURCE.search(message)
    kind, name = resource.groups() if resource else ("", where)
    location = _LOCATION.search(message)
    looked = f" in location {location[1]}" if location else ""
    apart = '; if source and score tables are in two: monitoring.engine = "local"' if location else ""
    make = f", or make it: `bq mk --dataset --location=LOCATION {name}`" if kind == "Dataset" else ""
    return InputError(
        f"there is no such {kind.lower() or 'thing'}{looked}",
        where=name.replace(":", "."),
        fix=f"check the name{make}; if it is elsewhere, set bigquery.location{apart}",
    )


def _forbidden(reason: str, message: str, where: str) -> tuple[str, str, str]:
    """What is forbidden, where, and what to do."""
    resource, permission = _RESOURCE.search(message), _PERMISSION.search(message)
    thing = f"{resource[1].lower()} {resource[2].replace(':', '.')}" if resource else where
    if reason == "responseTooLarge":
        fix = 'score them inside it: monitoring.engine = "bigquery", with a BigQuery warehouse'
        return "the rows are too many to be read out of BigQuery", where, fix
    if reason in ("billingNotEnabled", "billingTierLimitExceeded"):
        return f"billing stops the query ({reason})", thing, "bigquery.billing_project can pay"
    if off := _SWITCHED_OFF.search(message):
        fix = f"`gcloud services enable bigquery.googleapis.com --project={off[1]}`"
        return "the BigQuery API is not enabled", f"project {off[1]}", fix
    if "VPC Service Controls" in message:
        return "VPC Service Controls forbid the request", where, "ask who keeps the service perimeter"
    if tagged := _TAGGED.search(message):
        what = f"no permission to read column {tagged[1]}, which has a policy tag"
        return what, thing, "grant roles/datacatalog.categoryFineGrainedReader on the tag"
    wanted = f"permission {permission[0]}" if permission else "permission"
    return f"no {wanted}, or it does not exist", thing, "grant it; docs/bigquery.md lists the roles"


def _out_of_reach(where: str, error: BaseException | None) -> StorageError:
    what = f"BigQuery cannot be reached ({type(error).__name__})"
    return StorageError(what, where=where, fix="check the network, then run again")


def _job(error: GoogleAPICallError) -> str:
    job = getattr(error, "query_job", None)
    return f", job {job.job_id}" if job is not None else ""
