"""GRAPE: positions as group actions, turning in learned planes or adding up along the path between two tokens.

Source: Zhang et al. 2025, arXiv 2512.07805; read in the authors' code, model-architectures/GRAPE at commit 135ee30
(`llama-mha-grape-m-nonctx.py`, `llama-mha-grape-a-pi.py`). Its multiplicative form with planes fixed to pairs of channels and
learned frequencies is `LearnedRotary`; its additive form with one gate a token is `ForgetGates`, with none ALiBi.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from ordinate.alibi_slopes import alibi_slopes
from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError
from ordinate.frequencies import check_base, inverse_frequencies
from ordinate.position.base import QueryKeyEncoding, ScoreBias, full_precision
from ordinate.position.bias.content import OrderedKeys, check_content, grouped_product
from ordinate.position.indices import check_positions
from ordinate.position.rotary.rotation import angle_tables, check_head, rotate_pairs, working_dtype
from ordinate.shapes import check_shape

__all__ = ["GRAPE", "PathIntegralBias"]


class GRAPE(QueryKeyEncoding):
    """x is turned by G(n) = exp(n L), with L the sum of D / 2 commuting rank-2 generators in learned, orthogonal planes.

    L = Q^T diag of (w_c J) Q, with Q an orthogonal matrix (the Cayley transform of a skew-symmetric one), J the quarter turn
    of a pair and w_c learned, positive frequencies. G(n) x = Q^T R(n w) Q x, so scores depend on the distance alone and
    lengths are kept, whatever is learned. It starts as `Rotary` with layout "half". Heads share the planes.

    Args:
        head_dim: channels D of a head, even.
        base: of the frequency schedule that learning starts from.

    Raises:
        ArgumentError: an odd head_dim, a base of 1 or less.

    Source: Zhang et al. 2025, arXiv 2512.07805 (Multiplicative GRAPE, learned commuting subspaces). The authors' published code
    keeps the planes fixed; the learned ones here follow the paper's abstract and that code's frequencies.

    >>> grape = GRAPE(8)
    >>> q, k = grape(torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8), torch.arange(5))
    >>> q.shape, k.shape
    (torch.Size([1, 2, 5, 8]), torch.Size([1, 2, 5, 8]))
    """

    def __init__(self, head_dim: int, *, base: float = 10000.0) -> None:
        super().__init__()
        check_head(head_dim, None)
        check_base(base)
        self.head_dim, self.base = head_dim, base
        self._inv_freq = inverse_frequencies(head_dim, base)
        self.generator = nn.Parameter(torch.empty(head_dim, head_dim))
        self.log_correction = nn.Parameter(torch.empty(head_dim // 2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Back to `Rotary`: planes of channel pairs, the geometric schedule."""
        nn.init.zeros_(self.generator)
        nn.init.zeros_(self.log_correction)

    def planes(self) -> Tensor:
        """Q, float64 [D, D]: two rows of it, half a head apart, span a plane."""
        skew = self.generator.double() - self.generator.double().T
        eye = torch.eye(self.head_dim, dtype=torch.float64, device=skew.device)
        return torch.linalg.solve(eye + skew, eye - skew)

    def inverse_frequencies(self) -> Tensor:
        """Radians per position of each plane as learned so far, float64 [D / 2]."""
        start = torch.tensor(self._inv_freq, dtype=torch.float64, device=self.generator.device)
        return start * self.log_correction.double().exp()

    @full_precision
    def rotate_query(self, query: Tensor, positions: Tensor) -> Tensor:
        """query [B, H, T, D] turned at positions [T] or [B, T]; same shape and dtype, worked in float32 or wider.

        Raises:
            ShapeError: another head_dim, positions that fit neither tokens nor batch.
        """
        return self._turned("query", query, positions)

    @full_precision
    def rotate_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """key [B, G, S, D] turned at positions [S] or [B, S]; the same as `rotate_query`."""
        return self._turned("key", key, positions)

    def _turned(self, name: str, x: Tensor, positions: Tensor) -> Tensor:
        sizes = check_shape(name, x, "B H T D", D=self.head_dim)
        check_positions("positions", positions, length=sizes["T"], batch=sizes["B"])
        wide = working_dtype(x)
        planes = self.planes().to(wide)
        cos, sin = angle_tables(positions, self.inverse_frequencies().to(positions.device), dtype=wide)
        return (rotate_pairs(x.to(wide) @ planes.T, cos, sin, layout="half") @ planes).to(x.dtype)


class PathIntegralBias(ScoreBias):
    """A sum along the path from key to query, each token on it weighed by how the query's own token sees it.

    bias(i, j) = sum over l from j + 1 to i of m_h log sigmoid(k_i . R(l) u_l / D), with k_i the key of the query's own token,
    u_l the key of l scaled to a root mean square of 1, R(l) the turn of every pair of channels by -l radians, and m_h ALiBi's
    slope of the head. Nothing is learned beside the keys themselves. As in the authors' code, R turns one side alone, so that
    the bias depends on where the row starts. Tokens that the mask hides are not on the path.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head, even.

    Raises:
        ArgumentError: no heads, an odd head_dim.

    Source: Zhang et al. 2025, arXiv 2512.07805 (Additive GRAPE, path integral); the authors' `p_tie_mode="pktie"`.

    >>> bias = PathIntegralBias(2, 8)
    >>> q, k = torch.randn(2, 1, 2, 5, 8)
    >>> bias.bias(torch.arange(5), torch.arange(5), q, k).shape
    torch.Size([1, 2, 5, 5])
    """

    needs_content = True
    reads_mask = True

    def __init__(self, num_heads: int, head_dim: int) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        check_head(head_dim, None)
        self.num_heads, self.head_dim = num_heads, head_dim
        self._slopes = alibi_slopes(num_heads)

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        """[B, H, T, S], 0 or less, float32 or wider.

        Args:
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S].
            query: [B, H, T, D], of which the sizes alone matter.
            key: [B, G, S, D]: every key that the query may see, its own among them.
            scale: not looked at.
            visible: bool, broadcasts to [B, H, T, S]: keys on the path, if they are not ahead of the query. None: all.

        Raises:
            ArgumentError: no query or no key.
            ShapeError: sizes that do not fit.
        """
        _, keys = check_content(query, key, query_positions, key_positions, num_heads=self.num_heads, head_dim=self.head_dim)
        if keys is None or query is None:
            raise ArgumentError("key", expected="the keys, which the path goes through", got=None)
        if keys.shape[2] == 0:
            return keys.new_zeros(keys.shape[0], self.num_heads, query.shape[2], 0)
        ordered = OrderedKeys.of(keys, query_positions, key_positions, visible)
        unit = ordered.keys * (ordered.keys.square().mean(-1, keepdim=True) + torch.finfo(keys.dtype).eps).rsqrt()
        ones = torch.ones(self.head_dim // 2, dtype=torch.float64, device=keys.device)
        turned = rotate_pairs(unit, *angle_tables(-ordered.positions, ones, dtype=keys.dtype), layout="half")
        own = ordered.own(ordered.keys).repeat_interleave(self.num_heads // keys.shape[1], 1)
        slopes = torch.tensor(self._slopes, dtype=keys.dtype, device=keys.device)
        steps = slopes[:, None, None] * logsigmoid(grouped_product(own, turned) / self.head_dim)
        steps = steps.where(ordered.counted.unsqueeze(1), 0.0)
        return ordered.back(steps.flip(-1).cumsum(-1).flip(-1) - steps)
