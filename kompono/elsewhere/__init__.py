"""Parts whose state is kept elsewhere: by another process, on another rank, at a supplier's (docs/theory/elsewhere.md).

session.py   one part in one run, as native code of its owner knows it, and how its frames travel
keeper.py    the far side: what keeps the state and answers frames
hosts.py     who keeps a part, and opens sessions
kernel.py    native code of a model with such parts; law_states.py: its states where laws settle
filed.py     sessions as the file of a run keeps them
greeting.py  the first words of a session with a supplier
serve.py     the supplier's side
remote.py    the customer's side: the element `Remote`; questions.py: what it asks before a run
direct.py    a line without a network
ranks.py     closed parts on MPI ranks
"""
