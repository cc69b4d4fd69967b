"""The outbox's URLs below /api/outbox/."""

from django.urls import path

from outbox.api import endpoints, messages

urlpatterns = [
    path("endpoints", endpoints.EndpointsView.as_view()),
    path("endpoints/<str:pk>", endpoints.EndpointView.as_view()),
    path("endpoints/<str:pk>/rotate-secret", endpoints.RotateSecretView.as_view()),
    path("endpoints/<str:pk>/switch-on", endpoints.SwitchOnView.as_view()),
    path("endpoints/<str:pk>/switch-off", endpoints.SwitchOffView.as_view()),
    path("endpoints/<str:pk>/test", endpoints.SendTestView.as_view()),
    path("endpoints/<str:pk>/replay", endpoints.ReplayView.as_view()),
    path("messages", messages.MessagesView.as_view()),
    path("messages/<str:pk>", messages.MessageView.as_view()),
    path("messages/<str:pk>/retry", messages.RetryMessageView.as_view()),
]
