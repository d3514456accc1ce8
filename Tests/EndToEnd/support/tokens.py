"""Tokens as the backend of an app would issue them."""

import time
import uuid

import jwt


def mint(key, user="11", *, ttl: float = 3600, algorithm: str = "HS256", headers=None, **claims) -> str:
    """Returns a token of `user`; a claim with the value None is left out."""
    now = int(time.time())
    everything = {"sub": user, "exp": now + int(ttl), "iat": now, "jti": uuid.uuid4().hex} | claims
    kept = {name: value for name, value in everything.items() if value is not None}
    return jwt.encode(kept, key, algorithm=algorithm, headers=headers)
