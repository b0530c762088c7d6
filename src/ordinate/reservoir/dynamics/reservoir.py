"""A connectome as a recurrent network that is driven, recorded and read out, and never trained.

A step is a pure function of state and input. Nothing is added that was not asked for (no bias, no noise, no random input
weights), the weights are taken as they are, and no step is dropped: a run of T inputs gives T states. Compiled kernels run
where they can, scipy's sparse product otherwise, with equal results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_number
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.extras import install_command
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.connectome.spectrum import times
from ordinate.reservoir.dynamics.input_weights import channel_weights
from ordinate.reservoir.dynamics.interface import Dynamics, State, real_array
from ordinate.reservoir.dynamics.leaky import LeakyRate
from ordinate.reservoir.seeds import Seed, optional_generator

if TYPE_CHECKING:
    pass
import warnings
from importlib.util import find_spec
from typing import NamedTuple

from ordinate.errors import MissingExtraError

__all__ = ["COMPILED_ACTIVATIONS", "IMPLEMENTATIONS", "Generated", "Reservoir", "growth_expected"]

Array = npt.NDArray[Any]

_CHUNK_STEPS = 512

_GROWTH = 1e6
"""Times its input or initial state that the activity of units without a bound may reach before a warning."""


IMPLEMENTATIONS = ("auto", "compiled", "scipy")

COMPILED_ACTIVATIONS = ("tanh", "sigmoid", "relu", "identity")


@contextmanager
def growth_expected() -> Iterator[None]:
    """Without the warning of growing activity: where many gains are tried, the largest are meant to show it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "activity of neuron", RuntimeWarning)
        yield


class Generated(NamedTuple):
    """What a closed loop gives.

    Args:
        outputs: of the read-out, [T, O] or [B, T, O].
        states: recorded activity, [T, R] or [B, T, R].
        state: after the last step.
    """

    outputs: Array
    states: Array
    state: State


class Reservoir:
    """A fixed recurrent network, wired as a connectome is: `x(t+1) = (1 - a) x(t) + a f(gain x(t) W + u(t) W_in + bias)`.

    Args:
        connectome: N neurons. Its weights are used as they are; scale them first by `ordinate.reservoir.gain.normalise`.
        inputs: one query (or list of indices) for each of the F input channels; every neuron named gets the channel with
            weight 1. `()` for none.
        input_weights: or the whole input matrix, [F, N].
        feedback_weights: [O, N]; what a read-out feeds back, one step later.
        leak_rate: a, in (0, 1], a number or [N]; 1 if not given.
        activation: f, by name or a function; "tanh" if not given. See `LeakyRate`.
        bias: a number or [N]; 0 if not given.
        dynamics: in place of the last three: `LeakyRate`, `LeakyIntegrateAndFire` or `Memristive`.
        gain: a further factor of the recurrent weights; a run may give one for each sequence of a batch.
        noise: standard deviation of Gaussian noise, fresh for every neuron, step and sequence, added to what arrives; a
            run then needs a seed.
        dtype: of states and arithmetic, float32 or float64.
        impl: "compiled" (numba, float32, leaky rate units), "scipy", or "auto" for the first where it can.

    Raises:
        ArgumentError: inputs that are given twice or name nobody, weights that are not finite, or settings beside `dynamics`.
        ShapeError: weights for another number of neurons.
        RefusedError: `impl="compiled"` for what cannot be compiled.
        MissingExtraError: `impl="compiled"` without numba.

    Source: Jaeger 2001, GMD report 148; leaky units: Jaeger et al. 2007, doi 10.1016/j.neunet.2007.04.016.

    >>> from ordinate.reservoir.connectome.gain import normalise
    >>> connectome = normalise(Connectome.synthetic(), "spectral_radius", 0.9)
    >>> reservoir = Reservoir(connectome, inputs=["sensory & left", "sensory & right"])
    >>> states = reservoir.run([[1.0, 0.0]] * 5)
    >>> states.shape, states.dtype.name
    ((5, 100), 'float32')
    >>> left, right = (states[-1, connectome.select(f"descending & {side}")].mean() for side in ("left", "right"))
    >>> bool(left > right)
    True
    """

    def __init__(
        self,
        connectome: Connectome,
        *,
        inputs: Iterable[Any] | None = None,
        input_weights: npt.ArrayLike | None = None,
        feedback_weights: npt.ArrayLike | None = None,
        leak_rate: float | Array | None = None,
        activation: str | Callable[[Array], Array] | None = None,
        bias: npt.ArrayLike | None = None,
        dynamics: Dynamics | None = None,
        gain: float = 1.0,
        noise: float = 0.0,
        dtype: npt.DTypeLike = np.float32,
        impl: str = "auto",
    ) -> None:
        self.connectome = connectome
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ArgumentTypeError("dtype", expected="float32 or float64", got=str(self.dtype))
        if inputs is not None and input_weights is not None:
            raise ArgumentError("inputs", expected="inputs or input_weights", got="both")
        if inputs is not None:
            input_weights = channel_weights(connectome, inputs)
        elif input_weights is None:
            if feedback_weights is None:
                raise ArgumentError(
                    "inputs", expected="inputs, input_weights or feedback_weights", got="none", hint="inputs=() for none at all"
                )
            input_weights = np.zeros((0, connectome.num_neurons))
        largest = float(np.abs(connectome.weights.data).max(initial=0.0))
        range_ = np.finfo(self.dtype)
        if largest > float(range_.max) or 0 < largest < float(range_.tiny):
            raise RefusedError(
                "connectome",
                expected=f"weights that {self.dtype} can represent",
                got=f"up to {largest:.3g}",
                hint="scale them first (ordinate.reservoir.normalise)",
            )
        self.input_weights = self._matrix("input_weights", input_weights)
        self.feedback_weights = None if feedback_weights is None else self._matrix("feedback_weights", feedback_weights)
        settings = {"leak_rate": leak_rate, "activation": activation, "bias": bias}
        chosen = {name: value for name, value in settings.items() if value is not None}
        if dynamics is not None and chosen:
            raise ArgumentError(
                "dynamics", expected=f"no {' or '.join(chosen)} beside it", got="both", hint="give them to the dynamics itself"
            )
        self.dynamics = LeakyRate(**chosen) if dynamics is None else dynamics  # type: ignore[arg-type]
        for name in ("leak_rate", "bias"):
            if np.shape(getattr(self.dynamics, name, 0.0)) not in ((), (connectome.num_neurons,)):
                raise ShapeError(
                    name,
                    expected=f"a number or [{connectome.num_neurons}]",
                    got=str(list(np.shape(getattr(self.dynamics, name)))),
                    hint="one value a neuron",
                )
        self.gain, self.noise = check_number("gain", gain), check_number("noise", noise, minimum=0)
        self.impl = _chosen_impl(impl, self.dynamics, self.dtype)

    def _matrix(self, name: str, values: npt.ArrayLike) -> Array:
        matrix = np.array(values, dtype=self.dtype, ndmin=2)
        if matrix.ndim != 2 or matrix.shape[1] != self.num_neurons:
            raise ShapeError(name, expected=f"[*, {self.num_neurons}]", got=str(list(matrix.shape)), hint="one column a neuron")
        if not np.isfinite(matrix).all():
            raise ArgumentError(name, expected="finite numbers", got="NaN or infinity")
        matrix.flags.writeable = False
        return matrix

    # --- what dynamics may know (the protocol `Wiring`) ----------------------------------------------------------------

    @property
    def num_neurons(self) -> int:
        """Neurons N."""
        return self.connectome.num_neurons

    @property
    def num_channels(self) -> int:
        """Input channels F."""
        return int(self.input_weights.shape[0])

    @cached_property
    def _incoming(self) -> Any:
        return self.connectome.incoming.astype(self.dtype)

    def propagate(self, activity: Array) -> Array:
        """What `Connectome.propagate` computes, in the dtype of the states."""
        if activity.ndim == 1:
            return times(self._incoming, activity)
        return np.ascontiguousarray(np.asarray(self._incoming @ activity.T).T)

    @cached_property
    def _compiled(self) -> Any:
        from ordinate.reservoir.dynamics.compiled import CompiledRun

        return CompiledRun(self.connectome.incoming, self.input_weights, self.dynamics)  # type: ignore[arg-type]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_compiled", "_incoming")}

    def __repr__(self) -> str:
        return f"<Reservoir of {self.connectome!r}, {self.num_channels} channels, {self.dynamics}, {self.impl}>"

    # --- running -------------------------------------------------------------------------------------------------------

    def initial_state(self, batch: int | None = None) -> State:
        """The state at rest: activity [N], or [B, N] for a batch."""
        return self.dynamics.start(self, (self.num_neurons,) if batch is None else (batch, self.num_neurons))

    def step(
        self,
        state: State,
        inputs: npt.ArrayLike,
        *,
        feedback: npt.ArrayLike | None = None,
        seed: Seed = None,
    ) -> State:
        """The state one step later; a pure function, which changes neither argument.

        Args:
            state: from `initial_state`, `step` or `advance`.
            inputs: [F], or [B, F] for a batch.
            feedback: what was put out one step before, [O] or [B, O], with `feedback_weights`.
            seed: for the noise, where there is any.

        Raises:
            As `run`.
        """
        now = np.asarray(inputs, dtype=self.dtype)
        fed = None if feedback is None else np.asarray(feedback, dtype=self.dtype)[..., None, :]
        return self._run_checked(now[..., None, :], state, None, None, fed, seed)[1]

    def run(
        self,
        inputs: npt.ArrayLike,
        *,
        state: State | Array | None = None,
        record: Any = None,
        gain: npt.ArrayLike | None = None,
        teacher: npt.ArrayLike | None = None,
        seed: Seed = None,
    ) -> Array:
        """The states after each step of a sequence of inputs: as many as there are inputs, none dropped.

        Args:
            inputs: [T, F], or [B, T, F] for a batch of sequences.
            state: where to start; at rest by default, in every call.
            record: a query or indices of the neurons to record, in ascending order; all by default.
            gain: in place of the reservoir's own; a number, or one for each sequence of the batch [B].
            teacher: with `feedback_weights`, the outputs as they should be, [T, O] or [B, T, O]: step t is fed back
                teacher[t-1], and step 0 zeros (teacher forcing).
            seed: for the noise, where there is any; the same seed gives the same bits.

        Returns:
            [T, R] or [B, T, R], of the reservoir's dtype.

        Raises:
            ShapeError: inputs, states, gains or teachers of another shape.
            ArgumentError: NaN or infinity among the inputs, or noise without a seed.
            RefusedError: a state that diverges; the message names the step and a neuron.
        """
        return self.advance(inputs, state=state, record=record, gain=gain, teacher=teacher, seed=seed)[0]

    def advance(
        self,
        inputs: npt.ArrayLike,
        *,
        state: State | Array | None = None,
        record: Any = None,
        gain: npt.ArrayLike | None = None,
        teacher: npt.ArrayLike | None = None,
        seed: Seed = None,
    ) -> tuple[Array, State]:
        """As `run`, and the state after the last step, from which another call goes on exactly."""
        signal = real_array("inputs", inputs, self.dtype)
        fed = None
        if teacher is not None:
            outputs = real_array("teacher", teacher, self.dtype)
            fed = np.concatenate([np.zeros_like(outputs[..., :1, :]), outputs[..., :-1, :]], axis=-2)
        return self._run_checked(signal, state, record, gain, fed, seed)

    def generate(
        self,
        readout: Callable[[Array], Array],
        steps: int,
        *,
        state: State | Array,
        inputs: npt.ArrayLike | None = None,
        record: Any = None,
        gain: npt.ArrayLike | None = None,
        seed: Seed = None,
    ) -> Generated:
        """Run in closed loop: what a read-out puts out comes back into the network.

        Without `feedback_weights` the output is the next input: `y(t) = readout(x(t)), x(t+1) = step(x(t), y(t))`, and
        `outputs[t]` is y(t), so that a network driven by u(0) .. u(T-1) goes on with its forecast of u(T). With them, inputs
        (if there are channels) come from outside and the output is fed back: `x(t+1) = step(x(t), u(t), feedback=y(t))`, and
        `outputs[t]` is y(t+1), the answer to u(t).

        Args:
            readout: from the recorded activity, [R] or [B, R], to outputs, [O] or [B, O].
            steps: how many.
            state: where to start, such as after teacher forcing.
            inputs: with `feedback_weights`, [steps, F] or [B, steps, F].
            record: as in `run`; it is what the read-out sees.
            gain: as in `run`.
            seed: as in `run`.

        Raises:
            ArgumentError: inputs in a loop that makes its own.
            ShapeError: outputs that do not fit what they are fed into.
            RefusedError: a state that diverges.
        """
        now = State(np.asarray(state, dtype=self.dtype)) if not isinstance(state, State) else state
        kept = self.kept(record)
        lead = now.activity.shape[:-1]
        generator = optional_generator(seed)
        fed_back = self.feedback_weights is not None
        if inputs is not None and not fed_back:
            raise ArgumentError("inputs", expected="none, for the outputs are the inputs", got="some", hint="leave them out")
        external = np.zeros((*lead, steps, 0), dtype=self.dtype) if inputs is None else np.asarray(inputs, dtype=self.dtype)
        if external.shape[-2:] != (steps, self.num_channels if fed_back else 0) or external.shape[:-2] != lead:
            raise ShapeError(
                "inputs",
                expected=f"{[*lead, steps, self.num_channels]}",
                got=str(list(external.shape)),
                hint="one input a step and channel",
            )
        fits = (*lead, len(self.feedback_weights) if self.feedback_weights is not None else self.num_channels)
        outputs: list[Array] = []
        states: list[Array] = []

        def put_out(current: State) -> Array:
            outcome = np.asarray(readout(current.activity[..., kept]), dtype=self.dtype)
            if outcome.shape != fits:
                raise ShapeError(
                    "readout",
                    expected=f"outputs {list(fits)}",
                    got=str(list(outcome.shape)),
                    hint="one output a channel it feeds",
                )
            return outcome

        output = put_out(now)
        for t in range(steps):
            if fed_back:
                now = self._run_checked(external[..., t : t + 1, :], now, None, gain, output[..., None, :], generator, at=t)[1]
                output = put_out(now)
                outputs.append(output)
            else:
                outputs.append(output)
                now = self._run_checked(output[..., None, :], now, None, gain, None, generator, at=t)[1]
                output = put_out(now)
            states.append(now.activity[..., kept])
        if not steps:
            return Generated(np.zeros((*lead, 0, fits[-1])), np.zeros((*lead, 0, kept.size), dtype=self.dtype), now)
        return Generated(np.stack(outputs, axis=-2), np.stack(states, axis=-2), now)

    # --- inside --------------------------------------------------------------------------------------------------------

    def kept(self, record: Any) -> npt.NDArray[np.int64]:
        return np.arange(self.num_neurons) if record is None else self.connectome.select(record, argument="record")

    def _run_checked(
        self,
        inputs: Array,
        state: State | Array | None,
        record: Any,
        gain: npt.ArrayLike | None,
        fed: Array | None,
        seed: Seed,
        at: int = 0,
    ) -> tuple[Array, State]:
        """Validate once, then run in chunks; `at` is the number of the first step, for messages."""
        if inputs.ndim not in (2, 3) or inputs.shape[-1] != self.num_channels:
            raise ShapeError(
                "inputs",
                expected=f"[T, {self.num_channels}] or [B, T, {self.num_channels}]",
                got=str(list(inputs.shape)),
                hint="give one number a step and channel",
            )
        if not np.isfinite(inputs).all():
            raise ArgumentError("inputs", expected="finite numbers", got="NaN or infinity", hint="mend the data first")
        batch = None if inputs.ndim == 2 else inputs.shape[0]
        now = begun = self._begun(state, batch)
        strength = self._strength(gain, batch)
        if (fed is None) != (self.feedback_weights is None):
            raise ArgumentError(
                "teacher",
                expected="feedback exactly where there are feedback_weights",
                got="none" if fed is None else "some",
            )
        if (
            fed is not None
            and self.feedback_weights is not None
            and fed.shape != (*inputs.shape[:-1], len(self.feedback_weights))
        ):
            raise ShapeError(
                "teacher",
                expected=str([*inputs.shape[:-1], len(self.feedback_weights)]),
                got=str(list(fed.shape)),
                hint="one output a step",
            )
        generator = optional_generator(seed)
        if self.noise and generator is None:
            raise ArgumentError("seed", expected="a seed or generator, for there is noise", got="none", hint="give seed=0")
        kept = self.kept(record)
        steps = inputs.shape[-2]
        parts: list[Array] = []
        for start in range(0, steps, _CHUNK_STEPS):
            part = slice(start, min(start + _CHUNK_STEPS, steps))
            extra = self._extra(inputs[..., part, :], None if fed is None else fed[..., part, :], generator)
            states, now = self._chunk(now, inputs[..., part, :], extra, strength, kept, generator, at + start)
            parts.append(states)
        self._warn_of_growth(begun, inputs, now)
        if not parts:
            return np.zeros((*inputs.shape[:-1], kept.size), dtype=self.dtype), now
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-2), now

    def _begun(self, state: State | Array | None, batch: int | None) -> State:
        if state is None:
            return self.initial_state(batch)
        begun = state if isinstance(state, State) else State(np.asarray(state, dtype=self.dtype))
        shape = (self.num_neurons,) if batch is None else (batch, self.num_neurons)
        if begun.activity.shape != shape:
            raise ShapeError(
                "state", expected=str(list(shape)), got=str(list(begun.activity.shape)), hint="see initial_state(batch)"
            )
        if not np.isfinite(begun.activity).all():
            raise ArgumentError("state", expected="finite numbers", got="NaN or infinity", hint="start from another state")
        return State(np.asarray(begun.activity, dtype=self.dtype), begun.hidden)

    def _strength(self, gain: npt.ArrayLike | None, batch: int | None) -> Array:
        strength = np.asarray(self.gain if gain is None else gain, dtype=self.dtype)
        if strength.shape not in ((), (batch,)) or not np.isfinite(strength).all():
            raise ShapeError(
                "gain", expected="a finite number, or one a sequence of the batch", got=str(gain)[:60], hint="give [B] numbers"
            )
        return strength if strength.ndim == 0 else strength[:, None]

    def _extra(self, inputs: Array, fed: Array | None, generator: np.random.Generator | None) -> Array | None:
        """What arrives beside recurrence, inputs and bias: feedback and noise."""
        extra: Array | None = None
        if fed is not None and self.feedback_weights is not None:
            extra = fed @ self.feedback_weights
        if self.noise and generator is not None:
            # drawn step by step, so that a run cut in two with one generator has the same noise as a whole one
            drawn = generator.standard_normal((inputs.shape[-2], *inputs.shape[:-2], self.num_neurons), dtype=self.dtype)  # type: ignore[arg-type]
            noise = np.moveaxis(drawn, 0, -2) * np.asarray(self.noise, dtype=self.dtype)
            extra = noise if extra is None else extra + noise
        return extra

    def _chunk(
        self,
        now: State,
        inputs: Array,
        extra: Array | None,
        strength: Array,
        kept: npt.NDArray[np.int64],
        generator: np.random.Generator | None,
        at: int,
    ) -> tuple[Array, State]:
        if self.impl == "compiled":
            states, activity, diverged = self._compiled.advance(now.activity, inputs, extra, strength, kept)
            after = State(activity)
            if diverged >= 0:
                raise self._diverged(after, at + diverged)
            return states, after
        drive = inputs @ self.input_weights
        if extra is not None:
            drive = drive + extra
        states = np.empty((*inputs.shape[:-1], kept.size), dtype=self.dtype)
        everyone = kept.size == self.num_neurons  # indices are sorted and distinct
        # bounded units are looked at once, and step by step only if there is something to find
        begun, watched = now, not getattr(self.dynamics, "bounded", False)
        with np.errstate(over="ignore", invalid="ignore"):  # reported below, with the step
            for t in range(inputs.shape[-2]):
                now = self.dynamics.step(self, now, drive[..., t, :], strength, generator)
                if watched and not np.isfinite(now.activity).all():
                    raise self._diverged(now, at + t)
                states[..., t, :] = now.activity if everyone else now.activity[..., kept]
            if not (watched or (np.isfinite(states).all() and np.isfinite(now.activity).all())):
                for t in range(inputs.shape[-2]):
                    begun = self.dynamics.step(self, begun, drive[..., t, :], strength, generator)
                    if not np.isfinite(begun.activity).all():
                        raise self._diverged(begun, at + t)
        return states, now

    def _warn_of_growth(self, begun: State, inputs: Array, now: State) -> None:
        """Without a bound, activity past a spectral radius of 1 grows for a long time before it is infinite: say so early."""
        if getattr(self.dynamics, "bounded", True) or not now.activity.size:
            return
        scale = max(1.0, *(float(np.abs(part).max(initial=0.0)) for part in (begun.activity, inputs @ self.input_weights)))
        largest = int(np.argmax(np.abs(now.activity)))
        reached = float(np.abs(now.activity.flat[largest]))
        if reached > _GROWTH * scale:
            neuron = self.connectome.ids[largest % self.num_neurons]
            warnings.warn(
                f"activity of neuron {neuron} has grown to {reached:.1e}: the activation has no bound, "
                "and the gain is past the edge of stability; lower it, or take tanh",
                RuntimeWarning,
                stacklevel=4,
            )

    def _diverged(self, now: State, step: int) -> RefusedError:
        neuron = int(np.flatnonzero(~np.isfinite(now.activity))[0] % self.num_neurons)
        return RefusedError(
            "state",
            expected="finite activity",
            got=f"a state that diverged: neuron {self.connectome.ids[neuron]} is not finite after step {step}",
            hint="lower the gain (ordinate.reservoir.gain.normalise), or take a bounded activation",
        )


def _chosen_impl(impl: str, dynamics: Dynamics, dtype: np.dtype[Any]) -> str:
    """The implementation that is meant: "compiled" or "scipy".

    Args:
        impl: "auto" takes compiled kernels where numba is installed and they can; a named one is taken or refused.
        dynamics: of the reservoir.
        dtype: of its states.

    Raises:
        UnknownNameError: no implementation of that name.
        RefusedError: "compiled" for dynamics, activations or dtypes that are not.
        MissingExtraError: "compiled" without numba.
    """
    if check_choice("impl", impl, IMPLEMENTATIONS) == "scipy":
        return "scipy"
    compilable = (
        isinstance(dynamics, LeakyRate)
        and dtype == np.float32
        and isinstance(dynamics.activation, str)
        and dynamics.activation in COMPILED_ACTIVATIONS
    )
    if impl == "compiled" and not compilable:
        raise RefusedError(
            "impl",
            expected=f"float32 leaky rate units with activation {', '.join(COMPILED_ACTIVATIONS)}",
            got=f"{dtype} {dynamics}"[:80],
            hint='take impl="scipy"',
        )
    there = find_spec("numba") is not None
    if impl == "compiled" and not there:
        raise MissingExtraError("fast", expected="the package numba", got="none installed", hint=install_command("fast"))
    return "compiled" if compilable and there else "scipy"
