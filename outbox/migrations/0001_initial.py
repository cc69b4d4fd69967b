import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import kilit.lock.identity
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LogPosition',
            fields=[
                ('name', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('event_id', models.BigIntegerField(default=0)),
                ('horizon', models.BigIntegerField(default=0)),
                ('writers', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message_id', models.UUIDField()),
                ('number', models.PositiveSmallIntegerField(verbose_name='number')),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='started at')),
                ('seconds', models.FloatField(verbose_name='seconds')),
                ('url', models.CharField(max_length=2000, verbose_name='address')),
                ('request_headers', models.JSONField(default=dict, help_text='Without the signature.', verbose_name='request headers')),
                ('response_code', models.PositiveSmallIntegerField(null=True, verbose_name='status')),
                ('answer', models.TextField(blank=True, verbose_name='answer')),
                ('error_code', models.CharField(blank=True, max_length=32, verbose_name='error code')),
                ('error_message', models.CharField(blank=True, max_length=500, verbose_name='error')),
            ],
            options={
                'verbose_name': 'attempt',
                'verbose_name_plural': 'attempts',
                'default_permissions': (),
                'indexes': [models.Index(fields=['message_id', 'id'], name='attempts_of_message'), models.Index(fields=['started_at'], name='attempts_by_age')],
            },
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('kind', models.CharField(choices=[('email', 'E-mail'), ('apprise', 'Telegram, Slack, Teams, Discord, ntfy and others')], default='email', max_length=8, verbose_name='kind')),
                ('encrypted_address', models.TextField(editable=False)),
                ('language', models.CharField(choices=[('en', 'English'), ('tr', 'Türkçe')], default='en', max_length=8, verbose_name='language')),
                ('time_zone', models.CharField(default='UTC', max_length=64, verbose_name='time zone')),
                ('quiet_from', models.TimeField(blank=True, null=True, verbose_name='quiet from')),
                ('quiet_to', models.TimeField(blank=True, null=True, verbose_name='quiet until')),
                ('is_on', models.BooleanField(default=True, verbose_name='on')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('looked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('is_holding_back', models.BooleanField(default=False, editable=False, help_text='It is quiet: a digest follows.')),
                ('sent_at', models.DateTimeField(editable=False, null=True, verbose_name='last sent at')),
                ('error', models.CharField(blank=True, editable=False, max_length=500, verbose_name='last error')),
                ('owner', models.ForeignKey(blank=True, help_text='Alerts contain only what this user may see. Without one, and for owners: everything.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
            ],
            options={
                'verbose_name': 'alert channel',
                'verbose_name_plural': 'alert channels',
                'ordering': ['name'],
                'default_permissions': ('view', 'operate', 'change'),
            },
        ),
        migrations.CreateModel(
            name='AlertRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(blank=True, help_text='All if empty.', max_length=32, verbose_name='queue')),
                ('scope', models.CharField(blank=True, help_text='All if empty.', max_length=64, verbose_name='site')),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), blank=True, default=list, help_text='All if none is chosen.', size=None, verbose_name='problems')),
                ('min_count', models.PositiveIntegerField(default=1, verbose_name='from this count')),
                ('min_severity', models.PositiveSmallIntegerField(default=2, verbose_name='from this severity')),
                ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='outbox.channel')),
            ],
            options={
                'verbose_name': 'rule',
                'verbose_name_plural': 'rules',
                'ordering': ['id'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AlertedProblem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('record_id', models.UUIDField()),
                ('count', models.PositiveIntegerField()),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='outbox.channel')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('scope', models.CharField(blank=True, help_text='Without a site, it belongs to the installation.', max_length=64, verbose_name='site')),
                ('url', models.CharField(max_length=2000, verbose_name='address')),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), blank=True, default=list, size=None, verbose_name='events')),
                ('description', models.CharField(blank=True, max_length=200, verbose_name='description')),
                ('is_on', models.BooleanField(default=True, editable=False, verbose_name='on')),
                ('off_reason', models.CharField(blank=True, choices=[('OPERATOR', 'switched off by an operator'), ('GONE', 'the receiver answered 410 Gone'), ('FAILING', 'it failed for three days')], editable=False, max_length=10, verbose_name='off because')),
                ('off_at', models.DateTimeField(editable=False, null=True, verbose_name='off since')),
                ('off_by', models.CharField(blank=True, editable=False, max_length=200, verbose_name='switched off by')),
                ('encrypted_secret', models.TextField(editable=False)),
                ('previous_secret', models.TextField(blank=True, editable=False)),
                ('previous_until', models.DateTimeField(editable=False, null=True)),
                ('failing_since', models.DateTimeField(editable=False, null=True, verbose_name='failing since')),
                ('wait_until', models.DateTimeField(editable=False, null=True, verbose_name='asked to wait until')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'webhook endpoint',
                'verbose_name_plural': 'webhook endpoints',
                'ordering': ['created_at'],
                'default_permissions': ('view', 'add', 'change', 'delete', 'operate'),
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('is_on', True), ('off_at', None), ('off_reason', '')), models.Q(models.Q(('off_reason', ''), _negated=True), ('is_on', False), ('off_at__isnull', False)), _connector='OR'), name='off_endpoint_has_reason'), models.CheckConstraint(condition=models.Q(('encrypted_secret', ''), _negated=True), name='endpoint_has_secret'), models.CheckConstraint(condition=models.Q(models.Q(('previous_secret', ''), ('previous_until', None)), models.Q(models.Q(('previous_secret', ''), _negated=True), ('previous_until__isnull', False)), _connector='OR'), name='previous_secret_has_end')],
            },
        ),
        migrations.CreateModel(
            name='OutboxMessage',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('claim_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True, verbose_name='lease until')),
                ('status', models.CharField(choices=[('QUEUED', 'Queued'), ('SENDING', 'Sending'), ('RETRY', 'Retry'), ('DELIVERED', 'Delivered'), ('FAILED', 'Failed')], default='QUEUED', editable=False, max_length=10)),
                ('kind', models.CharField(max_length=64, verbose_name='event')),
                ('scope', models.CharField(blank=True, max_length=64, verbose_name='site')),
                ('url', models.CharField(blank=True, help_text="Of a callback; otherwise the endpoint's.", max_length=2000, verbose_name='address')),
                ('event_id', models.BigIntegerField(help_text='The event that it reports.', null=True)),
                ('object_id', models.UUIDField(null=True, verbose_name='job')),
                ('body', models.TextField(help_text='The same bytes are sent with each attempt.', verbose_name='body')),
                ('attempt_count', models.PositiveIntegerField(default=0, verbose_name='attempts')),
                ('attempts_forgiven', models.PositiveIntegerField(default=0)),
                ('next_try_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='next attempt at')),
                ('response_code', models.PositiveSmallIntegerField(null=True, verbose_name='status code')),
                ('error_code', models.CharField(blank=True, max_length=32, verbose_name='error code')),
                ('error_message', models.CharField(blank=True, max_length=500, verbose_name='error')),
                ('error_group', models.CharField(blank=True, db_default='', default='', editable=False, max_length=16)),
                ('delivered_at', models.DateTimeField(null=True, verbose_name='delivered at')),
                ('channel', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='outbox.channel', verbose_name='channel')),
                ('endpoint', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='outbox.endpoint', verbose_name='endpoint')),
            ],
            options={
                'verbose_name': 'message',
                'verbose_name_plural': 'messages',
                'abstract': False,
                'default_permissions': ('view', 'operate'),
            },
        ),
        migrations.AddConstraint('channel', models.CheckConstraint(condition=models.Q(('encrypted_address', ''), _negated=True), name='channel_has_address')),
        migrations.AddConstraint('channel', models.CheckConstraint(condition=models.Q(models.Q(('quiet_from', None), ('quiet_to', None)), models.Q(('quiet_from__isnull', False), ('quiet_to__isnull', False)), _connector='OR'), name='quiet_hours_have_both_ends')),
        migrations.AddConstraint('alertedproblem', models.UniqueConstraint(fields=('channel', 'record_id'), name='one_alert_per_problem')),
        migrations.AddIndex('outboxmessage', models.Index(condition=models.Q(('status__in', ('QUEUED', 'RETRY'))), fields=['endpoint', 'next_try_at', 'id'], name='message_due')),
        migrations.AddIndex('outboxmessage', models.Index(condition=models.Q(('channel__isnull', False), ('status__in', ('QUEUED', 'RETRY'))), fields=['next_try_at', 'id'], name='message_alert_due')),
        migrations.AddIndex('outboxmessage', models.Index(condition=models.Q(('channel__isnull', False)), fields=['channel', 'id'], name='message_of_channel')),
        migrations.AddIndex('outboxmessage', models.Index(condition=models.Q(('status', 'SENDING')), fields=['endpoint'], name='message_in_flight')),
        migrations.AddIndex('outboxmessage', models.Index(condition=models.Q(('status', 'SENDING')), fields=['lease_until'], name='message_held')),
        migrations.AddIndex('outboxmessage', models.Index(fields=['status', 'id'], name='message_in_status')),
        migrations.AddIndex('outboxmessage', models.Index(fields=['endpoint', 'id'], name='message_of_endpoint')),
        migrations.AddIndex('outboxmessage', models.Index(fields=['scope', 'id'], name='message_of_scope')),
        migrations.AddIndex('outboxmessage', models.Index(fields=['kind', 'id'], name='message_of_kind')),
        migrations.AddIndex('outboxmessage', models.Index(fields=['object_id', 'id'], name='message_of_job')),
        migrations.AddIndex('outboxmessage', models.Index(condition=models.Q(('status', 'FAILED')), fields=['endpoint', 'id'], name='message_failed_of_endpoint')),
        migrations.AddIndex('outboxmessage', models.Index(condition=models.Q(('status__in', ['FAILED']), models.Q(('error_group', ''), _negated=True)), fields=['error_group', 'id'], name='message_of_error_group')),
        migrations.AddConstraint('outboxmessage', models.UniqueConstraint(fields=('event_id', 'endpoint', 'url'), name='one_message_per_event')),
        migrations.AddConstraint('outboxmessage', models.CheckConstraint(condition=models.Q(models.Q(('claim_token__isnull', False), ('lease_until__isnull', False), ('status', 'SENDING')), models.Q(models.Q(('status', 'SENDING'), _negated=True), ('claim_token', None), ('lease_until', None)), _connector='OR'), name='sending_message_is_held')),
        migrations.AddConstraint('outboxmessage', models.CheckConstraint(condition=models.Q(models.Q(('delivered_at__isnull', False), ('status', 'DELIVERED')), models.Q(models.Q(('status', 'DELIVERED'), _negated=True), ('delivered_at', None)), _connector='OR'), name='only_delivered_message_has_time')),
        migrations.AddConstraint('outboxmessage', models.CheckConstraint(condition=models.Q(models.Q(('channel', None), ('endpoint__isnull', False)), models.Q(('channel__isnull', False), ('endpoint', None)), _connector='OR'), name='message_has_one_receiver')),
        migrations.AddConstraint('outboxmessage', models.CheckConstraint(condition=models.Q(models.Q(('status', 'FAILED'), _negated=True), models.Q(('error_code', ''), _negated=True), _connector='OR'), name='failed_message_has_error')),
        migrations.AddConstraint('outboxmessage', models.CheckConstraint(condition=models.Q(('attempt_count__lte', django.db.models.expressions.CombinedExpression(models.F('attempts_forgiven'), '+', models.Value(10)))), name='message_attempts_are_bounded')),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('QUEUED'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('message %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as QUEUED.';", hash='b44c28405950d694d2770d6f52e24abc644b84bb', operation='INSERT', pgid='pgtrigger_legal_initial_state_cd2dd', table='outbox_outboxmessage', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('DELIVERED', 'QUEUED'), ('FAILED', 'QUEUED'), ('QUEUED', 'FAILED'), ('QUEUED', 'SENDING'), ('RETRY', 'FAILED'), ('RETRY', 'SENDING'), ('SENDING', 'DELIVERED'), ('SENDING', 'FAILED'), ('SENDING', 'RETRY')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('message %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='15603e4238cd9db564e3dd397d5bf65fa150dc96', operation='UPDATE', pgid='pgtrigger_legal_arrow_7c472', table='outbox_outboxmessage', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.endpoint_id IS DISTINCT FROM NEW.endpoint_id OR OLD.channel_id IS DISTINCT FROM NEW.channel_id OR OLD.url IS DISTINCT FROM NEW.url OR OLD.kind IS DISTINCT FROM NEW.kind OR OLD.scope IS DISTINCT FROM NEW.scope OR OLD.event_id IS DISTINCT FROM NEW.event_id OR OLD.object_id IS DISTINCT FROM NEW.object_id)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('message %s cannot change its %s', OLD.id, concat_ws(', ', CASE WHEN OLD.id IS DISTINCT FROM NEW.id THEN 'id' END, CASE WHEN OLD.endpoint_id IS DISTINCT FROM NEW.endpoint_id THEN 'endpoint_id' END, CASE WHEN OLD.channel_id IS DISTINCT FROM NEW.channel_id THEN 'channel_id' END, CASE WHEN OLD.url IS DISTINCT FROM NEW.url THEN 'url' END, CASE WHEN OLD.kind IS DISTINCT FROM NEW.kind THEN 'kind' END, CASE WHEN OLD.scope IS DISTINCT FROM NEW.scope THEN 'scope' END, CASE WHEN OLD.event_id IS DISTINCT FROM NEW.event_id THEN 'event_id' END, CASE WHEN OLD.object_id IS DISTINCT FROM NEW.object_id THEN 'object_id' END)), HINT = 'This identifies the row and its history. Create another row instead.';", hash='31f63b671c64d0b3af56844a5e79ad6f975c7d6a', operation='UPDATE', pgid='pgtrigger_fixed_identity_f7a24', table='outbox_outboxmessage', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='counters', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN ((NEW.attempt_count <> OLD.attempt_count AND NOT (NEW.attempt_count = OLD.attempt_count + 1 AND (OLD.status, NEW.status) IN (('QUEUED', 'SENDING'), ('RETRY', 'SENDING')))) OR NEW.attempts_forgiven < OLD.attempts_forgiven)", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('message %s cannot change its %s', OLD.id, concat_ws(', ', CASE WHEN (NEW.attempt_count <> OLD.attempt_count AND NOT (NEW.attempt_count = OLD.attempt_count + 1 AND (OLD.status, NEW.status) IN (('QUEUED', 'SENDING'), ('RETRY', 'SENDING')))) THEN format('attempt_count from %s to %s', OLD.attempt_count, NEW.attempt_count) END, CASE WHEN NEW.attempts_forgiven < OLD.attempts_forgiven THEN format('attempts_forgiven from %s to %s', OLD.attempts_forgiven, NEW.attempts_forgiven) END)), HINT = 'It counts what has happened.';", hash='4dcb5e9fdefcf99fb53b70602061412e3f20bd96', operation='UPDATE', pgid='pgtrigger_counters_e1542', table='outbox_outboxmessage', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'traceparent', (SELECT nullif(current_setting('kilit.trace', true), '')))) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.scope::text AS to_scope, '' AS from_state, '' AS from_scope FROM new_rows n) AS each GROUP BY from_state, from_scope, to_state, to_scope\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'message', unnest(ids), 'JOB_CREATED', from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'message', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY[]::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.scope::text AS to_scope, '' AS from_state, '' AS from_scope FROM new_rows n),\n      acted AS (\n        SELECT *, 'JOB_CREATED' AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'message' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'message',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='3853bb94c7a9d1e4c5b4d5598612bd620b7524ba', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_09eae', referencing='REFERENCING NEW TABLE AS new_rows ', table='outbox_outboxmessage', when='AFTER'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'attempt_count', attempt_count, 'response_code', response_code, 'error_code', error_code, 'error_message', error_message)) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.scope::text AS to_scope, n.attempt_count, n.response_code, n.error_code, n.error_message, o.status AS from_state, o.scope::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id) AS each GROUP BY from_state, from_scope, to_state, to_scope, attempt_count, response_code, error_code, error_message\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'message', unnest(ids), 'STATE_' || upper(to_state), from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'message', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY[]::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.scope::text AS to_scope, n.attempt_count, n.response_code, n.error_code, n.error_message, o.status AS from_state, o.scope::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      acted AS (\n        SELECT *, 'STATE_' || upper(to_state) AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'message' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'message',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='5b19543869771efe7d5742a3a0f36b27e3b50aa0', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_e340d', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='outbox_outboxmessage', when='AFTER'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status NOT IN ('DELIVERED', 'FAILED') OR OLD.updated_at >= least(now() - interval '1 days',\n      coalesce(nullif(current_setting('kilit.prune_before', true), '')::timestamptz, '-infinity')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('rows of message cannot be deleted: %s is %s', OLD.id, OLD.status), HINT = 'Finished rows that are old enough are pruned: docs/operations.md.';", hash='dbb2542232bf72d1eee123305f0d8c5dd311a5ca', operation='DELETE', pgid='pgtrigger_no_delete_68f7e', table='outbox_outboxmessage', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='record_prune', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $prune$\n      WITH gone AS MATERIALIZED (SELECT id, status AS state, old_rows.scope::text AS scope, updated_at FROM old_rows),\n      forgotten AS (\n        DELETE FROM lock_event WHERE queue = 'message' AND object_id IN (SELECT id FROM gone) RETURNING 1\n      ),\n      counted AS (\n        INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n        SELECT 'message', scope, state, -count(*), 0, now() FROM gone GROUP BY scope, state\n      )\n      INSERT INTO lock_pruning (queue, before, rows, events, states, oldest, newest, actor, message, created_at)\n      SELECT 'message', $3, count(*), (SELECT count(*) FROM forgotten),\n        (SELECT jsonb_object_agg(state, number)\n          FROM (SELECT state, count(*) AS number FROM gone GROUP BY state) AS each),\n        min(updated_at), max(updated_at), $1, $2, now()\n      FROM gone HAVING count(*) > 0\n    $prune$ USING\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), ''),\n      nullif(current_setting('kilit.prune_before', true), '')::timestamptz;\n    RETURN NULL;\n", hash='b3e44ac80b328149140c40485d356761fb814e98', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_prune_c4a6c', referencing='REFERENCING OLD TABLE AS old_rows ', table='outbox_outboxmessage', when='AFTER'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of message cannot be truncated', HINT = 'Move them instead.';", hash='bbfa39d9e034284586342e0f96e7be199a2dd70b', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_b90b1', table='outbox_outboxmessage', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='name_error_on_insert', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.error_code <> '' OR NEW.error_group <> '')", func="\n    NEW.error_group = CASE WHEN NEW.error_code = '' THEN ''\n      ELSE left(md5(NEW.error_code || chr(10) || lock_error_shape(NEW.error_message)), 16) END;\n    RETURN NEW;\n", hash='40b5c3932cea634db9bc1fd9e0cc958adff60ec3', operation='INSERT', pgid='pgtrigger_name_error_on_insert_3dc2a', table='outbox_outboxmessage', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='name_error', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(NEW.error_code, NEW.error_message, NEW.error_group) IS DISTINCT FROM ROW(OLD.error_code, OLD.error_message, OLD.error_group))', func="\n    NEW.error_group = CASE WHEN NEW.error_code = '' THEN ''\n      ELSE left(md5(NEW.error_code || chr(10) || lock_error_shape(NEW.error_message)), 16) END;\n    RETURN NEW;\n", hash='463b9f3746eeb6be51a053a3371cccf86521b5f8', operation='UPDATE', pgid='pgtrigger_name_error_73069', table='outbox_outboxmessage', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='record_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM new_rows n WHERE n.status IN ('FAILED') AND n.error_group <> '') OR EXISTS (SELECT FROM old_rows o WHERE o.status IN ('FAILED') AND o.error_group <> '') THEN\n      EXECUTE $errors$\n        WITH changed AS MATERIALIZED (\n          SELECT n.status IN ('FAILED') AND n.error_group <> '' AS comes, o.status IN ('FAILED') AND o.error_group <> '' AS leaves,\n            n.scope::text AS new_scope, n.status AS new_state, n.error_group AS new_group,\n            n.error_code AS new_code, n.error_message AS new_message,\n            o.scope::text AS old_scope, o.status AS old_state, o.error_group AS old_group,\n            o.error_code AS old_code, o.error_message AS old_message\n          FROM new_rows n JOIN old_rows o ON o.id = n.id\n          WHERE (n.status, n.error_group, n.scope::text) IS DISTINCT FROM (o.status, o.error_group, o.scope::text)\n        )\n        INSERT INTO lock_errordelta\n          (queue, scope, state, error_group, code, shape, change, entered, created_at)\n        SELECT 'message', scope, state, error_group, min(code), lock_error_shape(min(message)),\n          sum(change), sum(entered), now()\n        FROM (\n          SELECT new_scope AS scope, new_state AS state, new_group AS error_group, new_code AS code,\n            new_message AS message, 1 AS change,\n            CASE WHEN leaves AND (new_scope, new_group) = (old_scope, old_group) THEN 0 ELSE 1 END AS entered\n          FROM changed WHERE comes\n          UNION ALL\n          SELECT old_scope, old_state, old_group, old_code, old_message, -1, 0 FROM changed WHERE leaves\n        ) AS changes GROUP BY scope, state, error_group\n      $errors$;\n    END IF;\n    RETURN NULL;\n", hash='acee3182c5c169f496f13a27a35793836e535add', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_errors_87496', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='outbox_outboxmessage', when='AFTER'))),
        pgtrigger.migrations.AddTrigger('outboxmessage', pgtrigger.compiler.Trigger(name='forget_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $errors$\n      INSERT INTO lock_errordelta (queue, scope, state, error_group, code, shape, change, entered, created_at)\n      SELECT 'message', o.scope::text, o.status, o.error_group, min(o.error_code), lock_error_shape(min(o.error_message)),\n        -count(*), 0, now()\n      FROM old_rows o WHERE o.status IN ('FAILED') AND o.error_group <> '' GROUP BY o.scope::text, o.status, o.error_group\n    $errors$;\n    RETURN NULL;\n", hash='37f43f007ba0f2a5ad75e52665116d03dee4e127', level='STATEMENT', operation='DELETE', pgid='pgtrigger_forget_errors_76ceb', referencing='REFERENCING OLD TABLE AS old_rows ', table='outbox_outboxmessage', when='AFTER'))),
    ]
