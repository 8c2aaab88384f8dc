"""The figures of the design, measured: `make bench`, or `make bench ARGS=--full`.

Each stands beside something real measured in the same run, since machines differ: the ratio is
what to compare. Nothing here is a test, and no test depends on time.
"""
