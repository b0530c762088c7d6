"""The claims on what training makes of positions: the split of scores is exact, and doctored numbers change the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from ordinate.articles.a import a6_seven_back, a7_stripes, a8_it_with_projections
from ordinate.articles.b import b8_fourth_term_trained, b9_added_late, b10_other_models, b11_translation
from ordinate.articles.c import c14_remedies
from ordinate.articles.d import d27_sentences, d28_heads_on_images
from ordinate.articles.trained_terms import four_terms_of, shares
from ordinate.errors import DataError
from ordinate.lab.measurement import Measurement, Verdict, judge
from ordinate.position import Sinusoidal
from ordinate.sweep.model import SweepDecoder

pytestmark = pytest.mark.usefixtures("undrawn")


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


def test_the_four_terms_add_up_to_the_scores_that_attention_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = SweepDecoder(10, dim=16, layers=1, heads=2, encodings=[Sinusoidal(16)])
    torch.nn.init.uniform_(model.blocks[0].norm_attention.weight, 0.5, 2)  # type: ignore[union-attr, arg-type]
    tokens = torch.randint(10, (3, 7))
    seen = {}

    def watched(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **_: object) -> torch.Tensor:
        seen["scores"] = query @ key.mT / 8**0.5
        return value

    monkeypatch.setattr("ordinate.sweep.model.attend", watched)
    model(tokens, torch.arange(7))
    torch.testing.assert_close(four_terms_of(model, tokens).sum(0).float(), seen["scores"], atol=1e-5, rtol=1e-5)


def test_shares_see_only_what_softmax_sees() -> None:
    terms = torch.zeros(4, 1, 1, 3, 3)
    terms[0, 0, 0] = torch.tensor([[5.0, 9.0, 9.0], [7.0, 7.0, 9.0], [1.0, 1.0, 1.0]])  # even in a row, uneven in the future
    terms[3, 0, 0] = torch.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    torch.testing.assert_close(shares(terms), torch.tensor([0.0, 0.0, 0.0, 1.0]))


def look(weight: float, at: int = 7, accuracy: float = 1.0) -> a6_seven_back.Look:
    return a6_seven_back.Look(weight, accuracy, [weight] * 33, [at] * 4)


def test_a6_heads_that_look_elsewhere_refute_it_and_weight_before_training_says_nothing() -> None:
    def measured(before: float, after: float, at: int = 7) -> Verdict:
        return verdict(a6_seven_back.seven_back([look(before)], [look(after, at)], ""))

    assert measured(0.04, 0.7) is Verdict.REPRODUCED
    assert measured(0.04, 0.2) is Verdict.REFUTED
    assert measured(0.04, 0.7, at=6) is Verdict.REFUTED
    assert measured(0.4, 0.7) is Verdict.NOT_TESTABLE


def test_a7_depends_on_how_much_climbing_training_leaves() -> None:
    def measured(text: float, back: float, raw: float = 0.6) -> Verdict:
        climbs = {"raw": [raw], "before training": [1.4], "trained on text": [text], "trained to look 7 back": [back]}
        return verdict(a7_stripes.stripes(climbs, {name: torch.eye(4) for name in ("raw", "text", "back")}))

    assert measured(0.1, 2.0) is Verdict.CORRECTED
    assert measured(0.1, 0.2) is Verdict.REPRODUCED
    assert measured(0.5, 2.0) is Verdict.REFUTED
    assert measured(0.01, 0.02, raw=0.05) is Verdict.NOT_TESTABLE


def test_a8_projections_that_follow_the_other_rule_refute_it() -> None:
    def attended(animal: float, back: float, here: float = 0.9) -> list[a8_it_with_projections.Attended]:
        return [a8_it_with_projections.Attended([0.0, here, *[0.0] * 10], animal, back)]

    def measured(word: list[a8_it_with_projections.Attended], fresh: float = 0.08) -> Verdict:
        results = {
            "fresh projections": attended(0.1, 0.1, fresh),
            "trained by word": word,
            "trained by place": attended(0.1, 0.9),
        }
        return verdict(a8_it_with_projections.it_with_projections([0.04] * 12, results, ""))

    assert measured(attended(0.9, 0.1)) is Verdict.REPRODUCED
    assert measured(attended(0.1, 0.9)) is Verdict.REFUTED
    assert measured(attended(0.9, 0.1, here=0.2)) is Verdict.REFUTED
    assert measured(attended(0.9, 0.1), fresh=0.5) is Verdict.NOT_TESTABLE


def test_b8_a_fourth_term_that_stays_small_refutes_it_and_one_that_was_large_says_nothing() -> None:
    def measured(before: float, after: float, content: float = 0.01) -> Verdict:
        def terms(fourth: float) -> tuple[float, ...]:
            return (1 - fourth, 0.0, 0.0, fourth)

        return verdict(
            b8_fourth_term_trained.fourth_term(
                {
                    "the token 7 places ago": (terms(before), terms(after)),
                    "the value of a key": (terms(0.03), terms(content)),
                    "the next byte of text": (terms(0.03), terms(0.05)),
                }
            )
        )

    assert measured(0.03, 0.8) is Verdict.REPRODUCED
    assert measured(0.03, 0.3) is Verdict.REFUTED
    assert measured(0.5, 0.8) is Verdict.NOT_TESTABLE
    assert measured(0.03, 0.8, content=0.5) is Verdict.NOT_TESTABLE


def test_b9_depends_on_what_adding_costs_and_what_training_brings() -> None:
    def measured(added: float, tuned: float, start: float = 1.0) -> Verdict:
        run = {"without": 0.2, "added": added, "tuned": tuned, "longer": 0.25, "start": start, "losses": {"a": [1.0]}}
        return verdict(b9_added_late.added_late([run, run], 150, 100))

    assert measured(0.14, 0.6) is Verdict.CORRECTED
    assert measured(0.2, 0.6) is Verdict.REPRODUCED
    assert measured(0.14, 0.3) is Verdict.REFUTED
    assert measured(0.14, 0.6, start=0.3) is Verdict.NOT_TESTABLE


def test_b10_each_model_is_held_to_its_sentence() -> None:
    truth = {
        (name, added, question): 0.98
        if added or name == "recurrent" or (name, question) == ("convolution", "beside each other")
        else 0.51
        for name in ("recurrent", "convolution", "attention")
        for added in (False, True)
        for question in ("beside each other", "anywhere")
    }

    def measured(change: Mapping[tuple[str, bool, str], float]) -> Verdict:
        return verdict(b10_other_models.other_models({key: [value] for key, value in (truth | dict(change)).items()}, ""))

    assert measured({}) is Verdict.REPRODUCED
    assert measured({("recurrent", False, "anywhere"): 0.5}) is Verdict.REFUTED
    assert measured({("attention", False, "beside each other"): 0.9}) is Verdict.REFUTED
    assert measured({("convolution", True, "anywhere"): 0.5}) is Verdict.REFUTED
    assert measured({("attention", True, "anywhere"): 0.5}) is Verdict.NOT_TESTABLE


def test_b10s_questions_have_the_two_tokens_once_and_cannot_be_answered_by_counting() -> None:
    for question in ("beside each other", "anywhere"):
        tokens, zero_first = b10_other_models._rows(500, question, torch.Generator().manual_seed(0))
        assert ((tokens == 0).sum(1) == 1).all()
        assert ((tokens == 1).sum(1) == 1).all()
        first, second = ((tokens == kind).long().argmax(1) for kind in (0, 1))
        assert torch.equal(first < second, zero_first)
        apart = (first - second).abs()
        assert bool((apart == 1).all()) if question == "beside each other" else bool((apart >= 3).all())


def test_b11_translates_every_clause_by_rule_and_sinusoids_behind_refute_it() -> None:
    assert (
        " ".join(b11_translation.translated(["a", "old", "red", "cat", "sees", "the", "man"]))
        == "akai furui neko ga sono otoko o miru"
    )
    for clause in b11_translation.clauses(50, torch.Generator().manual_seed(1)):
        assert set(clause) | set(b11_translation.translated(clause)) <= set(b11_translation.WORDS)

    def measured(sinusoids: float, none: float = 0.3) -> Verdict:
        results = {
            name: [{"clauses": value, "words": 0.9}] * 2
            for name, value in (("sinusoidal", sinusoids), ("learned", 0.9), ("none", none))
        }
        return verdict(b11_translation.translation(results, 100))

    assert measured(0.95) is Verdict.REPRODUCED
    assert measured(0.8) is Verdict.REFUTED
    assert measured(0.95, none=0.89) is Verdict.NOT_TESTABLE


def test_c14_remedies_that_do_not_help_refute_it_and_chunks_that_guess_say_nothing() -> None:
    def measured(chunks: float, whole: float = 0.5, without: float = 0.1) -> Verdict:
        run = {"whole context": whole, "chunks": chunks, "search": 0.9, "chunks without the needle": without}
        return verdict(c14_remedies.remedies([{name: [value] * 8 for name, value in run.items()}] * 2, 100))

    assert measured(0.9) is Verdict.REPRODUCED
    assert measured(0.55) is Verdict.REFUTED
    assert measured(0.9, without=0.8) is Verdict.NOT_TESTABLE


def test_d27_heads_that_look_evenly_refute_it_and_a_classifier_that_guesses_says_nothing() -> None:
    def measured(telling: float, apart: float = 0.3, right: float = 0.6, before: float = 1.0) -> Verdict:
        def looked(share: float) -> d27_sentences.Looked:
            return d27_sentences.Looked(share, apart, [("a", [("word", 0.5)])])

        accuracy = {"mean": 0.6, "four heads": right}
        run = d27_sentences.Run(accuracy, 0.3, looked(before), looked(telling))
        return verdict(d27_sentences._judged([run], d27_sentences.Text([["a"]], ["a"], ["a"], ""), 1))

    assert measured(1.3) is Verdict.REPRODUCED
    assert measured(1.0) is Verdict.REFUTED
    assert measured(1.3, apart=0.01) is Verdict.REFUTED
    assert measured(1.3, right=0.3) is Verdict.NOT_TESTABLE
    assert measured(1.3, before=1.3) is Verdict.NOT_TESTABLE


def test_d27_finds_the_words_that_tell_and_leaves_shuffled_labels_untold() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = ["fruit", "metal"] * 150
    words = []
    for label in labels:
        filler = [f"w{int(number)}" for number in torch.randint(30, (7,), generator=generator)]
        words.append([*filler, "apple" if label == "fruit" else "iron"])
    groups = [str(number) for number in range(len(labels))]
    run = d27_sentences._run(d27_sentences.Text(words, labels, groups, "made up"), 0, 60)
    assert min(run.accuracy.values()) > 0.95
    assert run.after.telling > 1.5 > run.before.telling
    shuffled = [labels[at] for at in torch.randperm(len(labels), generator=generator).tolist()]
    assert d27_sentences._run(d27_sentences.Text(words, shuffled, groups, "made up"), 0, 60).accuracy["four heads"] < 0.7


def test_d27_reads_labelled_tables_and_oranges_heading(tmp_path: Path) -> None:
    plain, orange = tmp_path / "a.csv", tmp_path / "b.tab"
    plain.write_text('label,text\nx,"one two three four. Five six seven eight"\ny,nine ten eleven twelve\n')
    orange.write_text("Category\tText\nd\tstring\nclass\t\nx\tone two three four\ny\tnine ten eleven twelve\n")
    text = d27_sentences.read_text(plain)
    assert list(text.labels) == ["x", "x", "y"]
    assert text.words[1] == ["five", "six", "seven", "eight"]
    assert list(text.groups) == ["0", "0", "1"]
    assert list(d27_sentences.read_text(orange).labels) == ["x", "y"]
    plain.write_text("text\nonly one column\n")
    with pytest.raises(DataError, match="a column of labels"):
        d27_sentences.read_text(plain)


def test_d28_heads_that_look_at_the_same_refute_it_and_ones_that_differed_before_say_nothing() -> None:
    def measured(after: float, before: float = 0.01, accuracy: float = 0.9) -> Verdict:
        def looks(apart: float) -> d28_heads_on_images.Looks:
            return d28_heads_on_images.Looks(accuracy, apart, [1.0] * 4, torch.zeros(8, 8), torch.zeros(5, 4, 4))

        return verdict(d28_heads_on_images.heads_on_images([looks(before)], [looks(after)], ""))

    assert measured(0.7) is Verdict.REPRODUCED
    assert measured(0.1) is Verdict.REFUTED
    assert measured(0.7, before=0.5) is Verdict.NOT_TESTABLE
    assert measured(0.7, accuracy=0.1) is Verdict.NOT_TESTABLE
