"""Header blocks of HTTP/2: read with libnghttp2, which the program under test needs as well; written
as literals that use no table, so that a block may be left out or put in without harm."""

import ctypes
import ctypes.util
from typing import List, Tuple

TABLE_MAX = 1 << 16
_FINAL, _EMIT = 1, 2
Headers = List[Tuple[bytes, bytes]]


class _Pair(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.POINTER(ctypes.c_uint8)),
        ("value", ctypes.POINTER(ctypes.c_uint8)),
        ("name_size", ctypes.c_size_t),
        ("value_size", ctypes.c_size_t),
        ("flags", ctypes.c_uint8),
    ]


def _library() -> ctypes.CDLL:
    found = ctypes.CDLL(ctypes.util.find_library("nghttp2") or "libnghttp2.so.14")
    found.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t
    found.nghttp2_hd_inflate_hd2.argtypes = [
        ctypes.c_void_p,
        ctypes.POINTER(_Pair),
        ctypes.POINTER(ctypes.c_int),
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_int,
    ]
    found.nghttp2_hd_inflate_end_headers.argtypes = [ctypes.c_void_p]
    found.nghttp2_hd_inflate_del.argtypes = [ctypes.c_void_p]
    found.nghttp2_hd_inflate_change_table_size.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return found


class Decoder:
    """The blocks of one direction of one connection, in their order."""

    def __init__(self) -> None:
        self._library = _library()
        self._inflater = ctypes.c_void_p()
        assert self._library.nghttp2_hd_inflate_new(ctypes.byref(self._inflater)) == 0
        self._library.nghttp2_hd_inflate_change_table_size(self._inflater, TABLE_MAX)

    def decode(self, block: bytes) -> Headers:
        headers: Headers = []
        pair, flags = _Pair(), ctypes.c_int(0)
        while True:
            used = self._library.nghttp2_hd_inflate_hd2(
                self._inflater, ctypes.byref(pair), ctypes.byref(flags), block, len(block), 1
            )
            if used < 0:
                raise ValueError(f"header block: nghttp2 error {used}")
            block = block[used:]
            if flags.value & _EMIT:
                name = ctypes.string_at(pair.name, pair.name_size)
                headers.append((name, ctypes.string_at(pair.value, pair.value_size)))
            if flags.value & _FINAL:
                self._library.nghttp2_hd_inflate_end_headers(self._inflater)
                return headers
            if not flags.value & _EMIT and not block:
                raise ValueError("header block: it ends too early")

    def __del__(self) -> None:
        if self._inflater:
            self._library.nghttp2_hd_inflate_del(self._inflater)


def encode(headers: Headers) -> bytes:
    """RFC 7541, 6.2.2: literal header fields without indexing, new names, no Huffman code."""
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in headers)


def _text(data: bytes) -> bytes:
    size = len(data)
    if size < 127:
        return bytes([size]) + data
    size -= 127
    prefix = b"\x7f"
    while size >= 128:
        prefix += bytes([size % 128 + 128])
        size //= 128
    return prefix + bytes([size]) + data
