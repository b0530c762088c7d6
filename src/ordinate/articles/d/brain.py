"""The connectome that claims about brains are measured on: the larval fly's where its files are found, else a synthetic one.

On the synthetic one nothing can be said about the article's numbers, so every check there is reported as a limit, without
weight, and the verdict is that the claim is not testable here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Role
from ordinate.reservoir import Connectome

__all__ = ["WHERE", "Brain"]

WHERE = (
    "the larval connectome",
    "its files are not at hand: get Supplementary Data S1 of doi 10.1126/science.add9330, and pass the folder that holds the "
    "folder larval-drosophila as --data",
)


@dataclass(frozen=True)
class Brain:
    """A connectome, the words for its output cells, and whether it is the one the article speaks of.

    Args:
        connectome: with sides.
        readout: which cells command.
        real: whether it is the larval fly's.
    """

    connectome: Connectome
    readout: str
    real: bool

    @classmethod
    def from_inputs(cls, inputs: Inputs) -> Brain:
        """The larval connectome where it is found, else the synthetic one."""
        folder = inputs.data_folder("larval-drosophila")
        if folder is None:
            return cls(Connectome.synthetic(), "descending", real=False)
        return cls(Connectome.larval_drosophila(folder), "DN-VNC", real=True)

    def role(self, role: Role) -> Role:
        """The role of a check about the article's brain: on another brain it carries no weight."""
        return role if self.real else Role.LIMIT

    @property
    def senses_receive(self) -> bool:
        """Whether anything sends to the senses; if not, a signal that runs backwards never leaves them."""
        return bool(self.connectome.weights[:, self.connectome.select("sensory")].nnz)

    @property
    def description(self) -> str:
        """For the report's line on inputs."""
        size = f"{self.connectome.num_neurons:,} neurons, {self.connectome.num_edges:,} edges"
        return f"{self.connectome.name}, {size}" + ("" if self.real else "; no brain, for the larval data are not at hand")

    def marked(self, words: str) -> str:
        """Words for the table of verdicts, which say where they were not measured on the article's brain."""
        return words if self.real else f"on the synthetic connectome, no brain: {words}"

    @property
    def untested(self) -> tuple[tuple[str, str], ...]:
        """What cannot be tested without the data."""
        return () if self.real else (WHERE,)
