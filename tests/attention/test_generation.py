"""Generation against transformers' greedy search, against sampling by hand, and against itself without a cache."""

import pytest
import torch

from ordinate.attention import Decoder, Sampling, generate
from ordinate.errors import ArgumentError, ArgumentTypeError, PositionRangeError, ShapeError
from ordinate.position import LearnedTable, Rotary
from tests.attention.small_models import theirs

IDS = torch.randint(0, 99, (3, 30), generator=torch.Generator().manual_seed(3))


def small(**settings):
    torch.manual_seed(0)
    given = {"vocabulary": 50, "dim": 32, "num_layers": 2, "num_heads": 4, "hidden_dim": 48} | settings
    model = Decoder(**({"encoding": Rotary(8, layout="half")} | given)).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return model


MODEL = small()
PROMPTS = IDS % 50


def padded():
    mask = torch.ones_like(IDS)
    mask[1, :11] = 0
    mask[2, :3] = 0
    return mask


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("family", ["llama", "llama-yarn", "mistral-window", "qwen2-windows", "qwen3"])
def test_greedy_tokens_are_those_of_transformers(family, tmp_path):
    pytest.importorskip("transformers", reason="its greedy search is the witness")
    model = theirs(family, tmp_path)
    ours = Decoder.from_pretrained(tmp_path)
    for mask in (torch.ones_like(IDS), padded()):
        want = model.generate(IDS, attention_mask=mask, max_new_tokens=30, do_sample=False, pad_token_id=0)
        assert torch.equal(ours.generate(IDS, max_new_tokens=30, token_mask=mask), want)
        assert torch.equal(ours.generate(IDS, max_new_tokens=30, token_mask=mask, prefill_tokens=7), want)
    end = int(want[0, 34])
    want = model.generate(IDS, attention_mask=mask, max_new_tokens=30, do_sample=False, pad_token_id=0, eos_token_id=end)
    assert torch.equal(ours.generate(IDS, max_new_tokens=30, token_mask=mask, eos=end, pad=0), want)


@pytest.mark.parametrize("windows", [None, 5, [None, 5]])
def test_a_cache_changes_no_token(windows):
    model = small(windows=windows)
    rows = PROMPTS
    with torch.inference_mode():
        for _ in range(20):
            rows = torch.cat((rows, model(rows)[:, -1:].argmax(-1)), dim=1)
    assert torch.equal(model.generate(PROMPTS, max_new_tokens=20), rows)


def test_padding_on_either_side_changes_no_row():
    left, right = padded(), padded().flip(1)
    for row in range(3):
        alone = MODEL.generate(PROMPTS[row : row + 1, left[row].bool()], max_new_tokens=12)[0, -12:]
        assert torch.equal(MODEL.generate(PROMPTS, max_new_tokens=12, token_mask=left)[row, -12:], alone)
        mirrored = PROMPTS.clone()
        mirrored[row, : int(left[row].sum())] = PROMPTS[row, left[row].bool()]
        found = MODEL.generate(mirrored, max_new_tokens=12, token_mask=right)[row, -12:]
        assert torch.equal(found, alone)


def test_rows_that_have_ended_are_filled_and_generation_stops_when_all_have():
    free = MODEL.generate(PROMPTS, max_new_tokens=40)[:, 30:]
    ends = [int(row[5]) for row in free]
    found = MODEL.generate(PROMPTS, max_new_tokens=40, eos=ends, pad=49)[:, 30:]
    for row in range(3):
        stop = next(step for step in range(40) if int(free[row, step]) in ends)
        assert found[row, : stop + 1].tolist() == free[row, : stop + 1].tolist()
        assert set(found[row, stop + 1 :].tolist()) <= {49}
    assert found.shape[1] <= 6


def test_probabilities_are_the_softmax_cut_to_the_likeliest():
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0, -2.0]], dtype=torch.float64)
    for temperature in (0.5, 1.0, 2.0):
        scaled = (logits / temperature).exp()
        assert torch.allclose(Sampling(temperature).probabilities(logits), scaled / scaled.sum())
        two = scaled * torch.tensor([1.0, 1.0, 0.0, 0.0, 0.0])
        assert torch.allclose(Sampling(temperature, top_k=2).probabilities(logits), two / two.sum())
    chances = logits.softmax(-1)[0]  # 0.636, 0.234, 0.086, ...
    for top_p, count in ((0.1, 1), (float(chances[0]) - 1e-9, 1), (0.64, 2), (0.88, 3), (1.0, 5)):
        assert int((Sampling(top_p=top_p).probabilities(logits) > 0).sum()) == count
    assert int((Sampling(top_k=3, top_p=0.9).probabilities(logits) > 0).sum()) == 2  # of the three, two reach nine tenths


def test_top_p_and_top_k_are_those_of_transformers():
    pytest.importorskip("transformers", reason="its warpers are the witness")
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    logits = 3 * torch.randn(40, 50, generator=torch.Generator().manual_seed(0))
    scores = logits
    for warper in (TemperatureLogitsWarper(0.7), TopKLogitsWarper(20), TopPLogitsWarper(0.8)):
        scores = warper(None, scores)
    torch.testing.assert_close(Sampling(0.7, 20, 0.8).probabilities(logits), scores.softmax(-1), rtol=1e-5, atol=1e-7)


def test_drawn_tokens_have_the_frequencies_they_should():
    prompt = torch.tensor([[1, 2, 3]])
    with torch.inference_mode():
        chances = (MODEL(prompt)[0, -1] / 0.8).softmax(-1)
    drawn = MODEL.generate(prompt.expand(4000, -1), max_new_tokens=1, temperature=0.8, generator=0)[:, -1]
    counts = drawn.bincount(minlength=50)
    spread = (4000 * chances * (1 - chances)).sqrt()
    assert ((counts - 4000 * chances).abs() < 5 * spread + 2).all()
    assert (counts > 0).sum() > 5


def test_a_seed_repeats_and_a_generator_moves_on():
    def run(generator):
        return MODEL.generate(PROMPTS, max_new_tokens=20, temperature=1.5, top_k=30, generator=generator)

    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))
    moving = torch.Generator().manual_seed(1)
    assert torch.equal(run(moving), run(1))
    assert not torch.equal(run(moving), run(1))


def test_half_precision_and_autocast_generate_too():
    half = small(query_key_norm=True).bfloat16()
    assert half.generate(PROMPTS, max_new_tokens=3).shape == (3, 33)
    wide = small(query_key_norm=True)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        cache = wide.new_cache(3, capacity=40).to(dtype=torch.bfloat16)
        first = wide(PROMPTS[:, :20], cache=cache)
        whole, parts = wide(PROMPTS), torch.cat((first, wide(PROMPTS[:, 20:], cache=cache)), dim=1)
        assert whole.dtype is torch.bfloat16
    torch.testing.assert_close(parts, whole, rtol=0.1, atol=0.1 * float(whole.abs().max()))


def test_what_comes_out_can_be_trained_on():
    rows = MODEL.generate(PROMPTS, max_new_tokens=2)
    MODEL(rows).sum().backward()
    assert rows.dtype is PROMPTS.dtype


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"temperature": 0.0, "generator": 0}, ArgumentError, "temperature: expected a positive, finite number, got 0.0"),
        ({"temperature": -1.0, "generator": 0}, ArgumentError, "got -1.0; leave it out to take the likeliest token"),
        ({"temperature": "hot", "generator": 0}, ArgumentTypeError, "temperature: expected a number"),
        ({"temperature": 1.0}, ArgumentError, "generator: expected a seed"),
        ({"top_k": 5}, ArgumentError, "since top_k is for drawing"),
        ({"generator": 5}, ArgumentError, "since generator is for drawing"),
        ({"temperature": 1.0, "top_k": 0, "generator": 0}, ArgumentError, "top_k"),
        ({"temperature": 1.0, "top_p": 1.5, "generator": 0}, ArgumentError, r"top_p: expected a probability in \(0, 1\]"),
        ({"eos": []}, ArgumentError, "eos"),
        ({"max_new_tokens": 0}, ArgumentError, "max_new_tokens"),
        ({"prefill_tokens": 0}, ArgumentError, "prefill_tokens"),
        ({"token_mask": torch.ones(3, 4)}, ShapeError, "token_mask"),
        ({"token_mask": torch.zeros(3, 30)}, ArgumentError, "an empty prompt"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(settings, error, words):
    with pytest.raises(error, match=words):
        generate(MODEL, PROMPTS, **{"max_new_tokens": 4} | settings)


def test_a_prompt_longer_than_a_learned_table_is_refused():
    model = small(encoding=LearnedTable(32, 32))
    assert model.generate(PROMPTS, max_new_tokens=3).shape == (3, 33)  # the last token needs no position
    for prompt, new in ((PROMPTS, 4), (torch.cat((PROMPTS, PROMPTS), dim=1), 1)):
        with pytest.raises(PositionRangeError, match=r"positions below num_positions \(32\)"):
            model.generate(prompt, max_new_tokens=new)


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0, "generator": 0}])
def test_a_model_of_nan_generates_nothing(settings):
    model = Decoder(vocabulary=20, dim=16, num_layers=1, num_heads=2, hidden_dim=16, encoding=Rotary(8, layout="half")).eval()
    with torch.no_grad():
        model.embedding.weight[7] = float("nan")
    with pytest.raises(ArgumentError, match="model: expected logits that are numbers, got NaN"):
        model.generate(torch.tensor([[1, 7, 3]]), max_new_tokens=3, **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pad": -5}, "pad: expected an integer from 0 to 19, got -5"),
        ({"pad": 20}, "pad: expected an integer from 0 to 19, got 20"),
        ({"eos": -1}, "eos: expected an integer of at least 0"),
        ({"temperature": 1.0, "generator": 2**70}, "generator: expected an integer from"),
    ],
)
def test_numbers_that_name_no_token_or_seed_are_refused(settings, words):
    model = Decoder(vocabulary=20, dim=16, num_layers=1, num_heads=2, hidden_dim=16).eval()
    with pytest.raises(ArgumentError, match=words):
        model.generate(torch.tensor([[1, 2]]), max_new_tokens=2, **settings)
