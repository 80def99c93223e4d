"""Homes in motion between volumes and archives, in bounded memory, whatever their size.

It knows the ports of both ends and nothing of who stands behind them. It never holds a home, never
deletes anything, and trusts no archive whose checksum it did not see.
"""

from wsctl_app.transfer.transfers import StreamTransfers

__all__ = ["StreamTransfers"]
