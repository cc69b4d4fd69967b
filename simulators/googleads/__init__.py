"""A Google Ads server on loopback: TLS, the real protobuf messages, and scripted responses."""
