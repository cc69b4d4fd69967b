import django.db.models.functions.datetime
import kilit.lock.identity
import kilit.lock.models.event
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


# Which messages look alike. Read from the inside out: what is quoted, addresses, ids, numbers with or without a unit,
# words that hold both letters and digits and are as long as an id, what digits are left, blanks. Compared byte by byte
# ("C"), so that no machine's locale says otherwise, and long messages by their beginning.
ERROR_SHAPE = r"""
CREATE OR REPLACE FUNCTION lock_error_shape(message text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT left(btrim(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
    regexp_replace(
      left(coalesce(message, ''), 500) COLLATE "C",
      '"[^"]*"|“[^”]*”|«[^»]*»|`[^`]*`', '…', 'g'),
      '(?<![[:alnum:]])''[^'']*''(?![[:alnum:]])', '…', 'g'),
      '[[:alpha:]][[:alnum:]+.-]*://[^[:space:]]+|[^[:space:]<>(,;:]+@[^[:space:]<>),;]+', '<address>', 'g'),
      '[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}', '<id>', 'g'),
      '(?<![[:alnum:]_-])[0-9]+(?:[.,:/-][0-9]+)*(?=[[:alpha:]%]{0,3}(?![[:alnum:]_-]))', '#', 'g'),
      '(?<![[:alnum:]_-])(?=[[:alpha:]_-]*[0-9])(?=[0-9_-]*[[:alpha:]])[[:alnum:]_-]{8,}', '<id>', 'g'),
      '[0-9]+', '#', 'g'),
      '[[:space:]]+', ' ', 'g')
  ), 200)
$$
"""


# How PostgreSQL stores each table.
STORAGE = {
    # Only grows: the default, a fifth of the table, would be millions of rows for vacuum and analyze at once.
    "lock_event": "autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02",
    # Filled by every move and emptied every minute: readers scan what vacuum has not removed.
    "lock_countdelta": "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000",
    # Few rows, updated constantly in columns without an index: with free space on the page no index is written.
    "lock_count": "fillfactor = 50",
}


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.RunSQL(ERROR_SHAPE, "DROP FUNCTION lock_error_shape(text)"),
        migrations.CreateModel(
            name='Count',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=32)),
                ('scope', models.CharField(blank=True, max_length=64)),
                ('state', models.CharField(max_length=32)),
                ('total', models.BigIntegerField()),
                ('entered', models.BigIntegerField()),
                ('changed_at', models.DateTimeField()),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='CountDelta',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=32)),
                ('scope', models.CharField(blank=True, max_length=64)),
                ('state', models.CharField(max_length=32)),
                ('change', models.IntegerField()),
                ('entered', models.IntegerField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ErrorDelta',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=32)),
                ('scope', models.CharField(blank=True, max_length=64)),
                ('state', models.CharField(max_length=32)),
                ('change', models.IntegerField()),
                ('entered', models.IntegerField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('error_group', models.CharField(max_length=16)),
                ('code', models.CharField(max_length=64)),
                ('shape', models.TextField()),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ErrorGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=32)),
                ('scope', models.CharField(blank=True, max_length=64)),
                ('state', models.CharField(max_length=32)),
                ('total', models.BigIntegerField()),
                ('entered', models.BigIntegerField()),
                ('changed_at', models.DateTimeField()),
                ('error_group', models.CharField(max_length=16)),
                ('code', models.CharField(max_length=64)),
                ('shape', models.TextField()),
                ('first_at', models.DateTimeField(null=True)),
                ('last_at', models.DateTimeField(null=True)),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ErrorHour',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=32)),
                ('scope', models.CharField(blank=True, max_length=64)),
                ('hour', models.DateTimeField()),
                ('entered', models.BigIntegerField()),
                ('error_group', models.CharField(max_length=16)),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=32, verbose_name='queue')),
                ('object_id', models.UUIDField(verbose_name='object id')),
                ('event_type', models.CharField(max_length=64, verbose_name='event type')),
                ('from_state', models.CharField(blank=True, max_length=32, verbose_name='from state')),
                ('to_state', models.CharField(blank=True, max_length=32, verbose_name='to state')),
                ('actor', models.CharField(db_default=kilit.lock.models.event.SessionUser(), max_length=200, verbose_name='actor')),
                ('message', models.TextField(blank=True, db_default='', verbose_name='message')),
                ('details', models.JSONField(blank=True, default=dict, verbose_name='details')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created at')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='HourCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=32)),
                ('scope', models.CharField(blank=True, max_length=64)),
                ('hour', models.DateTimeField()),
                ('entered', models.BigIntegerField()),
                ('state', models.CharField(max_length=32)),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Pruning',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue', models.CharField(max_length=32, verbose_name='queue')),
                ('before', models.DateTimeField(help_text='Only rows that finished before this time were deleted.', null=True, verbose_name='finished before')),
                ('rows', models.IntegerField(verbose_name='rows')),
                ('events', models.IntegerField(verbose_name='events')),
                ('states', models.JSONField(help_text='Rows by state.', verbose_name='states')),
                ('oldest', models.DateTimeField(verbose_name='oldest')),
                ('newest', models.DateTimeField(verbose_name='newest')),
                ('actor', models.CharField(max_length=200, verbose_name='who')),
                ('message', models.TextField(blank=True, verbose_name='why')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='when')),
            ],
            options={
                'verbose_name': 'pruned batch',
                'verbose_name_plural': 'pruned rows',
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='QueuePause',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('queue', models.CharField(max_length=32, verbose_name='queue')),
                ('paused_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='paused at')),
                ('paused_by', models.CharField(db_default=kilit.lock.models.event.SessionUser(), max_length=200, verbose_name='paused by')),
                ('reason', models.CharField(max_length=200, verbose_name='reason')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Activity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('action', 'Actions'), ('task', 'Scheduled tasks and commands'), ('import', 'Imports'), ('pause', 'Pauses'), ('key', 'Keys'), ('credentials', 'Credentials'), ('member', 'Users and members'), ('rules', 'Rules'), ('settings', 'Settings'), ('login', 'Logins'), ('denied', 'Denied requests')], max_length=16, verbose_name='kind')),
                ('actor', models.CharField(max_length=200, verbose_name='actor')),
                ('person', models.CharField(blank=True, db_default='', help_text='Empty for machines.', max_length=150, verbose_name='person')),
                ('queue', models.CharField(blank=True, db_default='', max_length=32, verbose_name='queue')),
                ('scope', models.CharField(blank=True, db_default='', help_text='Of one site, its id.', max_length=255, verbose_name='site')),
                ('verb', models.CharField(help_text='A verb of the queue, or what became of an object.', max_length=64, verbose_name='what')),
                ('rows', models.IntegerField(db_default=1, verbose_name='rows')),
                ('model', models.CharField(blank=True, db_default='', help_text='Of an object, as app.model.', max_length=150)),
                ('object_id', models.CharField(blank=True, db_default='', help_text='Empty if there are several.', max_length=255)),
                ('object_name', models.CharField(blank=True, db_default='', max_length=300)),
                ('message', models.TextField(blank=True, db_default='', verbose_name='reason')),
                ('is_part', models.BooleanField(db_default=False)),
                ('first_event', models.BigIntegerField(null=True)),
                ('last_event', models.BigIntegerField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
            ],
            options={
                'verbose_name': 'activity',
                'verbose_name_plural': 'activity',
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['created_at', 'id'], name='activity_by_time'), models.Index(condition=models.Q(('is_part', False)), fields=['created_at', 'id'], name='activity_newest'), models.Index(condition=models.Q(('is_part', False)), fields=['kind', 'created_at', 'id'], name='activity_of_kind'), models.Index(condition=models.Q(('is_part', False)), fields=['queue', 'created_at', 'id'], name='activity_of_queue'), models.Index(condition=models.Q(('person', ''), _negated=True), fields=['person', 'created_at', 'id'], name='activity_of_person'), models.Index(condition=models.Q(('scope', ''), _negated=True), fields=['scope', 'created_at', 'id'], name='activity_of_scope')],
            },
        ),
        pgtrigger.migrations.AddTrigger('activity', pgtrigger.compiler.Trigger(name='no_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NOT (coalesce(current_setting('kilit.erasing', true), '') = 'on'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'activity cannot be updated', HINT = 'It is an audit log.';", hash='649fea39ad3dda1976d6ee4d0634f309e30c4024', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_no_update_c02fe', table='lock_activity', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('activity', pgtrigger.compiler.Trigger(name='only_texts_are_erased', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (to_jsonb(NEW) - ARRAY['message', 'object_name'] IS DISTINCT FROM to_jsonb(OLD) - ARRAY['message', 'object_name'])", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'activity cannot be updated, except for their texts', HINT = 'It is an audit log.';", hash='fa6f7d21da10bc007f746a81b3c37c1375c97250', operation='UPDATE', pgid='pgtrigger_only_texts_are_erased_292fa', table='lock_activity', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('activity', pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'activity cannot be truncated', HINT = 'It is an audit log.';", hash='046ef6d5335d5753e9c317c4c29f8549c7c2c159', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_c433b', table='lock_activity', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('activity', pgtrigger.compiler.Trigger(name='kept', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.kind NOT IN ('login', 'denied') OR OLD.created_at > now() - interval '7 days')", func="\n                RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'activity cannot be deleted',\n                  HINT = 'Only old logins and denied requests are.';\n                ", hash='975df212d93811177e1efa9c4d12be0af6517885', operation='DELETE', pgid='pgtrigger_kept_ce4ca', table='lock_activity', when='BEFORE'))),
        migrations.AddConstraint('count', models.UniqueConstraint(fields=('queue', 'scope', 'state'), name='one_total_per_state')),
        migrations.AddConstraint('errorgroup', models.UniqueConstraint(fields=('queue', 'scope', 'error_group', 'state'), name='one_total_per_error_group')),
        migrations.AddIndex('errorhour', models.Index(fields=['queue', 'error_group', 'hour'], name='errorhour_of_group')),
        migrations.AddIndex('errorhour', models.Index(fields=['hour'], name='errorhour_by_hour')),
        migrations.AddConstraint('errorhour', models.UniqueConstraint(fields=('queue', 'scope', 'error_group', 'hour'), name='one_error_count_per_hour')),
        migrations.AddIndex('event', models.Index(fields=['object_id', 'id'], name='event_timeline')),
        pgtrigger.migrations.AddTrigger('event', pgtrigger.compiler.Trigger(name='no_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NOT (coalesce(current_setting('kilit.erasing', true), '') = 'on'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'events cannot be updated', HINT = 'They are the audit trail.';", hash='adeef53ce59bbe4e162fd8b0f5b4f8ce502cd10b', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_no_update_84c70', table='lock_event', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('event', pgtrigger.compiler.Trigger(name='only_texts_are_erased', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (to_jsonb(NEW) - ARRAY['message', 'details'] IS DISTINCT FROM to_jsonb(OLD) - ARRAY['message', 'details'])", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'events cannot be updated, except for their texts', HINT = 'They are the audit trail.';", hash='2388d526230ff0cc5159f6defc596a89f6065a1a', operation='UPDATE', pgid='pgtrigger_only_texts_are_erased_e8952', table='lock_event', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('event', pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'events cannot be truncated', HINT = 'They are the audit trail.';", hash='f2b02d419673208f52153dce804f8be1fd356a60', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_4b154', table='lock_event', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('event', pgtrigger.compiler.Trigger(name='only_recorded', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (pg_trigger_depth() = 0 AND (\n      NEW.from_state <> NEW.to_state OR NEW.to_state = ''\n      OR NEW.event_type = 'JOB_CREATED' OR starts_with(NEW.event_type, 'STATE_')\n      OR NEW.created_at NOT BETWEEN now() AND clock_timestamp()))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('event %s of %s %s cannot be inserted', NEW.event_type, NEW.queue, NEW.object_id), HINT = 'Moves are recorded by triggers. Move the row instead.';", hash='88bc9df6c928b42d8cd053bcd39f115be6609f8e', operation='INSERT', pgid='pgtrigger_only_recorded_0d07e', table='lock_event', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('event', pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NOT (pg_trigger_depth() > 0))', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'events cannot be deleted', HINT = 'They are the audit trail.';", hash='83cecc3c511b2afd40551ac9a0c99dbdbee6e51d', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_caed2', table='lock_event', when='BEFORE'))),
        migrations.AddIndex('hourcount', models.Index(fields=['hour', 'queue', 'state'], name='hourcount_by_hour')),
        migrations.AddConstraint('hourcount', models.UniqueConstraint(fields=('queue', 'scope', 'state', 'hour'), name='one_count_per_hour')),
        pgtrigger.migrations.AddTrigger('pruning', pgtrigger.compiler.Trigger(name='no_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of pruning cannot be updated', HINT = 'They are all that is left of the rows.';", hash='fe38bc3f5c4ffe64a0a1dd446d6cc16703d4ed64', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_no_update_dd008', table='lock_pruning', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('pruning', pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of pruning cannot be deleted', HINT = 'They are all that is left of the rows.';", hash='0874ee54bcccc1c2480382ea8acbb5410f66a7b9', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_4213f', table='lock_pruning', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('pruning', pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of pruning cannot be truncated', HINT = 'They are all that is left of the rows.';", hash='a256dd587b6e457ed532a9689cf9cc079fc5a5a1', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_579f1', table='lock_pruning', when='BEFORE'))),
        migrations.AddConstraint('queuepause', models.UniqueConstraint(fields=('queue',), name='one_pause_per_queue')),
        migrations.AddConstraint('queuepause', models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='queue_pause_has_reason')),
        pgtrigger.migrations.AddTrigger('queuepause', pgtrigger.compiler.Trigger(name='record_pause', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    WITH changed AS (SELECT id, queue, paused_by AS actor, reason AS message FROM new_rows),\n    events AS (\n      INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n      SELECT queue, id, 'QUEUE_PAUSED', '', '', actor, message, '{}', now() FROM changed\n    )\n    INSERT INTO lock_activity (kind, actor, person, queue, verb, message, created_at)\n    SELECT 'pause', actor, CASE WHEN actor ~ '^(operator|admin|viewer|user):' THEN substr(actor, strpos(actor, ':') + 1) ELSE '' END,\n      queue, 'pause', message, now()\n    FROM changed;\n    RETURN NULL;\n", hash='cb7f52df02f230bf4941b4ea7d80e0af0556db04', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_pause_3de50', referencing='REFERENCING NEW TABLE AS new_rows ', table='lock_queuepause', when='AFTER'))),
        pgtrigger.migrations.AddTrigger('queuepause', pgtrigger.compiler.Trigger(name='record_resume', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    WITH changed AS (SELECT id, queue, coalesce(nullif(current_setting('kilit.actor', true), ''), session_user) AS actor, coalesce(current_setting('kilit.reason', true), '') AS message FROM old_rows),\n    events AS (\n      INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n      SELECT queue, id, 'QUEUE_RESUMED', '', '', actor, message, '{}', now() FROM changed\n    )\n    INSERT INTO lock_activity (kind, actor, person, queue, verb, message, created_at)\n    SELECT 'pause', actor, CASE WHEN actor ~ '^(operator|admin|viewer|user):' THEN substr(actor, strpos(actor, ':') + 1) ELSE '' END,\n      queue, 'resume', message, now()\n    FROM changed;\n    RETURN NULL;\n", hash='e3571c3b653c8984f4f120d3ffc1e49deb128acf', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_resume_69bfc', referencing='REFERENCING OLD TABLE AS old_rows ', table='lock_queuepause', when='AFTER'))),
        pgtrigger.migrations.AddTrigger('queuepause', pgtrigger.compiler.Trigger(name='no_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'pauses cannot be updated', HINT = 'Resume the queue and pause it again.';", hash='d502f7b78e635145a94cee088a49888b8701da4a', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_no_update_36083', table='lock_queuepause', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('queuepause', pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'pauses cannot be truncated', HINT = 'Resume the queue and pause it again.';", hash='2acccf7ae14f1a58aa5d537565e15784357d8722', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_ae75b', table='lock_queuepause', when='BEFORE'))),
        *(migrations.RunSQL(f"ALTER TABLE {table} SET ({options})", migrations.RunSQL.noop) for table, options in STORAGE.items()),
    ]
