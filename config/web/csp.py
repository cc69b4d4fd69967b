"""The Content-Security-Policy and related headers; docs/security.md explains each directive."""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template import Context, Engine

from kilit.access.middleware import Middleware
from kilit.access.second_factor import is_on

# The <style> blocks of unfold's pages are allowed by their hashes, so that no other is.
SKELETON = "unfold/layouts/skeleton.html"
STYLE_BLOCK = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)

DATA = "default-src 'none'"
# Browsers show a PDF in a generated page, which embeds and styles the file.
PDF = f"{DATA}; object-src 'self'; style-src 'unsafe-inline'"
FEATURES = (
    "accelerometer autoplay camera display-capture geolocation gyroscope magnetometer microphone midi payment "
    "publickey-credentials-create publickey-credentials-get screen-wake-lock usb xr-spatial-tracking"
)
KEPT = ("/admin/", "/static/")  # Django and whitenoise say what a browser may keep of these
PERMISSIONS = ", ".join(f"{feature}=()" for feature in FEATURES.split())
PASSKEYS = re.sub(r"(publickey-credentials-\w+)=\(\)", r"\1=(self)", PERMISSIONS)


class SecurityHeadersMiddleware(Middleware):
    """Limits pages to what they need; other responses may load nothing at all."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        framed_by = "'self'" if response.headers.get("X-Frame-Options") == "SAMEORIGIN" else "'none'"
        media = response.headers.get("Content-Type", "").partition(";")[0].strip()
        policy = page_policy() if media == "text/html" else PDF if media == "application/pdf" else DATA
        # A view may have set its own.
        response.headers.setdefault("Content-Security-Policy", f"{policy}; frame-ancestors {framed_by}")
        response.headers.setdefault("Permissions-Policy", PASSKEYS if is_on() else PERMISSIONS)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if not request.path.startswith(KEPT):
            response.headers.setdefault("Cache-Control", "no-store")
        return response


@cache
def page_policy() -> str:
    """Return the policy of all our pages; they have no inline scripts or styles of their own."""
    digests = [b64encode(sha256(style.encode()).digest()).decode() for style in own_styles()]
    styles = " ".join(f"'sha256-{digest}'" for digest in digests)
    return "; ".join(
        (
            DATA,
            "script-src 'self' 'unsafe-eval'",  # Alpine, used by unfold, evaluates its attributes
            f"style-src 'self' {styles}",
            "style-src-attr 'unsafe-inline'",  # Alpine and unfold set widths this way
            "img-src 'self' data:",  # arrows in Swagger's stylesheet
            "font-src 'self'",
            "connect-src 'self'",  # htmx and Swagger
            "object-src 'self'",  # the PDF on a job's page
            "frame-src 'self'",  # the same, in browsers that use a frame
            "form-action 'self'",
            "base-uri 'none'",
        )
    )


def own_styles() -> list[str]:
    site: Any = admin.site  # unfold's
    colours, radius = site._get_colors("COLORS", None), site._get_config("BORDER_RADIUS", None)
    context = Context({"colors": colours, "border_radius": radius})
    engine = Engine.get_default()
    blocks = STYLE_BLOCK.findall(engine.get_template(SKELETON).source)
    return [engine.from_string(block).render(context) for block in blocks]
