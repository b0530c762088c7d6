"""Reads golden vectors with nothing but the standard library, and holds a rotation and ALiBi written here to them.

    ordinate golden --all --out vectors
    python examples/golden/read_golden.py vectors/rotary-half.json vectors/alibi.json

Exit 0 when every number is within its tolerance, 1 when one is not, 2 for a file that this example has no code for.
"""

import json
import math
import sys


def rotated(golden):
    """(a, b) -> (a cos - b sin, a sin + b cos) for every pair of channels, in Python's floats (float64)."""
    settings, x = golden["settings"], golden["inputs"]["x"]
    positions = golden["inputs"]["positions"]["data"]
    batch, heads, tokens, channels = x["shape"]
    turning = settings.get("rotary_dim", settings["head_dim"])
    start = channels - turning if settings.get("rotated_channels") == "last" else 0
    base, result = settings.get("base", 10000.0), list(x["data"])
    for row in range(batch * heads * tokens):
        position = positions[row % tokens]
        for pair in range(turning // 2):
            angle = position * base ** (-2 * pair / turning)
            if settings["layout"] == "half":
                first, second = start + pair, start + pair + turning // 2
            else:
                first, second = start + 2 * pair, start + 2 * pair + 1
            a, b = x["data"][row * channels + first], x["data"][row * channels + second]
            result[row * channels + first] = a * math.cos(angle) - b * math.sin(angle)
            result[row * channels + second] = a * math.sin(angle) + b * math.cos(angle)
    return result


def slopes(heads):
    """ALiBi's slopes: the ladder of a power of two, and for other counts every second slope of the next one behind it."""
    if heads & (heads - 1) == 0:
        return [2.0 ** (-8 * (head + 1) / heads) for head in range(heads)]
    lower = 1 << (heads.bit_length() - 1)
    return slopes(lower) + slopes(2 * lower)[0::2][: heads - lower]


def alibi(golden):
    """-slope times the distance, query minus key."""
    inputs, settings = golden["inputs"], golden["settings"]
    queries = inputs.get("query_positions", inputs.get("positions"))["data"]
    keys = inputs.get("key_positions", inputs.get("positions"))["data"]
    size = abs if settings.get("symmetric") else lambda distance: distance
    return [-slope * size(query - key) for slope in slopes(settings["num_heads"]) for query in queries for key in keys]


def positions_of(golden, count, shape):
    """The position of the token that each number of an output [..., T, D] belongs to."""
    positions = golden["inputs"].get("positions", golden["inputs"].get("query_positions"))["data"]
    tokens, channels = shape[-2], shape[-1]
    return [positions[index // channels % tokens] if len(positions) == tokens else 0 for index in range(count)]


def compare(golden, name, got):
    """How many numbers of an output are further off than its tolerance allows."""
    expected, tolerance = golden["outputs"][name], golden["tolerances"][name]["float64"]
    where = positions_of(golden, len(got), expected["shape"])
    wrong = 0
    for one, other, position in zip(got, expected["float64"], where, strict=True):
        wrong += not abs(one - float(other)) <= tolerance["absolute"] + tolerance["per_position"] * abs(position)
    return wrong


def main(paths):
    code = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            golden = json.load(file)
        if golden["schema"] != "ordinate.golden/1":
            print(f"{path}: schema {golden['schema']} is not known here")
            return 2
        if golden["encoding"] == "rotary" and golden["scaling"] is None:
            name, got = "rotated", rotated(golden)
        elif golden["encoding"] == "alibi":
            name, got = "bias", alibi(golden)
        else:
            print(f"{golden['id']}: this example has no code for it")
            return 2
        wrong = compare(golden, name, got)
        print(f"{golden['id']}: {len(got)} numbers, {wrong} wrong")
        code = code or int(wrong > 0)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
