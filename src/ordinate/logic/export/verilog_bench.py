"""Test benches with real test vectors, and the module that brings an image in by few pins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.input_thresholds import FixedPoint
from ordinate.logic.export.verilog import check_name

__all__ = [
    "class_width",
    "expected_file",
    "number_vectors",
    "parallel_bench",
    "serial_bench",
    "serial_inputs",
    "serial_wrapper",
    "vector_file",
]


def class_width(circuit: Circuit) -> int:
    """Bits of `class_index`."""
    return max(1, (circuit.num_classes - 1).bit_length())


def vector_file(bits: npt.NDArray[np.bool_]) -> str:
    """Input vectors for `$readmemh`, one a line; bit 0 is the lowest.

    >>> vector_file(np.array([[1, 0, 0, 0, 1]], bool))
    '11\\n'
    """
    digits = -(-bits.shape[1] // 4)
    octets = np.packbits(bits, axis=1, bitorder="little")[:, ::-1]  # the highest byte first
    return "".join(f"{row.tobytes().hex()[-digits:]}\n" for row in octets)


def expected_file(classes: npt.NDArray[np.int64]) -> str:
    """Expected classes for `$readmemh`, one a line."""
    return "".join(f"{int(one):x}\n" for one in classes)


def number_vectors(number: FixedPoint, x: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Rows of numbers [n, features] as the bits [n, features W] of a module that compares them itself.

    >>> number_vectors(FixedPoint(3, signed=True), [[-1, 2]]).astype(int).tolist()
    [[1, 1, 1, 0, 1, 0]]
    """
    integers = number.encode(x)
    return np.asarray((integers[..., None] >> np.arange(number.bits) & 1).reshape(len(integers), -1), bool)


def _port(circuit: Circuit, number: FixedPoint | None) -> tuple[str, int]:
    """The name of the module's input, and its width."""
    if number is None or circuit.inputs is None:
        return "bits", circuit.num_inputs
    return "x", number.bits * circuit.inputs.num_features


def parallel_bench(
    circuit: Circuit, name: str, images: int, *, latency: int = 0, interval: int = 1, number: FixedPoint | None = None
) -> str:
    """A bench that applies every vector, compares every class, and prints `PASS n` or the first vectors that differ.

    It reads `vectors.hex` and `expected.hex` from the folder it runs in. A module with registers gets an image every clock, and
    its first class has to come exactly `latency` clocks after the first image.

    Args:
        circuit: the one the module is of.
        name: of the module.
        images: how many vectors the files hold.
        latency: clocks from an image to its class, 0 for a module without a clock.
        interval: clocks from one image to the next, for the module of `verilog_shifted`.
        number: format of the numbers, where the module compares them itself; the vectors are then those of `number_vectors`.
    """
    width, (port, span) = class_width(circuit), _port(circuit, number)
    head = f"""// applies {images} vectors to {name} and compares every class
`timescale 1ns/1ps
module {name}_bench;
  reg [{span - 1}:0] vectors [0:{images - 1}];
  reg [{width - 1}:0] expected [0:{images - 1}];
  reg [{span - 1}:0] bits;
  wire [{width - 1}:0] class_index;
  integer sent = 0, seen = 0, wrong = 0;
  task compare;
    begin
      if (class_index !== expected[seen]) begin
        wrong = wrong + 1;
        if (wrong <= 10) $display("vector %0d: expected %0d, got %0d", seen, expected[seen], class_index);
      end
      seen = seen + 1;
    end
  endtask
  task finish;
    begin
      if (wrong == 0 && seen == {images}) $display("PASS %0d", seen); else $display("FAIL %0d of %0d", wrong, seen);
      $finish;
    end
  endtask
  initial begin
    $readmemh("vectors.hex", vectors);
    $readmemh("expected.hex", expected);
  end
"""
    if not latency:
        return (
            head
            + f"""  {name} dut (.{port}(bits), .class_index(class_index));
  initial begin
    #1;
    for (sent = 0; sent < {images}; sent = sent + 1) begin
      bits = vectors[sent];
      #1 compare;
    end
    finish;
  end
endmodule
"""
        )
    return (
        head
        + f"""  reg clk = 0, in_valid = 0;
  wire out_valid;
  {name} dut (.clk(clk), .in_valid(in_valid), .{port}(bits), .class_index(class_index), .out_valid(out_valid));
  always #5 clk = ~clk;
  integer wait_clocks = 0;
  always @(negedge clk) begin
    if (out_valid === 1'b1) begin
      if (seen == 0 && wait_clocks != {latency}) begin
        wrong = wrong + 1;
        $display("the first class came after %0d clocks, not {latency}", wait_clocks);
      end
      compare;
    end
    if (seen == {images} || wait_clocks > {interval * images + latency + 2 * interval + 40}) finish;
    in_valid = sent < {images} && wait_clocks % {interval} == 0;
    if (in_valid) begin
      bits = vectors[sent];
      sent = sent + 1;
    end
    wait_clocks = wait_clocks + 1;
  end
endmodule
"""
    )


def serial_inputs(circuit: Circuit, number: FixedPoint | None = None) -> list[int]:
    """The bits of the input port that the circuit reads at all, ascending: the order in which the serial module takes them.

    With `number` they are all bits of the numbers of which some threshold is read.
    """
    read = {int(one) for pair in (circuit.inputs_a, circuit.inputs_b) for one in pair if one < circuit.num_inputs}
    read |= {int(one) for vote in circuit.votes for one in vote.signals if one < circuit.num_inputs}
    if number is None or circuit.inputs is None:
        return sorted(read)
    features = sorted({int(circuit.inputs.feature[one]) for one in read})
    return [number.bits * feature + bit for feature in features for bit in range(number.bits)]


def serial_wrapper(circuit: Circuit, name: str, pins: int = 8, number: FixedPoint | None = None) -> str:
    """The module `NAME_serial`, which takes `pins` bits a clock into a shift register and then starts the pipelined `NAME`.

    A small chip has fewer pins than an image has pixels. Only inputs that the circuit reads are sent (`serial_inputs`), the
    first in the lowest bit of the first word. Counting goes on while the next image is shifted in.

    Args:
        circuit: the one the module is of.
        name: of the pipelined module.
        pins: bits a clock.
        number: format of the numbers, where the module compares them itself.
    """
    check_name(name)
    read, (port, span) = serial_inputs(circuit, number), _port(circuit, number)
    words = max(1, -(-len(read) // pins))
    place = {one: position for position, one in enumerate(read)}
    bits = ", ".join(f"image[{place[one]}]" if one in place else "1'b0" for one in reversed(range(span)))
    counter = max(1, (words - 1).bit_length())
    width = class_width(circuit)
    shift = f"{{data, image[{pins * words - 1}:{pins}]}}" if words > 1 else "data"
    return f"""// {name}_serial: {len(read)} of {span} inputs, {pins} a clock, {words} clocks an image
`timescale 1ns/1ps
module {name}_serial (
  input wire clk,
  input wire reset,
  input wire data_valid,
  input wire [{pins - 1}:0] data,
  output wire [{width - 1}:0] class_index,
  output wire out_valid
);
  reg [{pins * words - 1}:0] image;
  reg [{counter - 1}:0] word;
  reg whole;
  always @(posedge clk) begin
    if (data_valid) image <= {shift};
    whole <= data_valid & (word == {counter}'d{words - 1}) & ~reset;
    if (reset) word <= {counter}'d0;
    else if (data_valid) word <= word == {counter}'d{words - 1} ? {counter}'d0 : word + {counter}'d1;
  end
  wire [{span - 1}:0] bits = {{{bits}}};
  {name} core (.clk(clk), .in_valid(whole), .{port}(bits), .class_index(class_index), .out_valid(out_valid));
endmodule
"""


def serial_bench(
    circuit: Circuit, name: str, images: int, pins: int = 8, *, latency: int, number: FixedPoint | None = None
) -> str:
    """A bench for `NAME_serial`: sends `vectors.hex` word by word without a pause, and compares every class.

    Arguments as for `serial_wrapper` and `parallel_bench`.
    """
    read, (_, span) = serial_inputs(circuit, number), _port(circuit, number)
    words = max(1, -(-len(read) // pins))
    total = words * pins
    picked = ", ".join(f"vector[{one}]" for one in reversed(read)) or "1'b0"
    width = class_width(circuit)
    return f"""// sends {images} images to {name}_serial, {pins} bits a clock
`timescale 1ns/1ps
module {name}_serial_bench;
  reg [{span - 1}:0] vectors [0:{images - 1}];
  reg [{width - 1}:0] expected [0:{images - 1}];
  reg [{span - 1}:0] vector;
  wire [{total - 1}:0] stream = {{{picked}}};
  reg clk = 0, reset = 1, data_valid = 0;
  reg [{pins - 1}:0] data;
  wire [{width - 1}:0] class_index;
  wire out_valid;
  integer image = 0, word = 0, seen = 0, wrong = 0, idle = 0;
  {name}_serial dut (
    .clk(clk), .reset(reset), .data_valid(data_valid), .data(data), .class_index(class_index), .out_valid(out_valid));
  initial begin
    $readmemh("vectors.hex", vectors);
    $readmemh("expected.hex", expected);
    #1 vector = vectors[0];
  end
  always #5 clk = ~clk;
  always @(negedge clk) begin
    reset = idle < 4;
    if (out_valid === 1'b1 && seen < {images}) begin
      if (class_index !== expected[seen]) begin
        wrong = wrong + 1;
        if (wrong <= 10) $display("image %0d: expected %0d, got %0d", seen, expected[seen], class_index);
      end
      seen = seen + 1;
    end
    if (seen == {images} || idle > {latency + words + 40}) begin
      if (wrong == 0 && seen == {images}) $display("PASS %0d", seen); else $display("FAIL %0d of %0d", wrong, seen);
      $finish;
    end
    if (idle >= 4 && image < {images}) begin
      data_valid = 1;
      data = stream[word * {pins} +: {pins}];
      word = word + 1;
      if (word == {words}) begin
        word = 0;
        image = image + 1;
        if (image < {images}) vector = vectors[image];
      end
    end else begin
      data_valid = 0;
      idle = idle + 1;
    end
  end
endmodule
"""
