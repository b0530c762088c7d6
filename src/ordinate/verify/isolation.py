"""A check in a process of its own, for subjects that end, replace or outlive the process that calls them.

The child imports the subject, checks it and sends its verdict over a private pipe; what the subject prints goes to standard
error. The parent believes nothing but a complete verdict: it recomputes whether that passed, and ends the processes that the
subject left behind. What ends the child without a verdict is a failed property (or wrong use, while the subject is imported).
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ordinate import errors
from ordinate.errors import ArgumentError, DataError, OrdinateError
from ordinate.verify.verdict import Outcome, Verdict

__all__ = ["check_in_process"]

_RUN = "ORDINATE_VERIFY_RUN"  # in the environment of the child, by which its descendants are known
_GONE = object()
_OUTPUT_LIMIT = 1 << 20  # bytes of the subject's own output that are passed on


def check_in_process(
    request: Mapping[str, Any], *, seconds: float = 120.0, progress: Callable[[str], None] = lambda line: None
) -> Verdict:
    """The verdict on a subject that is imported and checked in a process of its own.

    Args:
        request: `subject` (`package.module:object`, `file.py:object`, or a model's folder), `kind`, and where they differ from
            the defaults `settings` of that kind's check, `scaling` (of a rotation, as JSON has it) and `arguments` of a class.
        seconds: after which the process is ended.
        progress: called with what is being done.

    Raises:
        OrdinateError: wrong use: no such subject, a module that does not import, settings that the check does not take.
    """
    run = _Run(request, progress)
    try:
        run.listen(time.monotonic() + seconds)
    finally:
        run.end()
    return run.verdict(seconds)


class _Run:
    """One child process and what came back from it."""

    def __init__(self, request: Mapping[str, Any], progress: Callable[[str], None]) -> None:
        self.request, self.progress = request, progress
        self.nonce, self.name = secrets.token_hex(16), secrets.token_hex(16)
        self.stage, self.timed_out = "starting", False
        self.result: dict[str, Any] | None = None
        self.started, self.passed_on, self.rest = time.monotonic(), 0, b""
        read, write = os.pipe()  # results, from the child
        asked, ask = os.pipe()  # the request, to the child
        command = [sys.executable, "-m", "ordinate.verify.isolation", str(asked), str(write)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(asked, write),
            start_new_session=True,
            env={**os.environ, _RUN: self.name},
        )
        os.close(asked)
        os.close(write)
        with open(ask, "w", encoding="utf-8") as stream:
            json.dump({"nonce": self.nonce, **request}, stream)
        self.results = read

    def listen(self, deadline: float) -> None:
        """Until there is a result, the child is gone, or the time is over."""
        assert self.process.stdout is not None
        output = self.process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            for channel in (self.results, output):
                os.set_blocking(channel, False)
                selector.register(channel, selectors.EVENT_READ)
            while self.result is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    self.timed_out = True
                    return
                gone = self.process.poll() is not None
                ready = selector.select(0 if gone else min(left, 0.05))
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fd)
                    elif key.fd == output:
                        self._pass_on(data)
                    else:
                        self._receive(data)
                if gone and not ready:
                    return
            with contextlib.suppress(BlockingIOError):  # what the subject printed last
                self._pass_on(os.read(output, 1 << 16))

    def _pass_on(self, data: bytes) -> None:
        part = data[: max(0, _OUTPUT_LIMIT - self.passed_on)]
        self.passed_on += len(part)
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(part.decode("utf-8", "replace"))
            sys.stderr.flush()

    def _receive(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if not isinstance(message, dict) or message.get("nonce") != self.nonce:
                continue  # not of the checker
            if "stage" in message:
                self.stage = str(message["stage"])
                self.progress(self.stage)
            else:
                self.result = message

    def end(self) -> None:
        """End the child, its process group, and what left the group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for pid in _processes_of(self.name):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        os.close(self.results)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def verdict(self, seconds: float) -> Verdict:
        """What the result says, or that there is none."""
        if self.result is not None and "error" in self.result:
            raise _error(self.result["error"])
        if self.result is not None and "verdict" in self.result:
            with contextlib.suppress(KeyError, TypeError, ValueError):
                return Verdict.from_dict(self.result["verdict"])
        if self.timed_out:
            return self._failed("time-limit", "The subject answers in time", f"it was stopped after {seconds:g} s")
        code = self.process.returncode
        how = f"it was ended by {_signal_name(-code)}" if code < 0 else f"it ended the process with exit status {code}"
        if self.stage == "starting":
            return self._failed("verdict", "The check comes to a verdict", f"{how} before the subject was imported")
        if self.stage == "importing":
            raise DataError("SUBJECT", expected="a module that imports", got=f"{how} while it was imported")
        return self._failed("verdict", "The check comes to a verdict", f"{how} during {self.stage}")

    def _failed(self, name: str, says: str, evidence: str) -> Verdict:
        wall = time.monotonic() - self.started
        outcome = Outcome(name, says, "failed", evidence)
        subject, kind = str(self.request["subject"]), str(self.request["kind"])
        return Verdict(subject, kind, "the check did not end", (), {}, (outcome,), wall_seconds=wall)


def _processes_of(name: str) -> list[int]:
    """Processes whose environment carries the run's name: those that left the process group too."""
    marker, result = f"{_RUN}={name}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(entry.name) != os.getpid() and marker in (entry / "environ").read_bytes():
                result.append(int(entry.name))
    return result


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _error(record: Mapping[str, Any]) -> OrdinateError:
    kind = getattr(errors, str(record.get("kind")), ArgumentError)
    if not (isinstance(kind, type) and issubclass(kind, OrdinateError)):
        kind = ArgumentError
    parts = {name: str(record.get(name) or "") for name in ("argument", "expected", "got", "hint")}
    return kind(parts["argument"], expected=parts["expected"], got=parts["got"] or None, hint=parts["hint"])


# in the child -----------------------------------------------------------------------------------------------------------


class _Channel:
    """Sends messages to the parent; a fork of the child has nothing to say."""

    def __init__(self, descriptor: int, nonce: str) -> None:
        self._descriptor, self._nonce, self._pid = descriptor, nonce, os.getpid()
        self._dumps, self._write, self._getpid = json.dumps, os.write, os.getpid  # before the subject can replace them

    def send(self, **message: Any) -> None:
        if self._getpid() != self._pid:
            os._exit(1)
        data = (self._dumps({"nonce": self._nonce, **message}, allow_nan=False) + "\n").encode()
        while data:
            data = data[self._write(self._descriptor, data) :]


def _main(asked: int, results: int) -> None:
    with open(asked, encoding="utf-8") as stream:
        request = json.load(stream)
    os.set_inheritable(results, False)
    channel = _Channel(results, request.pop("nonce"))
    leave = os._exit
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt goes to the parent, which ends this process
    try:
        channel.send(**_answer(request, channel))
    except OrdinateError as error:
        got = None if error.got is None else error.got if isinstance(error.got, str) else repr(error.got)
        record = {"kind": type(error).__name__, "argument": error.argument, "expected": error.expected}
        channel.send(error={**record, "got": got, "hint": error.hint})
    except BaseException as error:  # whatever the subject raises
        says, evidence = "The check comes to a verdict", f"it raises {type(error).__name__}: {_text(error)}"
        outcome = Outcome("verdict", says, "failed", evidence)
        verdict = Verdict(request["subject"], request["kind"], "the check did not end", (), {}, (outcome,))
        channel.send(verdict=verdict.to_dict())
    leave(0)  # without the subject's exit handlers and threads


def _answer(request: dict[str, Any], channel: _Channel) -> dict[str, Any]:
    import torch  # noqa: F401  (before the subject, so that its bytecode is kept: compiling it anew takes longer than a check)

    from ordinate.resolve import resolve

    subject, kind = request["subject"], request["kind"]
    from ordinate import verify
    from ordinate.verify.observation import listening

    check = getattr(verify, f"check_{kind}")  # which imports all that a check rests on, before the subject can replace it
    before = _fingerprint()
    channel.send(stage="importing")
    onnx = subject.endswith(".onnx") or ".onnx:" in subject
    thing = subject if onnx or (kind == "model" and Path(subject).is_dir()) else resolve(subject)
    channel.send(stage="the first calls")
    settings = _settings(check, kind, request)
    if isinstance(thing, type):
        thing = _construct(thing, settings, request.get("arguments") or {})
    with listening(lambda name: channel.send(stage=name)):
        verdict = check(thing, name=subject, **settings)
    record = verdict.to_dict()
    after = _fingerprint()
    if replaced := [name for name, value in before.items() if after.get(name, _GONE) is not value]:
        says, evidence = "The subject leaves the checker alone", f"it replaced {replaced[0]}"
        record["outcomes"].append(Outcome("verdict", says, "failed", evidence).to_dict())
    return {"verdict": record}


def _settings(check: Callable[..., Any], kind: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the request; one that the kind does not know is wrong use."""
    settings = dict(request.get("settings") or {})
    if request.get("scaling") is not None:
        from ordinate.spec import PositionSpec

        settings["scaling"] = PositionSpec.from_dict({"encoding": "rotary", "scaling": request["scaling"]}).scaling
    known = inspect.signature(check).parameters
    for name, value in settings.items():
        if name not in known:
            option = "--" + {"causal": "both-sides"}.get(name, name.replace("_", "-"))
            raise ArgumentError(option, expected=f"an option that --kind {kind} takes", got=value)
    return settings


def _construct(kind: type, settings: Mapping[str, Any], arguments: Mapping[str, Any]) -> Any:
    """An object of a class, from the arguments of the command line and what the settings say."""
    from ordinate.arguments import did_you_mean
    from ordinate.verify.adapters.calling import ROLES
    from ordinate.verify.observation import describe_error

    values = {
        "head_dim": settings.get("head_dim", settings.get("dim", 64)),
        "base": settings.get("base"),
        "num_heads": settings.get("num_heads"),
    }
    try:
        known = inspect.signature(kind, eval_str=True).parameters
    except Exception:  # annotations that nothing resolves
        known = inspect.signature(kind).parameters
    passed = dict(arguments)
    takes_any = any(one.kind is one.VAR_KEYWORD for one in known.values())
    for name in passed:
        if name not in known and not takes_any:
            hint = did_you_mean(name, known)
            raise ArgumentError("--args", expected=f"among {list(known)}, what {kind.__name__} takes", got=name, hint=hint)
    for name, parameter in known.items():
        role = next((role for role in values if name.lower() in ROLES[role]), None)
        configures = name.lower() in _CONFIGS or dataclasses.is_dataclass(parameter.annotation)
        wanted = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        if configures and (isinstance(passed.get(name), dict) or (wanted and name not in passed)):
            try:
                passed[name] = _config(parameter.annotation, passed.get(name), settings)
            except TypeError as error:
                expected = f"what {parameter.annotation.__name__} takes"
                raise ArgumentError("--args", expected=expected, got=str(error)) from None
        elif name in passed:
            continue
        elif role is not None and values[role] is not None:
            passed[name] = values[role]
        elif wanted:
            got = f"the class {kind.__name__}, which wants {name}"
            raise ArgumentError("SUBJECT", expected="an object", got=got, hint=f"pass it: --args '{{\"{name}\": ...}}'")
    try:
        return kind(**passed)
    except Exception as error:
        got = f"{kind.__name__}, which raises {describe_error(error, with_line=True)}"
        raise ArgumentError("SUBJECT", expected="a class that can be made", got=got, hint="see --args") from None


_CONFIGS = ("config", "cfg", "model_config", "args", "model_args", "params")


class _Config(dict[str, Any]):
    """Settings as a model's config has them: by key and by attribute."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this config has {', '.join(self)}, and no {name}: pass it with --args") from None


def _config(annotation: Any, given: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> Any:
    """The dataclass that is asked for, or what a config says of a model with these heads."""
    heads = settings.get("num_heads") or 4
    head_dim, base = settings.get("head_dim") or 64, settings.get("base") or 10000.0
    usual = {
        "hidden_size": heads * head_dim,
        "num_attention_heads": heads,
        "num_key_value_heads": settings.get("num_kv_heads") or heads,
        "head_dim": head_dim,
        "rope_theta": base,
        "rope_scaling": None,
        "rope_parameters": {"rope_type": "default", "rope_theta": base},
        "partial_rotary_factor": (settings.get("rotary_dim") or head_dim) / head_dim,
        "max_position_embeddings": 131_072,
    }
    if given and "head_dim" not in given and {"hidden_size", "num_attention_heads"} <= set(given):
        usual["head_dim"] = given["hidden_size"] // given["num_attention_heads"]
    if given and "rope_theta" in given:
        usual["rope_parameters"] = {"rope_type": "default", "rope_theta": given["rope_theta"]}
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        fields = {field.name for field in dataclasses.fields(annotation)}
        return annotation(**{name: value for name, value in usual.items() if name in fields} | dict(given or {}))
    return _Config({**usual, **(given or {})})


def _fingerprint() -> dict[str, Any]:
    """What decides a verdict: functions of this package, and Python's, torch's and numpy's that it is made of.

    The objects themselves, not their identities, which a new object can take over.
    """
    return dict(_parts())


def _parts() -> Iterator[tuple[str, Any]]:
    import torch

    yield "torch's function mode", torch._C._len_torch_function_stack()
    yield "torch's dispatch mode", torch._C._len_torch_dispatch_stack()
    for kind in (torch.Tensor, torch.Tensor.__base__):
        yield from ((f"torch.Tensor.{name}", value) for name, value in list(vars(kind).items()) if callable(value))
    for module_name in (
        "builtins",
        "math",
        "operator",
        "torch",
        "torch.linalg",
        "torch.nn.functional",
        "torch.autograd",
        "numpy",
    ):
        for name, value in list(vars(sys.modules[module_name]).items()):
            if inspect.isbuiltin(value) or type(value).__name__ == "ufunc":  # torch itself wraps some that are in Python
                yield f"{module_name}.{name}", value
    for module_name, module in list(sys.modules.items()):
        if module_name.split(".")[0] != "ordinate":
            continue
        checker = module_name.startswith("ordinate.verify")
        for name, value in list(vars(module).items()):
            if inspect.isfunction(value):
                yield f"{module_name}.{name}", value.__code__
            elif inspect.isclass(value) and value.__module__ == module_name:
                for attribute, member in list(vars(value).items()):
                    decides = inspect.isfunction(member) or isinstance(member, property | staticmethod | classmethod)
                    if decides or (checker and not attribute.startswith("__")):
                        yield f"{module_name}.{name}.{attribute}", getattr(member, "__code__", member)
            elif checker and not name.startswith("__"):
                yield f"{module_name}.{name}", value
                if isinstance(value, list):
                    yield f"the length of {module_name}.{name}", len(value)


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:300]
    except BaseException:
        return "(its message cannot be read)"


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
