"""What the triggers of a site record: pauses, and archiving."""

# Pauses are events, also those from psql: webhooks report them. Django's log already puts them into the activity.
SITES, PAUSED, RESUMED = "site", "SITE_PAUSED", "SITE_RESUMED"
RECORD_PAUSE = """
    INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)
    SELECT 'site', NEW.id, event_type, '', '',
      coalesce(nullif(actor, ''), nullif(current_setting('kilit.actor', true), ''), session_user), message, '{}', now()
    FROM (
      SELECT 'SITE_PAUSED', NEW.paused_by, NEW.pause_reason WHERE NEW.is_paused
      UNION ALL
      SELECT 'SITE_RESUMED', '', coalesce(current_setting('kilit.reason', true), '') WHERE NOT NEW.is_paused
    ) AS change (event_type, actor, message);
    RETURN NULL;
"""
# Archiving pauses a site, too; this says that it was more than a pause.
ARCHIVED, RESTORED = "SITE_ARCHIVED", "SITE_RESTORED"
RECORD_ARCHIVE = """
    INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)
    SELECT 'site', NEW.id, CASE WHEN NEW.archived_at IS NULL THEN 'SITE_RESTORED' ELSE 'SITE_ARCHIVED' END, '', '',
      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),
      CASE WHEN NEW.archived_at IS NULL THEN '' ELSE NEW.pause_reason END, '{}', now();
    RETURN NULL;
"""
