"""A rotation is held to its laws in any of the field's shapes, and what it is, is found."""

from __future__ import annotations

import time

import pytest
import torch
from torch import Tensor

from ordinate.errors import ArgumentError, ArgumentTypeError, UnknownNameError
from ordinate.frequencies import DynamicNTK, Llama3, YaRN
from ordinate.position import Rotary
from ordinate.verify import check_rotary
from ordinate.verify.properties.rotary import ROTARY
from tests.verify.proof.correct import EndingStretch, EndingTable, by_offset, with_full_tables

NEAR = ["layout", "direction", "frequencies", "by-position", "factor"]


def wrong(x: Tensor, positions: Tensor) -> Tensor:
    raise RuntimeError("the kernel is not built")


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("settings", [{}, {"rotary_dim": 32}, {"rotary_dim": 16, "rotated_channels": "last"}], ids=str)
def test_what_it_is_is_found_where_nothing_is_stated(layout, settings):
    subject = Rotary(64, layout=layout, base=500000.0, **settings)
    verdict = check_rotary(subject, base=None, only=NEAR, **settings)
    assert verdict.passed, verdict
    assert verdict.identified["layout"] == layout
    assert verdict.identified["base"] == pytest.approx(500000.0, rel=1e-3)
    assert verdict.identified["rotary_dim"] == settings.get("rotary_dim", 64)
    assert verdict.identified["rotated_channels"] == settings.get("rotated_channels", "first")


def test_our_own_rotation_passes_everything_with_angles_as_exact_as_float64():
    verdict = check_rotary(Rotary(64, layout="half"), layout="half", angles="float64")
    assert verdict.passed, verdict
    assert {outcome.status for outcome in verdict.outcomes} == {"passed"}
    assert len(verdict.outcomes) == len(ROTARY) > 28


@pytest.mark.parametrize("subject", [EndingTable(1024, 64), EndingStretch(1024, 64)], ids=lambda one: type(one).__name__)
def test_a_table_that_ends_and_says_so_is_no_fault(subject):
    table = subject.cos_sin
    del subject.cos_sin
    subject.register_buffer("cos_sin", table, persistent=False)
    verdict = check_rotary(subject, skip=["compile"])
    assert verdict.passed, verdict
    assert "at 4096 it raises" in verdict.outcome("distance-alone").evidence
    assert "raises" not in verdict.outcome("module-cast").evidence
    assert not check_rotary(EndingTable(64, 64), only=["distance-alone"]).passed  # too short to be used at all


@pytest.mark.parametrize("scaling", [YaRN(4.0, 4096), Llama3(8.0, 1.0, 4.0, 8192)], ids=repr)
def test_scaled_frequencies_and_their_factor_are_expected(scaling):
    assert check_rotary(Rotary(64, layout="half", scaling=scaling), scaling=scaling, only=NEAR).passed
    plain = check_rotary(Rotary(64, layout="half"), scaling=scaling, only=NEAR)
    assert "frequencies" in [outcome.id for outcome in plain.failed]


def test_a_clear_refusal_is_no_fault_where_the_frequencies_depend_on_the_length():
    scaling = DynamicNTK(2.0, 64)
    verdict = check_rotary(Rotary(64, layout="half", scaling=scaling), scaling=scaling, only=["prefill-equals-decode"])
    assert verdict.outcome("prefill-equals-decode").status == "not applicable"
    assert "it refuses" in verdict.outcome("prefill-equals-decode").evidence


def test_how_it_was_called_and_what_was_assumed_is_told():
    assert "offset" in check_rotary(by_offset, only=NEAR).adapter
    verdict = check_rotary(with_full_tables, only=NEAR)
    assert "full-half" in verdict.adapter
    assert any("B H T D" in sentence for sentence in verdict.assumed)


def test_an_offset_taker_is_not_asked_for_positions_of_rows():
    verdict = check_rotary(by_offset, only=["left-padding", "packing", "offsets"])
    assert [outcome.status for outcome in verdict.outcomes] == ["passed", "not applicable", "not applicable"]


def test_the_counterexample_is_at_the_smallest_position_that_shows_it():
    verdict = check_rotary(lambda x, positions: Rotary(64, layout="half").rotate(x, positions % 512), only=["far-positions"])
    (outcome,) = verdict.failed
    assert outcome.counterexample is not None
    assert outcome.counterexample["position"] == 4095


def test_a_correct_rotation_is_checked_in_under_ten_seconds_of_work():
    check_rotary(by_offset, only=["compile"])  # what torch imports for its compiler is paid once in a process
    begin = time.process_time()
    assert check_rotary(Rotary(64, layout="interleaved")).passed
    assert time.process_time() - begin < 10


def test_the_subjects_own_exception_is_a_failed_property_with_its_message():
    verdict = check_rotary(wrong)
    assert not verdict.passed
    assert verdict.failed[0].id == "answers-in-kind"
    assert "RuntimeError: the kernel is not built" in verdict.failed[0].evidence


def test_an_exception_in_one_property_leaves_the_others_standing():
    def short_only(x: Tensor, positions: Tensor) -> Tensor:
        if positions.max() > 300:
            raise IndexError("table has 300 rows")  # an honest end
        if positions.ndim == 2 and not bool((positions == positions[:1]).all()):
            raise NotImplementedError("ragged rows")
        return Rotary(64, layout="half").rotate(x, positions)

    verdict = check_rotary(short_only, only=["layout", "left-padding", "far-positions"])
    assert verdict.outcome("layout").status == "passed"
    assert "NotImplementedError: ragged rows" in verdict.outcome("left-padding").evidence
    assert verdict.outcome("far-positions").status == "passed"
    assert "IndexError" in verdict.outcome("far-positions").evidence


def test_what_is_no_rotation_is_said_at_once():
    verdict = check_rotary(lambda x, positions: Rotary(64, layout="half").rotate(x, positions).relu())
    assert verdict.summary.startswith("failed: it is no rotation")
    assert {outcome.status for outcome in verdict.outcomes[2:]} == {"not applicable"}


def test_a_subject_that_raises_shows_its_file_and_line():
    line = wrong.__code__.co_firstlineno + 1
    assert f"(test_rotary.py:{line})" in check_rotary(wrong).failed[0].evidence


def test_a_subject_that_hangs_is_a_failed_property():
    def hangs(x: Tensor, positions: Tensor) -> Tensor:
        while True:
            pass

    verdict = check_rotary(hangs, seconds=0.3)
    assert "no answer within 0.3 s" in verdict.failed[0].evidence


def test_nan_numpy_and_a_wrong_device_are_said_in_words():
    def nan(x: Tensor, positions: Tensor) -> Tensor:
        return Rotary(64, layout="half").rotate(x, positions) * float("nan")

    def numpy(x: Tensor, positions: Tensor) -> object:
        return Rotary(64, layout="half").rotate(x, positions).numpy()

    def meta(x: Tensor, positions: Tensor) -> Tensor:
        return x.to("meta")

    assert "not finite" in check_rotary(nan, only=["answers-in-kind"]).failed[0].evidence
    assert "numpy.ndarray" in check_rotary(numpy, only=["answers-in-kind"]).failed[0].evidence
    assert "meta" in check_rotary(meta, only=["answers-in-kind"]).failed[0].evidence


@pytest.mark.parametrize("subject", [3, "rope", None, Rotary])
def test_what_cannot_be_called_is_refused(subject):
    with pytest.raises(ArgumentTypeError, match="subject"):
        check_rotary(subject)


def test_a_fault_that_no_adapter_fits_shows_what_was_tried():
    def odd(alpha: Tensor, beta: Tensor, gamma: Tensor, delta: Tensor, epsilon: Tensor) -> Tensor:
        return alpha

    with pytest.raises(ArgumentError, match=r"order=|wrap it as"):
        check_rotary(odd)

    def narrow(x: Tensor, positions: Tensor) -> Tensor:
        return x[..., : 3 + x.ndim]

    with pytest.raises(ArgumentError, match=r"came back as"):
        check_rotary(narrow)


def test_settings_that_make_no_sense_are_refused():
    for settings in ({"head_dim": 7}, {"rotary_dim": 128}, {"layout": "neox"}, {"base": -1.0}, {"order": "DTHB"}):
        with pytest.raises((ArgumentError, UnknownNameError)):
            check_rotary(Rotary(64, layout="half"), **settings)
    with pytest.raises(ArgumentError, match="offset"):
        check_rotary(Rotary(64, layout="half"), only=["offset"])


def test_a_check_leaves_the_random_state_and_the_subject_as_they_were():
    subject, before = Rotary(64, layout="half"), torch.random.get_rng_state()
    check_rotary(subject, only=["offsets", "module-cast", "gradients"])
    assert torch.equal(torch.random.get_rng_state(), before)
    assert repr(subject) == "Rotary(64, layout='half')"
