"""Requests to addresses that users choose: images of PDFs, and webhooks.

    addresses    which IP addresses may be connected to, and what a name resolves to
    sockets      a connection to a checked address, with one deadline for everything
    urls         which URLs a webhook may have
    post         a POST over connections that are kept open, and how it ended

A name is resolved once, every address it resolves to is checked, and the connection goes to a checked address. A name
that resolves differently a moment later changes nothing. Proxies of the environment are not used: they would resolve
the name again.
"""
