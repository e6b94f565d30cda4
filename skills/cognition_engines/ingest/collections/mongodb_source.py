"""Reads a MongoDB collection with `find` alone. Importing this module imports pymongo, from the extra `mongodb`."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final
from warnings import catch_warnings, simplefilter

from bson.codec_options import CodecOptions, DatetimeConversion
from bson.json_util import RELAXED_JSON_OPTIONS, dumps
from pymongo import MongoClient, ReadPreference
from pymongo.collection import Collection
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError

from cognition_engines.drafts.plain_values import MalformedText, RefusedValue
from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.ingest.collections.addresses import MongoPlace, mongo_place
from cognition_engines.ingest.collections.open_collection import (
    LiveObject,
    LiveSource,
    Wanted,
    named_there,
    unknown_collection,
    unreadable,
)
from cognition_engines.ingest.foreign.typed_values import document_members
from cognition_engines.ingest.maps.field_map import FieldMap
from cognition_engines.ingest.parse.json_values import parse_json

PASSWORD: Final = "CSTP_MONGODB_PASSWORD"
_PAGE: Final = 500  # documents at a time
_FOUND_WITHIN: Final = 10_000  # milliseconds, for a server refusing connections is asked until then
_UNAUTHORISED: Final = 13
_NOT_AUTHENTICATED: Final = 18
_OPTIONS: Final[CodecOptions[dict[str, Any]]] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_AUTO, tz_aware=True
)


class _Documents:
    """The documents of a collection, by id."""

    def __init__(self, address: str, collection: Collection[dict[str, Any]]) -> None:
        self._address = address
        self._collection = collection

    def pages(self, vectors: Wanted) -> Iterator[Sequence[LiveObject]]:
        with _calls(self._address), self._collection.find({}, batch_size=_PAGE).sort("_id", 1) as cursor:
            while page := list(islice(cursor, _PAGE)):
                yield [self._object(document) for document in page]

    def count(self) -> int:
        with _calls(self._address):
            return self._collection.estimated_document_count()

    def _object(self, document: Mapping[str, Any]) -> LiveObject:
        """Return the members as in a file of mongoexport."""
        try:
            value = parse_json(dumps(document, json_options=RELAXED_JSON_OPTIONS)).value
        except (MalformedText, ValueError, TypeError, RecursionError):
            value = {"_id": str(document.get("_id")), "document": RefusedValue("it has a value that is not read")}
        members = document_members(value) if isinstance(value, dict) else {}
        return LiveObject(members, str(members.get("_id")))


@contextmanager
def open_mongodb(
    address: str, embedder: Embedder | None, deadline_seconds: float, map: FieldMap
) -> Iterator[LiveSource]:
    """Give the collection at an address; no message and no record contains the address's password.

    Raise ConfigurationError, naming the existing collections, for an unknown name; ComponentFailed if the server does
    not answer or refuses.
    """
    place = mongo_place(address)
    options = _options(place, deadline_seconds)
    if password := os.environ.get(PASSWORD):
        options["password"] = password
    try:
        with catch_warnings():
            simplefilter("error")  # of unknown options, which a warning would quote
            client: MongoClient[dict[str, Any]] = MongoClient(place.url, **options)
    except (PyMongoError, ValueError, TypeError, Warning):  # a message may quote the password
        raise ConfigurationError(f"{place.shown}: an option or the password of the address is not read") from None
    with client:
        preference = client.read_preference
        if preference == ReadPreference.PRIMARY:
            preference = ReadPreference.SECONDARY_PREFERRED
        database = client.get_database(place.database, _OPTIONS, preference)
        _check_there(place, database.list_collection_names)
        yield LiveSource(place.shown, _Documents(place.shown, database[place.collection]), map, embedder)


def _options(place: MongoPlace, deadline_seconds: float) -> dict[str, Any]:
    """Return the options not given by the address."""
    milliseconds = int(deadline_seconds * 1000)
    options = {
        "appname": "cstp",
        "serverSelectionTimeoutMS": min(milliseconds, _FOUND_WITHIN),
        "connectTimeoutMS": milliseconds,
        "socketTimeoutMS": milliseconds,
    }
    given = {pair.partition("=")[0].lower() for pair in place.url.partition("?")[2].split("&")}
    return {name: value for name, value in options.items() if name.lower() not in given}


def _check_there(place: MongoPlace, list_names: Any) -> None:
    """Raise ConfigurationError if the collection is not there; a user who may not list collections reads it anyway."""
    try:
        with _calls(place.shown):
            names = list_names(authorizedCollections=True, nameOnly=True)
    except ComponentFailed as error:
        if getattr(error.__cause__, "code", None) == _UNAUTHORISED:
            return
        raise
    if place.collection not in names:
        raise unknown_collection(place.shown, named_there(names))


@contextmanager
def _calls(address: str) -> Iterator[None]:
    """Name the address, without the password, in failures of pymongo calls; drop the texts they quote."""
    try:
        yield
    except OperationFailure as error:
        advice = "check the user, the password and authSource" if error.code == _NOT_AUTHENTICATED else ""
        raise unreadable(address, f"refused with code {error.code}", advice) from error
    except PyMongoError as error:
        advice = "check that it is up" if isinstance(error, ConnectionFailure) else ""
        raise unreadable(address, type(error).__name__, advice) from error
