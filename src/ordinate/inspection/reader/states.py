"""What recurrent and convolutional layers keep of a sequence, whatever its length: in the model's dtype and in float32.

Each reader takes the settings of a part and returns a `State`, or the reason why its size is unknown. The sizes are those of
the caches that transformers 5.24 makes (`LinearAttentionLayer` in cache_utils.py: convolution states keep `kernel` columns in
the model's dtype, recurrences are float32), measured in the tests on small models of every family.

Sources: Gu and Dao 2023, arXiv 2312.00752 (Mamba); Dao and Gu 2024, arXiv 2405.21060 (Mamba 2); Yang et al. 2024, arXiv
2412.06464 (gated delta rule); Kimi team 2025, arXiv 2510.26692 (KDA); MiniMax 2025, arXiv 2501.08313 (lightning attention); De
et al. 2024, arXiv 2402.19427 (RG-LRU); Peng et al. 2023, arXiv 2305.13048 (RWKV).
"""

from __future__ import annotations

from collections.abc import Callable

from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import State, Value

__all__ = [
    "StateReader",
    "compressed_convolution",
    "delta_rule",
    "four_convolutions",
    "kimi_delta",
    "lightning",
    "mamba",
    "mamba2",
    "recurrent_gemma",
    "rwkv",
    "short_convolution",
]


EXPAND_LIMIT = 2**12
"""No state space is this many times as wide as its stream."""

StateReader = Callable[[Section, str, Value], "State | str"]
"""From the settings, the kind of layer and the width of the stream to a state, or to the reason why it is unknown."""


def _missing(**values: Value) -> str:
    lacking = [name for name, value in values.items() if not value.known]
    return f"the size of the state is unknown: no {' or '.join(lacking)}" if lacking else ""


def delta_rule(section: Section, kind: str, hidden_size: Value) -> State | str:
    """Gated delta rule (Qwen3-Next and kin, OLMo Hybrid): a matrix a value head, and the last columns of q, k and v."""
    key_heads, value_heads = section.width("linear_num_key_heads"), section.width("linear_num_value_heads")
    key, value = section.width("linear_key_head_dim"), section.width("linear_value_head_dim")
    kernel = section.width("linear_conv_kernel_dim")
    heads = section.width("num_attention_heads")  # what OLMo Hybrid's class derives from where a key is missing
    key_heads, value_heads = (each if each.known else heads for each in (key_heads, value_heads))
    if not key.known and hidden_size.known and key_heads.known:
        key = Value(int(0.75 * hidden_size.value / key_heads.value), "derived", "3/4 of the stream's share of a head")
    if not value.known and key.known:
        value = Value(2 * key.value, "derived", "twice the keys")
    if lack := _missing(
        linear_num_key_heads=key_heads, linear_num_value_heads=value_heads, linear_key_head_dim=key,
        linear_value_head_dim=value, linear_conv_kernel_dim=kernel,
    ):  # fmt: skip
        return lack
    channels = 2 * key_heads.value * key.value + value_heads.value * value.value
    matrix = value_heads.value * key.value * value.value
    formula = f"{channels} channels x {kernel.value} + {value_heads.value} heads x {key.value} x {value.value} in float32"
    return State(channels * kernel.value, matrix, formula, kernel.value)


def kimi_delta(*, heads: str = "linear_num_heads", head_dim: str = "linear_head_dim") -> StateReader:
    """Kimi's delta attention: a square matrix a head, and the last columns of q, k and v."""

    def read(section: Section, kind: str, hidden_size: Value) -> State | str:
        number = section.width("linear_attn_config.num_heads", heads, "num_attention_heads")
        width = section.width("linear_attn_config.head_dim", head_dim)
        kernel = section.width("linear_attn_config.short_conv_kernel_size", "linear_conv_kernel_dim", "short_conv_kernel_size")
        if lack := _missing(linear_num_heads=number, linear_head_dim=width, linear_conv_kernel_dim=kernel):
            return lack
        channels = 3 * number.value * width.value
        formula = f"{channels} channels x {kernel.value} + {number.value} heads x {width.value} x {width.value} in float32"
        return State(channels * kernel.value, number.value * width.value**2, formula, kernel.value, 4)

    return read


def mamba(section: Section, kind: str, hidden_size: Value) -> State | str:
    """Mamba's first version: a row of states a channel, and the last columns of the convolution."""
    expand, states = (
        section.number("mamba_expand", "expand", above=0, most=EXPAND_LIMIT),
        section.width("mamba_d_state", "state_size"),
    )
    kernel = section.width("mamba_d_conv", "conv_kernel")
    inner = section.width("intermediate_size") if "expand" in section.defaults else section.width("mamba_d_inner")
    if not inner.known and expand.known and hidden_size.known:
        inner = Value(int(expand.value * hidden_size.value), "derived", f"{expand.value:g} x {hidden_size.value} channels")
    if lack := _missing(mamba_expand=inner, mamba_d_state=states, mamba_d_conv=kernel):
        return lack
    formula = f"{inner.value} channels x {kernel.value} + {inner.value} x {states.value} states in float32"
    return State(inner.value * kernel.value, inner.value * states.value, formula, kernel.value)


def mamba2(section: Section, kind: str, hidden_size: Value) -> State | str:
    """Mamba's second version: a matrix a head; the convolution runs over the input and the groups' two projections."""
    heads = section.width("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads")
    groups = section.width("mamba_n_groups", "mamba_ngroups", "n_groups")
    states = section.width("mamba_d_state", "ssm_state_size", "state_size")
    kernel = section.width("mamba_d_conv", "conv_kernel")
    inner = _mamba2_width(section, heads, hidden_size)
    if lack := _missing(
        mamba_n_heads=heads, mamba_d_head=inner, mamba_n_groups=groups, mamba_d_state=states, mamba_d_conv=kernel
    ):
        return lack
    channels = inner.value + 2 * groups.value * states.value
    formula = (
        f"({inner.value} channels + 2 x {groups.value} groups x {states.value}) x {kernel.value}"
        f" + {inner.value} x {states.value} states in float32"
    )
    return State(channels * kernel.value, inner.value * states.value, formula, kernel.value)


def _mamba2_width(section: Section, heads: Value, hidden_size: Value) -> Value:
    """Channels of all heads: stated, heads x the head's width, or expand x the stream's width."""
    stated = section.width("mamba_d_ssm")
    if stated.known:
        return stated
    spelled = section.find("mamba_d_head")
    automatic = (spelled is not None and spelled[1] == "auto") or (
        section.defaults.get("mamba_d_head") == "auto" and not spelled
    )
    head = None if automatic else section.width("mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim")
    if head is not None and head.known and heads.known:
        return Value(heads.value * head.value, "derived", f"{heads.value} heads x {head.value}")
    expand = section.number("mamba_expand", "expand", above=0, most=EXPAND_LIMIT)
    if expand.known and hidden_size.known:
        return Value(int(expand.value * hidden_size.value), "derived", f"{expand.value:g} x {hidden_size.value} channels")
    return expand


def lightning(section: Section, kind: str, hidden_size: Value) -> State | str:
    """MiniMax's lightning attention: a square matrix a head, in the dtype of the model."""
    heads, head = section.width("num_attention_heads"), section.width("head_dim")
    if not head.known and heads.known and hidden_size.known:
        head = Value(hidden_size.value // heads.value, "derived", f"{hidden_size.value} / {heads.value} heads")
    if lack := _missing(num_attention_heads=heads, head_dim=head):
        return lack
    return State(heads.value * head.value**2, 0, f"{heads.value} heads x {head.value} x {head.value}")


def short_convolution(section: Section, kind: str, hidden_size: Value) -> State | str:
    """LFM's gated convolution: the last columns of the stream."""
    kernel = section.width("conv_L_cache", "conv_kernel_size")
    if lack := _missing(conv_L_cache=kernel, hidden_size=hidden_size):
        return lack
    return State(hidden_size.value * kernel.value, 0, f"{hidden_size.value} channels x {kernel.value}", kernel.value)


def compressed_convolution(section: Section, kind: str, hidden_size: Value) -> State | str:
    """Zaya's attention in a compressed space: two columns of q and k, and one delayed half of the values."""
    heads, groups, head = (section.width(key) for key in ("num_attention_heads", "num_key_value_heads", "head_dim"))
    if lack := _missing(num_attention_heads=heads, num_key_value_heads=groups, head_dim=head):
        return lack
    numbers = 2 * (heads.value + groups.value) * head.value + groups.value * head.value // 2
    return State(numbers, 0, f"2 x ({heads.value} + {groups.value} heads) x {head.value} + {groups.value} x {head.value} / 2")


def four_convolutions(section: Section, kind: str, hidden_size: Value) -> State | str:
    """Inkling: the last columns of keys, values and, twice, the stream, all in float32."""
    prefix = "swa_" if kind == "hybrid_sliding" else ""
    groups, head = section.width(f"{prefix}num_key_value_heads"), section.width(f"{prefix}head_dim")
    kernel = section.width("conv_kernel_size", "sconv_kernel_size")
    if lack := _missing(num_key_value_heads=groups, head_dim=head, conv_kernel_size=kernel, hidden_size=hidden_size):
        return lack
    formula = f"(2 x {groups.value} heads x {head.value} + 2 x {hidden_size.value}) x {kernel.value} in float32"
    return State(0, 2 * (groups.value * head.value + hidden_size.value) * kernel.value, formula)


def recurrent_gemma(section: Section, kind: str, hidden_size: Value) -> State | str:
    """RG-LRU: a number a channel in float32, and the last columns of the convolution."""
    width, kernel = section.width("lru_width"), section.width("conv1d_width")
    if not width.known:
        width = hidden_size
    if lack := _missing(lru_width=width, conv1d_width=kernel):
        return lack
    formula = f"{width.value} channels x ({kernel.value} - 1) + {width.value} in float32"
    return State(width.value * (kernel.value - 1), width.value, formula)


def rwkv(section: Section, kind: str, hidden_size: Value) -> State | str:
    """RWKV 4: the last token twice, and numerator, denominator and maximum of the recurrence in float32."""
    inner = section.width("attention_hidden_size")
    inner = inner if inner.known else hidden_size
    if lack := _missing(hidden_size=hidden_size):
        return lack
    return State(2 * hidden_size.value, 3 * inner.value, f"2 x {hidden_size.value} + 3 x {inner.value} in float32")
