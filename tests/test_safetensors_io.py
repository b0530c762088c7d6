"""Tensor files: equal content gives equal bytes, and what was written comes back."""

import torch

from ordinate.safetensors_io import read_tensors, write_tensors


def test_equal_content_gives_equal_bytes(tmp_path):
    """The library alone writes metadata in an order that changes from one call to the next."""
    metadata = {name: name * 2 for name in ("format", "kind", "version", "übung", 'a "quoted" name')}
    tensors = {"b": torch.arange(6).reshape(2, 3), "a": torch.ones(3, dtype=torch.float16)}
    written = set()
    for number in range(16):
        path = tmp_path / f"{number}.safetensors"
        write_tensors(path, tensors, metadata)
        written.add(path.read_bytes())
        result, texts = read_tensors(path)
        assert texts == metadata
        assert all(torch.equal(result[name], tensor) for name, tensor in tensors.items())
    assert len(written) == 1
