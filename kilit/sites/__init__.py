"""Sites: the tenants of the installation, their members and keys, and who sees and manages whom."""
