"""Alerts: messages to people about problems.

making      after each look for problems: what is new for each channel becomes a message, in the channel's language
sending     what a worker does with alerts: claim, deliver by e-mail or apprise, settle
addresses   which addresses a channel may have
"""
