"""Tests of the client against a live service on the emulator, and against a scripted one."""

import logging

# Failures that tests provoke are asserted, not printed; nor is it news that a busy machine is slow.
logging.getLogger("athanor").addHandler(logging.NullHandler())
logging.getLogger("asyncio").setLevel(logging.ERROR)
