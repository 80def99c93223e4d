"""The running system: coordinator, service, HTTP API, event stream, proxy and command line.

It knows the core and its ports; its bootstrap alone knows which adapters stand behind them. It
carries out what the core decides and never decides about a workspace itself.
"""

__all__: list[str] = []
