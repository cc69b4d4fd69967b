"""Logins by a provider of OpenID Connect, off by default; docs/logins.md.

The way of a login: `pages.start` sends the browser to the provider, `pages.callback` gets a code from it, `provider`
exchanges the code for verified claims, `accounts` finds or makes the user and sets roles by group, and django-allauth
logs in, with a second factor if the user has one here.
"""
