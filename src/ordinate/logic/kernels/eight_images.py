"""Three steps on eight images at once, as vector instructions: turning a square over, a gate forward, a gate backward.

numba turns loops into vectors, but not loops of a length as short and fixed as eight, so these are written in the compiler's
own vectors, which every processor has or makes of shorter ones. A tile holds signals one after another, eight images each. What
each step computes is written plainly, under the same name, in `reference`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["add_input_gradients", "add_sums", "evaluate_gate", "turn_square"]

_EIGHT, _FOUR = ir.VectorType(ir.FloatType(), 8), ir.VectorType(ir.FloatType(), 4)
_FREELY = ("contract", "reassoc", "nsz")  # rounding may differ from order to order, as in `compiled_rows`
_INDEX, _NUMBER = types.int64, types.float32


class _Vectors:
    """Vector operations where a function is being written."""

    def __init__(self, context: Any, builder: Any) -> None:
        self.context, self.builder = context, builder

    def numbers_of(self, kind: Any, array: Any) -> Any:
        """Where an array's numbers begin."""
        return self.context.make_array(kind)(self.context, self.builder, array).data

    def _at(self, numbers: Any, place: Any, kind: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(numbers, [place]), kind.as_pointer())

    def load(self, numbers: Any, place: Any, kind: Any = _EIGHT) -> Any:
        return self.builder.load(self._at(numbers, place, kind), align=4)

    def store(self, vector: Any, numbers: Any, place: Any, kind: Any = _EIGHT) -> None:
        self.builder.store(vector, self._at(numbers, place, kind), align=4)

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_FREELY)

    def times(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_FREELY)

    def pick(self, a: Any, b: Any, *places: int) -> Any:
        """Numbers of a, then of b, by their places."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))
        return self.builder.shuffle_vector(a, b, mask)

    def spread(self, number: Any) -> Any:
        """Eight times the same."""
        one = self.builder.insert_element(ir.Constant(_EIGHT, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        return self.pick(one, one, *[0] * 8)

    def turned(self, rows: list[Any]) -> list[Any]:
        """Eight vectors as the columns of eight others: pairs of rows, pairs of pairs, then halves."""
        pairs = []
        for k in range(0, 8, 2):
            pairs.append(self.pick(rows[k], rows[k + 1], 0, 8, 1, 9, 4, 12, 5, 13))
            pairs.append(self.pick(rows[k], rows[k + 1], 2, 10, 3, 11, 6, 14, 7, 15))
        fours = []
        for k in (0, 1, 4, 5):
            fours.append(self.pick(pairs[k], pairs[k + 2], 0, 1, 8, 9, 4, 5, 12, 13))
            fours.append(self.pick(pairs[k], pairs[k + 2], 2, 3, 10, 11, 6, 7, 14, 15))
        low = [self.pick(fours[k], fours[k + 4], 0, 1, 2, 3, 8, 9, 10, 11) for k in range(4)]
        return low + [self.pick(fours[k], fours[k + 4], 4, 5, 6, 7, 12, 13, 14, 15) for k in range(4)]

    def sums(self, vectors: list[Any]) -> Any:
        """The sum of each of four vectors, as one vector of four."""
        halves = [self.add(self.pick(v, v, 0, 1, 2, 3), self.pick(v, v, 4, 5, 6, 7)) for v in vectors]
        while len(halves) > 1:
            halves = [
                self.add(self.pick(a, b, 0, 2, 4, 6), self.pick(a, b, 1, 3, 5, 7))
                for a, b in zip(halves[::2], halves[1::2], strict=True)
            ]
        return halves[0]


def _written(arguments: tuple[Any, ...], write: Callable[..., None]) -> Any:
    """A function without a result, for numba: `write` gets the vectors, then for an array its numbers, else the value."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vectors = _Vectors(context, builder)
        operands = [
            vectors.numbers_of(kind, value) if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, values, strict=True)
        ]
        write(vectors, *operands)
        return context.get_dummy_value()

    return types.void(*arguments), generate


@intrinsic  # type: ignore[untyped-decorator]
def turn_square(typing: Any, source: Any, start: Any, pitch: Any, target: Any, place: Any, step: Any) -> Any:
    """Eight rows of eight from `source`, `pitch` apart, as the columns of eight rows of `target`, `step` apart."""

    def write(v: _Vectors, source: Any, start: Any, pitch: Any, target: Any, place: Any, step: Any) -> None:
        def row(first: Any, apart: Any, k: int) -> Any:
            return v.builder.add(first, v.builder.mul(ir.Constant(ir.IntType(64), k), apart))

        rows = [v.load(source, row(start, pitch, k)) for k in range(8)]
        for k, column in enumerate(v.turned(rows)):
            v.store(column, target, row(place, step, k))

    return _written((source, _INDEX, _INDEX, target, _INDEX, _INDEX), write)


@intrinsic  # type: ignore[untyped-decorator]
def evaluate_gate(
    typing: Any, tile: Any, first: Any, second: Any, a0: Any, a1: Any, a2: Any, a3: Any, out: Any, place: Any
) -> Any:
    """z = a0 + a1 x + a2 y + a3 x y into `out` at `place`, from `tile` at `first` and `second`."""

    def write(
        v: _Vectors, tile: Any, first: Any, second: Any, a0: Any, a1: Any, a2: Any, a3: Any, out: Any, place: Any
    ) -> None:
        x, y = v.load(tile, first), v.load(tile, second)
        a0, a1, a2, a3 = map(v.spread, (a0, a1, a2, a3))
        v.store(v.add(v.add(a0, v.times(a1, x)), v.times(y, v.add(a2, v.times(a3, x)))), out, place)

    return _written((tile, _INDEX, _INDEX, *[_NUMBER] * 4, out, _INDEX), write)


@intrinsic  # type: ignore[untyped-decorator]
def add_sums(typing: Any, tile: Any, first: Any, second: Any, gradient: Any, at: Any, sums: Any, place: Any) -> Any:
    """Add the sums of g, g x, g y and g x y to the four numbers of `sums` at `place`."""

    def write(v: _Vectors, tile: Any, first: Any, second: Any, gradient: Any, at: Any, sums: Any, place: Any) -> None:
        x, y, g = v.load(tile, first), v.load(tile, second), v.load(gradient, at)
        by_x = v.times(g, x)
        partial = v.sums([g, by_x, v.times(g, y), v.times(by_x, y)])
        v.store(v.add(v.load(sums, place, _FOUR), partial), sums, place, _FOUR)

    return _written((tile, _INDEX, _INDEX, gradient, _INDEX, sums, _INDEX), write)


@intrinsic  # type: ignore[untyped-decorator]
def add_input_gradients(
    typing: Any, tile: Any, first: Any, second: Any, a1: Any, a2: Any, a3: Any, gradient: Any, at: Any, target: Any
) -> Any:
    """Add g (a1 + a3 y) to `target` at `first` and g (a2 + a3 x) at `second`, one after the other: they may be one place."""

    def write(
        v: _Vectors, tile: Any, first: Any, second: Any, a1: Any, a2: Any, a3: Any, gradient: Any, at: Any, target: Any
    ) -> None:
        x, y, g = v.load(tile, first), v.load(tile, second), v.load(gradient, at)
        a1, a2, a3 = map(v.spread, (a1, a2, a3))
        v.store(v.add(v.load(target, first), v.times(g, v.add(a1, v.times(a3, y)))), target, first)
        v.store(v.add(v.load(target, second), v.times(g, v.add(a2, v.times(a3, x)))), target, second)

    return _written((tile, _INDEX, _INDEX, *[_NUMBER] * 3, gradient, _INDEX, target), write)
