"""A Google Ads server on loopback: TLS, the real protobuf messages, and answers as the test scripts them."""
