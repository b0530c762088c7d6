"""PaTH: what lies between two tokens moves the key, by one Householder-like matrix for each token, on its way to the query.

It is neither a rotation at a position nor a bias: the matrices depend on content and do not commute, so a pair's score is known
only from all tokens between. Source: Yang et al. 2025, arXiv 2505.16381; read in fla (`fla/layers/path_attn.py` at commit
27289fc, `naive_path_attn` of its tests at commit 0675f13).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize

from ordinate.arguments import check_integer
from ordinate.position.base import PositionEncoding, full_precision, under_transform, values_at_hand
from ordinate.position.bias.content import OrderedKeys, check_content, check_key_heads, key_value_heads, usual_scale

__all__ = ["PaTH", "path_scores", "path_scores_by_products"]

_CHUNK = 64  # keys whose matrices are multiplied out at once, as many as a head has channels


class PaTH(PositionEncoding):
    """Scores through a product of matrices, one for each token after the key, up to the query.

    score(i, j) = scale q_i . (M_i M_(i-1) ... M_(j+1) k_j) with M_t = I - b_t w_t w_t^T, where w_t is a unit vector and b_t a
    number between 0 and 2, both read off the keys of token t, all key heads side by side: w_t = normalise(U V k_t) through
    `rank` channels and b_t = 2 sigmoid(u . k_t + c), for each key-value head.

    The paper reads them off the layer's input, of which keys are a linear function, and puts a convolution of three tokens
    before the normalisation, which is left out here. Keys should come unturned: put no rotation beside it. Together with
    `ForgetGates`, as a sequence, it is the paper's PaTH-FoX.

    Tokens that no query sees by the mask (padding) move nothing, and packed documents nothing of each other. Causal: a key
    ahead of its query is to be hidden. Work is done in chunks of 64 keys; with `impl="blocked"` memory is linear in the number
    of tokens, in training too. A decode step costs a fixed multiple of plain attention, since the matrices of all cached keys
    are formed again.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head.
        num_key_value_heads: heads G of the keys, H by default.
        rank: channels between V and U; None for one full matrix.

    Raises:
        ArgumentError: sizes below 1, heads that do not divide.

    Source: Yang et al. 2025, arXiv 2505.16381, sections 3.1 and 3.2.

    >>> path = PaTH(2, 8)
    >>> q, k = torch.randn(2, 1, 2, 5, 8)
    >>> path.scores(q, k, torch.arange(5), torch.arange(5)).shape
    torch.Size([1, 2, 5, 5])
    """

    reads_mask = True

    def __init__(self, num_heads: int, head_dim: int, *, num_key_value_heads: int | None = None, rank: int | None = 32) -> None:
        super().__init__()
        self.num_heads, self.head_dim, self.rank = num_heads, head_dim, rank
        self.num_key_value_heads = key_value_heads(num_heads, head_dim, num_key_value_heads)
        width = self.num_key_value_heads * head_dim
        if rank is not None:
            check_integer("rank", rank, minimum=1)
            self.narrow = nn.Linear(width, rank, bias=False)
        self.direction = nn.Linear(width if rank is None else rank, width, bias=False)
        self.strength = nn.Linear(width, self.num_key_value_heads)

    def reset_parameters(self) -> None:
        """Draw the projections anew, as `nn.Linear` does."""
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]

    def matrices(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """w [B, G, S, D], of length 1, and b [B, G, S], from 0 to 2, of the tokens of `key` [B, G, S, D]; float32 or wider."""
        check_key_heads(key, self.num_key_value_heads)
        wide = torch.promote_types(key.dtype, torch.float32)
        beside = key.to(wide).transpose(1, 2).flatten(-2)
        directions = beside if self.rank is None else linear(beside, self.narrow.weight.to(wide))
        directions = linear(directions, self.direction.weight.to(wide)).unflatten(-1, key.shape[1::2]).transpose(1, 2)
        strengths = 2 * linear(beside, self.strength.weight.to(wide), self.strength.bias.to(wide)).sigmoid()
        return normalize(directions, dim=-1), strengths.transpose(1, 2)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        scale: float | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        """`scores`, with the same arguments."""
        return self.scores(query, key, query_positions, key_positions, scale, visible)

    @full_precision
    def scores(
        self,
        query: Tensor,
        key: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        scale: float | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        """[B, H, T, S], float32 or wider.

        Args:
            query: [B, H, T, D].
            key: [B, G, S, D]: every key that the query may see, cached ones included, since all move those before them.
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S]. Keys are taken in the order of their
                positions, or, where a row repeats a position (packed documents), in the order in which they stand.
            scale: factor on the products, 1 / sqrt(D) by default.
            visible: bool, broadcasts to [B, H, T, S]: keys that count, if they are not ahead of the query. None: all.

        Raises:
            ShapeError: sizes that do not fit.
        """
        wide, keys = check_content(query, key, query_positions, key_positions, num_heads=self.num_heads, head_dim=self.head_dim)
        assert keys is not None
        ordered = OrderedKeys.of(keys, query_positions, key_positions, visible)
        directions, strengths = self.matrices(ordered.keys)
        if ordered.seen is not None:
            strengths = strengths * ordered.seen.unsqueeze(1)  # padding moves nothing
        chunk = _CHUNK if values_at_hand(keys) and not under_transform() else keys.shape[2]
        scores = ordered.back(path_scores(wide, ordered.keys, directions, strengths, ordered.reach, chunk=chunk))
        return scores * (usual_scale(wide) if scale is None else scale)


def path_scores(
    query: Tensor, key: Tensor, directions: Tensor, strengths: Tensor, reach: Tensor, *, chunk: int = _CHUNK
) -> Tensor:
    """q_i . (M_r ... M_(j+1) k_j) for every pair, r the last key that the query i reaches: [B, H, T, S], not scaled.

    The product of the matrices of one chunk is I - W^T A^-1 diag(b) W, with A the unit lower triangle of I + diag(b) W W^T
    (the paper's UT transform). From the last chunk to the first, each query meets the keys of a chunk as they leave it, and
    is then taken back through the chunk's product: work for T S (chunk + 3 D) products, and no [S, S] tensor.

    Args:
        query: [B, H, T, D].
        key, directions: [B, G, S, D].
        strengths: [B, G, S].
        reach: integers [B or 1, T]; -1 for none.
        chunk: keys at once; all of them give the paper's formula as one equation.
    """
    batch, heads, tokens, channels = query.shape
    groups, keys = key.shape[1:3]
    if keys == 0:
        return query.new_zeros(batch, heads, tokens, 0)
    query = query.reshape(batch, groups, heads // groups * tokens, channels)
    reach = reach.repeat(1, heads // groups)[:, None, :, None]
    few = chunk != keys and query.shape[2] <= chunk  # a decode step: cheaper to solve for the queries than for the keys
    parts = []
    for start in [0] if chunk == keys else reversed(range(0, keys, chunk)):
        k, w, b = (x[:, :, start : start + chunk] for x in (key, directions, strengths))
        weighted = w * b.unsqueeze(-1)
        products = weighted @ torch.cat((k, w), 2).transpose(-1, -2)
        among, lower = products[..., : k.shape[2]], products[..., k.shape[2] :]  # an export cannot follow a split
        number = torch.arange(start, start + k.shape[2], device=key.device)
        seen = (query @ w.transpose(-1, -2)).where(number <= reach, 0.0)
        right = torch.cat((among.tril(-1), weighted), -1)
        if few:
            moved = torch.linalg.solve_triangular(lower, seen, upper=False, left=False, unitriangular=True) @ right
        else:
            moved = seen @ torch.linalg.solve_triangular(lower, right, upper=False, unitriangular=True)
        parts.append(query @ k.transpose(-1, -2) - moved[..., : k.shape[2]])
        query = query - moved[..., k.shape[2] :]
    return torch.cat(parts[::-1], -1).reshape(batch, heads, tokens, keys)


def path_scores_by_products(query: Tensor, key: Tensor, directions: Tensor, strengths: Tensor) -> Tensor:
    """The same, token by token as the paper defines it, for queries at the places of the keys: the reference, causal.

    Each token's matrix is applied to all keys before it; then its own key and its query come in. [B, H, T, T], 0 ahead.
    """
    shared = query.shape[1] // key.shape[1]
    key, directions, strengths = (x.repeat_interleave(shared, 1) for x in (key, directions, strengths))
    rows, moved = [], key[:, :, :0]
    for t in range(key.shape[2]):
        w, b = directions[:, :, t : t + 1], strengths[:, :, t : t + 1, None]
        moved = torch.cat((moved - b * (moved @ w.transpose(-1, -2)) * w, key[:, :, t : t + 1]), 2)
        rows.append(torch.nn.functional.pad(query[:, :, t : t + 1] @ moved.transpose(-1, -2), (0, key.shape[2] - t - 1)))
    return torch.cat(rows, 2)
