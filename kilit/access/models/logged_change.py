"""Changes of settings, which Django's admin logs: each is in the activity, too."""

import pgtrigger
from django.contrib.admin.models import LogEntry

# What a change is about, by its object or by the words of the page that logged it.
RECORD = """
    INSERT INTO lock_activity
      (kind, actor, person, scope, verb, model, object_id, object_name, message, created_at)
    SELECT
      CASE
        WHEN type.model = 'apikey' OR NEW.change_message ~ '^(Issued|Revoked) the key' THEN 'key'
        WHEN NEW.change_message ~ '^(Paused|Resumed)' THEN 'pause'
        WHEN NEW.change_message ~* 'credentials' THEN 'credentials'
        WHEN type.model IN ('user', 'group') OR NEW.change_message LIKE '%"site membership"%' THEN 'member'
        WHEN type.model LIKE '%rule%' THEN 'rules'
        ELSE 'settings'
      END,
      'user:' || person.username, person.username, left(coalesce(NEW.object_id, ''), 255),
      CASE NEW.action_flag WHEN 1 THEN 'added' WHEN 2 THEN 'changed' ELSE 'deleted' END,
      type.app_label || '.' || type.model, left(coalesce(NEW.object_id, ''), 255), NEW.object_repr,
      NEW.change_message, NEW.action_time
    FROM auth_user AS person LEFT JOIN django_content_type AS type ON type.id = NEW.content_type_id
    WHERE person.id = NEW.user_id;
    RETURN NULL;
"""


class LoggedChange(LogEntry):
    class Meta:
        proxy = True
        default_permissions = ()
        triggers = [
            pgtrigger.Trigger(name="record_activity", when=pgtrigger.After, operation=pgtrigger.Insert, func=RECORD)
        ]
