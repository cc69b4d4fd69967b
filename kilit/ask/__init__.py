"""Ask Kilit: what an operator asks and does on the pages, for command lines (REST) and assistants (MCP).

A verb is declared once (verbs.py): its words, what it takes and returns, and the scope that a key needs. Both doors
(rest.py, mcp.py) come from that. Nothing is decided here: the verbs read what the pages read, and do what they do.
"""
