"""The libraries that are installed beside us, held to the same laws: what it finds is told, not judged."""

from ordinate.verify.peers.run import PeerRow, look_at_peers, table_of

__all__ = ["PeerRow", "look_at_peers", "table_of"]
