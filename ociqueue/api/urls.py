"""The queue's URLs below /api/."""

from django.urls import include, path

from ociqueue.api import agency, agency_senders, lookups, operator, script

urlpatterns = [
    path("oci/sites", agency.SitesView.as_view()),
    path("oci/", include("kilit.sites.api.urls")),
    path("oci/sites/sender", agency_senders.SenderView.as_view()),
    path("oci/credentials", agency_senders.LoginView.as_view()),
    path("oci/credentials/test", agency_senders.LoginTestView.as_view()),
    path("oci/conversions", lookups.ConversionsView.as_view()),
    path("oci/conversions/export", lookups.HistoryView.as_view()),
    path("oci/conversions/lookup", lookups.LookupManyView.as_view()),
    path("oci/adjustments", script.AdjustView.as_view()),
    path("oci/google-ads-export", script.ExportView.as_view()),
    path("oci/ack", script.AckView.as_view()),
    path("oci/ack-failed", script.AckFailedView.as_view()),
    path("oci/upload-summary", script.UploadSummaryView.as_view()),
    path("oci/v2/verify", script.VerifyView.as_view()),
    path("oci/queue-stats", operator.StatsView.as_view()),
    path("oci/google-counts", operator.GoogleCountsView.as_view()),
    path("oci/queue-rows", operator.RowsView.as_view()),
    path("oci/queue-actions", operator.ActionsView.as_view()),
]
