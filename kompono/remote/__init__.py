"""Parts that run at a supplier's: the network half. What frames mean is the business of the two ends.

interface.py     where both meet: Servant, Opener; LinkLost, Refused
address.py       supplier.example:7443/damper
messages.py      frames with session and number around them
customer:  line.py          ask, post and collect, exactly once, over links that break
           kept.py          snapshot and frames with which a session goes on at a new server
           wire.py          gRPC, one stream
           explain.py       why a connection was refused
both:      certificates.py  make and read them
           credentials.py   the files one side shows and believes
supplier:  server.py        port, desk and folder put together
           host.py          gRPC, listening
           desk.py          who gets which session
           session.py       each frame evaluated once
           snapshots.py     locked for the server itself
           allowed.py       customers, from a file
           limits.py        rates, and an account of evaluations
           audit.py         the log
"""

from kompono.remote.interface import LinkLost, Opener, Refused, Servant, Served

__all__ = ["LinkLost", "Opener", "Refused", "Servant", "Served"]
