"""Tests of the client against a live service on the emulator, and against a scripted one."""
