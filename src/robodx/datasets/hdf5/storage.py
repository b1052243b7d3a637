"""Whether an array of an HDF5 file is stored in that file, and takes no more memory than it should when it is read."""

from __future__ import annotations

import zlib
from math import prod
from typing import Any

from robodx.datasets.bounds import DEFLATE_EXPANSION, MOST_STEPS, fits, whole
from robodx.datasets.extras import needed

# Numbers become float32.
NUMBER_BYTES = 4
# HDF5 inflates a chunk to whatever it holds. One that is stored in less than this gives 1 GiB at most.
TRUSTED_CHUNK_BYTES = 2**20
AT_ONCE = 2**20
# Texts of various lengths are read so many at a time.
TEXTS = 16


def check_links(file: Any) -> None:
    """Refuses a file in which a name leads to another file, once, before any name is looked up."""
    h5py = needed("h5py")

    def is_elsewhere(name: bytes, link: Any) -> bytes | None:
        return name if link.type not in (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT) else None

    if name := file.id.links.visit(is_elsewhere, info=True):
        raise ValueError(f"{name.decode(errors='replace')} is a link to another file, which is not read")


def values(array: Any) -> Any:
    """All of an array."""
    check_stored(array)
    return array[:]


def texts(array: Any) -> list[str]:
    """Of an array of texts, of which many may be one in the file."""
    check_stored(array)
    found: list[str] = []
    size = 0
    for start in range(0, len(array), TEXTS):
        found += map(str, array.asstr()[start : start + TEXTS])
        size += sum(map(len, found[start:]))
        fits(array.name, size, array.id.get_storage_size())
    return found


def check_stored(array: Any, steps: int | None = None) -> None:
    """Refuses to read so many steps of an array, or all; a few steps of pictures may be read of a large one."""
    h5py = needed("h5py")
    if not isinstance(array, h5py.Dataset) or not array.shape:
        raise ValueError(f"{array.name} is no array")
    if array.external or array.is_virtual:
        raise ValueError(f"{array.name} is kept in other files, which are not read")
    count = whole(len(array), f"the count of steps of {array.name}", most=MOST_STEPS)
    item = array.dtype.itemsize
    chunk = prod(array.chunks or (0,)) * item
    stored = array.id.get_storage_size()
    if steps is None:
        fits(array.name, array.size * max(item, NUMBER_BYTES) + chunk, stored)
    else:
        fits(array.name, array.size // max(count, 1) * steps * item + chunk, stored, DEFLATE_EXPANSION)
    if array.chunks:
        _check_chunks(array, chunk)


def _check_chunks(array: Any, size: int) -> None:
    h5py = needed("h5py")
    pipeline = array.id.get_create_plist()
    filters = [pipeline.get_filter(index)[0] for index in range(pipeline.get_nfilters())]
    if len(set(filters)) < len(filters):
        raise ValueError(f"{array.name} is compressed twice")
    if h5py.h5z.FILTER_DEFLATE not in filters:
        return
    large = []
    array.id.chunk_iter(lambda chunk: large.append(chunk.chunk_offset) if chunk.size > TRUSTED_CHUNK_BYTES else None)
    for offset in large:
        inflating, inflated = zlib.decompressobj(), 0
        skipped, data = array.id.read_direct_chunk(offset)
        if skipped >> filters.index(h5py.h5z.FILTER_DEFLATE) & 1:
            # Stored as it is: HDF5 leaves a filter out where it does not help.
            continue
        while data and inflated <= size + AT_ONCE:
            inflated += len(inflating.decompress(data, AT_ONCE))
            data = inflating.unconsumed_tail
        if inflated > size + AT_ONCE:
            raise ValueError(f"a chunk of {array.name} inflates to more than its {size:,} bytes")
