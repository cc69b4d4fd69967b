"""Settings of logins: who authenticates, passwords, second factors, and how many wrong ones are taken."""

from datetime import timedelta

from config.settings.environment import BASE_DIR, Environment
from kilit.sites.oidc.grants import read_grants

env = Environment(BASE_DIR)

# Auth ----------------------------------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = [
    "kilit.access.lockout.LockoutBackend",  # only blocks; the next one authenticates
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_RESET_TIMEOUT = 3600  # seconds that a link to a new password works
LOGIN_REDIRECT_URL = "admin:index"
LOGIN_URL = "admin:login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# Wrong passwords: kilit.access.lockout -------------------------------------------------------------------------------

# By username and address: a stranger cannot lock out a colleague, nor a colleague the whole office.
LOGIN_TRIES = env.number("KILIT_LOGIN_TRIES", default=5, least=1, most=1000)
LOCKOUT_TIME = timedelta(minutes=env.number("KILIT_LOCKOUT_MINUTES", default=15, least=1, most=24 * 60))
# By address and by username as well, for those who are not known there.
LOGIN_TRIES_PER_ADDRESS = env.number("KILIT_LOGIN_TRIES_PER_ADDRESS", default=30, least=1, most=100_000)
LOGIN_TRIES_PER_NAME = env.number("KILIT_LOGIN_TRIES_PER_NAME", default=10, least=1, most=100_000)

# Second factor: off, allowed or required; docs/logins.md ------------------------------------------------------------

SECOND_FACTOR = env.one_of("KILIT_SECOND_FACTOR", ("OFF", "ALLOWED", "REQUIRED"), default="OFF").lower()

# Logins by OpenID Connect; without an issuer they are off -------------------------------------------------------------

OIDC_ISSUER = env.text("KILIT_OIDC_ISSUER", "")
OIDC_CLIENT_ID = env.text("KILIT_OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = env.text("KILIT_OIDC_CLIENT_SECRET", "")
OIDC_NAME = env.text("KILIT_OIDC_NAME", "OpenID Connect")  # on the button of the login page
OIDC_SCOPES = env.text("KILIT_OIDC_SCOPES", "openid profile email")
OIDC_GROUP_CLAIM = env.text("KILIT_OIDC_GROUP_CLAIM", "groups")
OIDC_GRANTS = read_grants(env.text("KILIT_OIDC_GROUPS", ""))
OIDC_JOIN_BY_EMAIL = env.flag("KILIT_OIDC_JOIN_BY_EMAIL", default=False)

# django-allauth; only the pages that kilit.console has for it answer, none of its own -------------------------------

ACCOUNT_ADAPTER = "kilit.access.second_factor.LoginAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_LOGIN_TIMEOUT = 600  # seconds between the password and the code
ACCOUNT_RATE_LIMITS = False  # would count in each process; kilit.access counts in the database
MFA_ADAPTER = "kilit.access.second_factor.SecondFactorAdapter"
MFA_RATE_LIMITS = False
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_ISSUER = "Kilit"
MFA_TOTP_TOLERANCE = 1  # periods of 30 seconds that a phone's clock may be off
