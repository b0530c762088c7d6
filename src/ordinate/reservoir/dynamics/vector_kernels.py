"""The two inner loops of a reservoir step, as vector instructions.

numba's optimiser does not find them: it gathers by an instruction that is slower than single loads, and keeps a batch's sums
in memory. So they are written here in LLVM's language, which compiles to whatever vectors the processor has. `row_dot` is
for one sequence, `row_tile` for a tile of sequences that lie side by side. Only `compiled` imports this file, for it
needs numba.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["row_dot", "row_tile"]

_INT = ir.IntType(64)

_LANE = ir.IntType(32)

_FLOAT = ir.FloatType()


@cache
def row_dot(width: int) -> Any:
    """`(start, stop, indices, counts, x) -> float32`: the sum of `counts[k] x[indices[k]]` over a padded row of edges.

    Args:
        width: edges at a time; `stop - start` is a multiple of it.
    """
    vector = ir.VectorType(_FLOAT, width)

    @intrinsic  # type: ignore[untyped-decorator]
    def dot(typing: Any, start: Any, stop: Any, indices: Any, counts: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            first, last = arguments[:2]
            index_at, count_at, x_at = _pointers(context, builder, signature, arguments, 2, 5)
            total = cgutils.alloca_once_value(builder, ir.Constant(vector, None))
            with cgutils.for_range_slice(builder, first, last, _INT(width), intp=_INT) as (edge, _):
                weights = _floats(builder, count_at, edge, width, signed=_signed(counts))
                gathered: Any = ir.Constant(vector, ir.Undefined)
                for lane in range(width):
                    index = builder.load(builder.gep(index_at, [builder.add(edge, _INT(lane))]))
                    value = builder.load(builder.gep(x_at, [builder.zext(index, _INT)]))
                    gathered = builder.insert_element(gathered, value, _LANE(lane))
                builder.store(_multiply_add(builder, gathered, weights, builder.load(total)), total)
            return _sum(builder, builder.load(total), width)

        return types.float32(types.int64, types.int64, indices, counts, x), generate

    return dot


@cache
def row_tile(width: int, *, onto: bool) -> Any:
    """`(start, stop, indices, counts, x, factor, gains, offset, out, row)`: what arrives at one neuron in `width` sequences.

    `out[row] = offset + factor gains sum_k counts[k] x[indices[k]]` with `x`, `out` [N, width] and `gains` [width].

    Args:
        width: sequences side by side.
        onto: add the bare sum to what `out[row]` holds, without factor, gains and offset.
    """
    vector = ir.VectorType(_FLOAT, width)
    sums = 2  # two sums in turn hide the latency of an addition

    @intrinsic  # type: ignore[untyped-decorator]
    def tile(
        typing: Any,
        start: Any,
        stop: Any,
        indices: Any,
        counts: Any,
        x: Any,
        factor: Any,
        gains: Any,
        offset: Any,
        out: Any,
        row: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            first, last, factor_of, offset_of, row_of = (arguments[at] for at in (0, 1, 5, 7, 9))
            index_at, count_at, x_at = _pointers(context, builder, signature, arguments, 2, 5)
            (gains_at,) = _pointers(context, builder, signature, arguments, 6, 7)
            (out_at,) = _pointers(context, builder, signature, arguments, 8, 9)
            totals = [cgutils.alloca_once_value(builder, ir.Constant(vector, None)) for _ in range(sums)]

            def add(edge: Any, total: Any) -> None:
                index = builder.zext(builder.load(builder.gep(index_at, [edge])), _INT)
                weight = _spread(builder, _floats(builder, count_at, edge, None, signed=_signed(counts)), width)
                there = _vector_at(builder, x_at, builder.mul(index, _INT(width)), width)
                builder.store(_multiply_add(builder, builder.load(there, align=4), weight, builder.load(total)), total)

            whole = builder.add(first, builder.and_(builder.sub(last, first), _INT(-sums)))
            with cgutils.for_range_slice(builder, first, whole, _INT(sums), intp=_INT) as (edge, _):
                for at in range(sums):
                    add(builder.add(edge, _INT(at)), totals[at])
            with cgutils.for_range_slice(builder, whole, last, _INT(1), intp=_INT) as (edge, _):
                add(edge, totals[0])
            total = builder.load(totals[0])
            for other in totals[1:]:
                total = builder.fadd(total, builder.load(other))
            there = _vector_at(builder, out_at, builder.mul(row_of, _INT(width)), width)
            if onto:
                total = builder.fadd(total, builder.load(there, align=4))
            else:
                gained = builder.load(_vector_at(builder, gains_at, _INT(0), width), align=4)
                strength = builder.fmul(gained, _spread(builder, factor_of, width))
                total = _multiply_add(builder, total, strength, _spread(builder, offset_of, width))
            builder.store(total, there, align=4)
            return context.get_dummy_value()

        real, whole = types.float32, types.int64
        return types.void(whole, whole, indices, counts, x, real, gains, real, out, whole), generate

    return tile


def _pointers(context: Any, builder: Any, signature: Any, arguments: Any, first: int, last: int) -> list[Any]:
    """Where the data of the array arguments first .. last-1 begin."""
    return [context.make_array(signature.args[at])(context, builder, arguments[at]).data for at in range(first, last)]


def _vector_at(builder: Any, pointer: Any, offset: Any, width: int) -> Any:
    element = pointer.type.pointee
    return builder.bitcast(builder.gep(pointer, [offset]), ir.VectorType(element, width).as_pointer())


def _floats(builder: Any, pointer: Any, offset: Any, width: int | None, *, signed: bool) -> Any:
    """One count, or `width` of them, as float32."""
    element = pointer.type.pointee
    at = builder.gep(pointer, [offset]) if width is None else _vector_at(builder, pointer, offset, width)
    value = builder.load(at, align=element.width // 8 if isinstance(element, ir.IntType) else 4)
    if isinstance(element, ir.FloatType):
        return value
    kind = _FLOAT if width is None else ir.VectorType(_FLOAT, width)
    return builder.sitofp(value, kind) if signed else builder.uitofp(value, kind)


def _signed(array: Any) -> bool:
    return isinstance(array.dtype, types.Integer) and bool(array.dtype.signed)  # type: ignore[attr-defined]


def _spread(builder: Any, value: Any, width: int) -> Any:
    empty = ir.Constant(ir.VectorType(_FLOAT, width), ir.Undefined)
    first = builder.insert_element(empty, value, _LANE(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_LANE, width), None))


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = a.type
    name = f"llvm.fmuladd.v{kind.count}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name), [a, b, c])


def _sum(builder: Any, vector: Any, width: int) -> Any:
    """Add the lanes of a vector, half onto half."""
    while width > 1:
        width //= 2
        low = builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_LANE, width), list(range(width))))
        high = builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_LANE, width), list(range(width, 2 * width))))
        vector = builder.fadd(low, high)
    return builder.extract_element(vector, _LANE(0))
