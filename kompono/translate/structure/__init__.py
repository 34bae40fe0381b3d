"""How bodies are connected: the spanning tree and what closes its loops; mates that act as one weld."""
