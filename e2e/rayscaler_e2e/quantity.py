"""Kubernetes quantities ("500m", "2Gi", "1e3") as exact fractions, for the stand-ins."""

import math
import re
from fractions import Fraction
from typing import Union

_SUFFIXES = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("kMGTPE", 1)},
    **{letter + "i": Fraction(2 ** (10 * power)) for power, letter in enumerate("KMGTPE", 1)},
}
_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|([a-zA-Z]{0,2}))$")


def parse(quantity: Union[str, int, float]) -> Fraction:
    """The exact value; ValueError when it is not a quantity."""
    match = _FORM.match(str(quantity).strip())
    if not match or (match.group(3) or "") not in _SUFFIXES:
        raise ValueError(f'"{quantity}" is not a Kubernetes quantity')
    number, exponent, suffix = match.groups()
    value = Fraction(number.rstrip(".") or "0") if not number.startswith(".") else Fraction("0" + number)
    if exponent:
        return value * Fraction(10) ** int(exponent)
    return value * _SUFFIXES[suffix or ""]


def ceil(quantity: Union[str, int, float]) -> int:
    """Rounded up to a whole number, as KubeRay does for num-cpus, num-gpus and memory."""
    return math.ceil(parse(quantity))
