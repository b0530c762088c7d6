"""T5's relative bias: one learned number a head for each bucket of distances, buckets that grow with the distance.

The borders of the buckets are whole numbers found by exact integer arithmetic. The reference forms the bucket with a float32
logarithm; several borders are exact powers (16, 32 and 64 in T5), where one unit in the last place of that logarithm is one
bucket, so the result hangs on how a library and a device round it. Here a distance is compared with integers.

Source: Raffel et al. 2019, arXiv 1910.10683, section 2.1; the rule is `_relative_position_bucket` of mesh-tensorflow.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position.bias.distance import DistanceBias, ScoreMod, pair_distance

__all__ = ["T5Bias", "bucket_borders"]


def bucket_borders(num_buckets: int, max_distance: int) -> tuple[int, ...]:
    """The first distance of each bucket but bucket 0: `num_buckets - 1` whole numbers that never fall.

    With E = num_buckets // 2 exact buckets and K = num_buckets - E wide ones, a distance n >= E falls into bucket
    E + floor(K log(n / E) / log(M / E)), at most the last. So bucket E + k begins at the smallest n with
    (n / E)^K >= (M / E)^k, which whole numbers decide: n^K >= M^k E^(K - k).

    Raises:
        ArgumentError: fewer than two buckets, or `max_distance` (M) not above E.

    >>> bucket_borders(16, 128)
    (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91)
    """
    for name, number in (("num_buckets", num_buckets), ("max_distance", max_distance)):
        check_integer(name, number)
    if num_buckets < 2:
        raise ArgumentError(
            "num_buckets", expected="at least 2 for each direction", got=num_buckets, hint="T5 has 32, 16 a direction"
        )
    exact = num_buckets // 2
    if max_distance <= exact:
        raise ArgumentError(
            "max_distance",
            expected=f"more than {exact}, the distances that have a bucket of their own",
            got=max_distance,
            hint="raise it, or take fewer buckets: the wide half would have nothing to cover",
        )
    wide = num_buckets - exact
    borders = list(range(1, exact + 1))
    for step in range(1, wide):
        enough = max_distance**step * exact ** (wide - step)  # n^wide must reach this
        n = int(exact * (max_distance / exact) ** (step / wide))  # within one or two of the border; settled below
        while n**wide >= enough:
            n -= 1
        while n**wide < enough:
            n += 1
        borders.append(n)
    return tuple(borders)


class T5Bias(DistanceBias):
    """One learned number for each head and bucket of distances.

    bias(i, j) = weight[bucket(i - j), h]. Half the buckets hold one distance each, the other half grow in equal ratios up to
    `max_distance`, the last one takes everything beyond. Bidirectional, keys at or before the query have the first half of the
    table and keys after it the second; otherwise every key after the query shares bucket 0 with the query's own token.

    T5 adds no bias in cross-attention and does not scale its scores: pass `scale=1.0` to `attend`, and no encoding there. Where
    another model has one across, give both sides their positions; nothing asks for as many queries as keys.

    Args:
        num_heads: query heads H.
        num_buckets: rows of the table, both directions together.
        max_distance: distance from which on all share the last bucket, in tokens.
        bidirectional: for an encoder; False for a decoder.

    The parameter `weight` is [num_buckets, H], as `relative_attention_bias.weight` in T5 checkpoints.

    Raises:
        ArgumentError: fewer than two buckets a direction, or `max_distance` within the exact half.

    Source: Raffel et al. 2019, arXiv 1910.10683, section 2.1; `_relative_position_bucket` of mesh-tensorflow.

    >>> T5Bias(8).buckets(torch.tensor([-1, 0, 1, 8, 128]))
    tensor([17,  0,  1,  8, 15])
    """

    def __init__(self, num_heads: int, *, num_buckets: int = 32, max_distance: int = 128, bidirectional: bool = True) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        num_buckets = check_integer("num_buckets", num_buckets)
        self._borders = bucket_borders(num_buckets // 2 if bidirectional else num_buckets, max_distance)
        self.num_heads, self.num_buckets = num_heads, num_buckets
        self.max_distance, self.bidirectional = max_distance, bidirectional
        self.weight = nn.Parameter(torch.empty(num_buckets, num_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew from N(0, 0.02^2)."""
        nn.init.normal_(self.weight, std=0.02)

    def buckets(self, distance: Tensor) -> Tensor:
        """Bucket, int64 [*], of each distance = query position - key position [*]. (T5's code takes key - query.)

        Raises:
            ArgumentTypeError: distances that are not integers.
        """
        if distance.is_floating_point() or distance.dtype is torch.bool:
            raise ArgumentTypeError(
                "distance", expected="integers: a bucket holds whole tokens", got=str(distance.dtype), hint="pass whole numbers"
            )
        distance = distance.long()
        borders = torch.tensor(self._borders, device=distance.device)
        if not self.bidirectional:
            return torch.bucketize(distance.clamp_min(0), borders, right=True)
        back = torch.bucketize(distance.abs(), borders, right=True)
        return back + (distance < 0) * (self.num_buckets // 2)

    def of_distance(self, distance: Tensor) -> Tensor:
        """[H, *]: the learned number of the distance's bucket."""
        weight = self.weight.to(torch.promote_types(self.weight.dtype, torch.float32))
        return nn.functional.embedding(self.buckets(distance), weight).movedim(-1, 0)

    def score_mod(self, query_positions: Tensor, key_positions: Tensor) -> ScoreMod:
        """The same bias for `flex_attention`: a table [H, 2 max_distance + 1], as farther distances share a bucket."""
        reach = self.max_distance
        table = self.of_distance(torch.arange(-reach, reach + 1, device=self.weight.device)).contiguous()
        distance_of = pair_distance(query_positions, key_positions)
        return lambda score, batch, head, query, key: (
            score + table[head, distance_of(batch, query, key).clamp(-reach, reach) + reach]
        )
