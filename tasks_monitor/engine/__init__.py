"""The durable engine: claims work from PostgreSQL, talks to servers, and writes down what they say.

Every verb is one function in one durable transaction: lock, check, write, record, ring on commit.
No network call happens inside a transaction: claim and commit, exchange, apply and commit.
"""
