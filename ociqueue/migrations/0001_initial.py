import datetime
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import django.db.models.functions.text
import kilit.lock.identity
import ociqueue.models.site
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


# How PostgreSQL stores each table.
STORAGE = {
    # Every move leaves a dead row and dead index entries, which claims step over: vacuum at a hundredth of the table.
    # No fillfactor: `status` is in indexes, so every move writes them anyway.
    "offline_conversion_queue": "autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.02,"
    " autovacuum_analyze_scale_factor = 0.01",
    # Each export and acknowledgement writes its time here.
    "ociqueue_site": "fillfactor = 50",
}


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('lock', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Site',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('public_id', models.CharField(default=ociqueue.models.site.new_public_id, editable=False, max_length=32, unique=True, verbose_name='public id')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('time_zone', models.CharField(default='Europe/Istanbul', help_text='Conversion times are exported in this zone, such as Europe/Istanbul.', max_length=64, validators=[ociqueue.models.site.known_time_zone], verbose_name='time zone')),
                ('default_currency', models.CharField(blank=True, help_text='For conversions without a currency; if it is empty, they are rejected.', max_length=3, validators=[ociqueue.models.site.known_currency], verbose_name='default currency')),
                ('sync_method', models.CharField(choices=[('script', 'Google Ads Script'), ('api', 'Google Ads API')], default='script', max_length=10, verbose_name='sync method')),
                ('is_paused', models.BooleanField(default=False, help_text='Nothing is exported or sent while the site is paused.', verbose_name='is paused')),
                ('pause_reason', models.CharField(blank=True, max_length=200, verbose_name='pause reason')),
                ('requeue_transient', models.BooleanField(default=False, help_text='Retry TRANSIENT failures automatically.', verbose_name='requeue transient')),
                ('last_export_at', models.DateTimeField(editable=False, null=True, verbose_name='last export at')),
                ('last_ack_at', models.DateTimeField(editable=False, null=True, verbose_name='last ack at')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'site',
                'verbose_name_plural': 'sites',
                'ordering': ['name'],
                'default_permissions': ('view', 'add', 'change', 'operate'),
                'constraints': [models.CheckConstraint(condition=models.Q(('is_paused', False), models.Q(('pause_reason', ''), _negated=True), _connector='OR'), name='paused_has_reason')],
            },
        ),
        migrations.CreateModel(
            name='Credentials',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('encrypted', models.TextField(editable=False)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('check_asked_at', models.DateTimeField(editable=False, null=True)),
                ('checked_at', models.DateTimeField(editable=False, null=True)),
                ('check_passed', models.BooleanField(editable=False, null=True)),
                ('check_report', models.JSONField(default=list, editable=False)),
                ('site', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='credentials', to='ociqueue.site')),
            ],
            options={
                'verbose_name': 'credentials',
                'verbose_name_plural': 'credentials',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SiteMembership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('operator', 'Operator'), ('admin', 'Admin')], default='viewer', max_length=10, verbose_name='role')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='ociqueue.site', verbose_name='site')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='site_memberships', to=settings.AUTH_USER_MODEL, verbose_name='user')),
            ],
            options={
                'verbose_name': 'site membership',
                'verbose_name_plural': 'site memberships',
            },
        ),
        migrations.CreateModel(
            name='UploadBatch',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('size', models.PositiveIntegerField(help_text='Rows claimed for it.', verbose_name='size')),
                ('is_probe', models.BooleanField(default=False, help_text='One row, sent to test whether the circuit can close.', verbose_name='is probe')),
                ('row_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, help_text='Rows sent.', size=None)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent at')),
                ('answered_at', models.DateTimeField(null=True, verbose_name='answered at')),
                ('accepted', models.PositiveIntegerField(default=0, verbose_name='accepted')),
                ('failed', models.PositiveIntegerField(default=0, verbose_name='failed')),
                ('put_off', models.PositiveIntegerField(default=0, verbose_name='deferred')),
                ('late', models.PositiveIntegerField(default=0, help_text='Rows that a sweep or an operator had taken back.', verbose_name='late')),
                ('is_lost', models.BooleanField(default=False, help_text='No answer came; two in a row count as an outage.')),
                ('request_id', models.CharField(blank=True, max_length=64, verbose_name='request id')),
                ('note', models.CharField(blank=True, max_length=1000, verbose_name='note')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='upload_batches', to='ociqueue.site', verbose_name='site')),
            ],
            options={
                'verbose_name': 'upload batch',
                'verbose_name_plural': 'upload batches',
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='Conversion',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('status', models.CharField(choices=[('QUEUED', 'Queued'), ('RETRY', 'Retry'), ('PROCESSING', 'Processing'), ('COMPLETED', 'Completed'), ('FAILED', 'Failed')], default='QUEUED', editable=False, max_length=10)),
                ('action', models.CharField(max_length=100, verbose_name='conversion name')),
                ('gclid', models.CharField(blank=True, max_length=512)),
                ('wbraid', models.CharField(blank=True, max_length=512)),
                ('gbraid', models.CharField(blank=True, max_length=512)),
                ('conversion_time', models.DateTimeField(verbose_name='conversion time')),
                ('value', models.DecimalField(decimal_places=3, max_digits=15)),
                ('currency', models.CharField(max_length=3)),
                ('order_id', models.CharField(help_text='It never changes, so Google counts the conversion once.', max_length=64)),
                ('consent', models.CharField(choices=[('UNSPECIFIED', 'Unspecified'), ('GRANTED', 'Granted'), ('DENIED', 'Denied')], default='UNSPECIFIED', max_length=11)),
                ('source_key', models.CharField(blank=True, max_length=200, null=True)),
                ('attempt_count', models.PositiveIntegerField(default=0, help_text='How often it was claimed.', verbose_name='attempt count')),
                ('attempts_forgiven', models.PositiveIntegerField(default=0, help_text='Attempts that no longer count towards the cap.', verbose_name='attempts forgiven')),
                ('claimed_at', models.DateTimeField(null=True, verbose_name='claimed at')),
                ('next_retry_at', models.DateTimeField(null=True, verbose_name='next retry at')),
                ('uploaded_at', models.DateTimeField(help_text='When Google confirmed it; empty on the script path.', null=True, verbose_name='uploaded at')),
                ('last_error', models.CharField(blank=True, max_length=1000, verbose_name='last error')),
                ('provider_error_code', models.CharField(blank=True, max_length=64, verbose_name='provider error code')),
                ('provider_error_category', models.CharField(blank=True, choices=[('VALIDATION', 'Validation'), ('TRANSIENT', 'Transient'), ('AUTH', 'Auth'), ('RATE_LIMIT', 'Rate Limit'), ('PERMANENT', 'Permanent')], max_length=10)),
                ('error_group', models.CharField(blank=True, db_default='', default='', editable=False, max_length=16)),
                ('provider_request_id', models.CharField(blank=True, max_length=64, verbose_name='provider request id')),
                ('outcome_unknown', models.BooleanField(db_default=False, help_text='It was sent and no answer came: Google may have it.')),
                ('replaces', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replacement', to='ociqueue.conversion', verbose_name='replaces')),
                ('site', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='conversions', to='ociqueue.site', verbose_name='site')),
                ('open_batch', models.ForeignKey(db_index=False, help_text='The upload that has claimed it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='open_rows', to='ociqueue.uploadbatch')),
            ],
            options={
                'verbose_name': 'conversion',
                'verbose_name_plural': 'conversions',
                'db_table': 'offline_conversion_queue',
                'abstract': False,
                'default_permissions': ('view', 'operate'),
            },
        ),
        migrations.CreateModel(
            name='Circuit',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('action', models.CharField(blank=True, help_text='Empty means all conversions of the site.', max_length=100, verbose_name='conversion name')),
                ('status', models.CharField(choices=[('CLOSED', 'Closed'), ('OPEN', 'Open')], default='CLOSED', editable=False, max_length=10)),
                ('code', models.CharField(blank=True, max_length=64)),
                ('category', models.CharField(blank=True, choices=[('VALIDATION', 'Validation'), ('TRANSIENT', 'Transient'), ('AUTH', 'Auth'), ('RATE_LIMIT', 'Rate Limit'), ('PERMANENT', 'Permanent')], max_length=10)),
                ('reason', models.CharField(blank=True, max_length=1000)),
                ('opened_at', models.DateTimeField(null=True)),
                ('next_probe_at', models.DateTimeField(null=True)),
                ('wait', models.DurationField(default=datetime.timedelta(0))),
                ('probes', models.PositiveIntegerField(default=0)),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='circuits', to='ociqueue.site')),
            ],
            options={
                'abstract': False,
                'default_permissions': ('view', 'operate'),
                'constraints': [models.UniqueConstraint(fields=('site', 'action'), name='one_circuit_per_site_and_action'), models.CheckConstraint(condition=models.Q(('status', 'CLOSED'), models.Q(models.Q(('reason', ''), _negated=True), ('next_probe_at__isnull', False), ('opened_at__isnull', False)), _connector='OR'), name='open_circuit_has_reason_and_probe')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('CLOSED'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('circuit %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as CLOSED.';", hash='e35c404049eca85d131bff9f8c72d2c54f31394f', operation='INSERT', pgid='pgtrigger_legal_initial_state_d1c43', table='ociqueue_circuit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('CLOSED', 'OPEN'), ('OPEN', 'CLOSED')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('circuit %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='b4c02d902221e26f1947f3a61d04a6c0b6cbc011', operation='UPDATE', pgid='pgtrigger_legal_arrow_d196b', table='ociqueue_circuit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('circuit %s cannot change its id', OLD.id), HINT = 'Its history would be lost.';", hash='94047a8f22ce52ba1e99c51d80f14190fe5b31fc', operation='UPDATE', pgid='pgtrigger_fixed_identity_44d56', table='ociqueue_circuit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.action, n.code, n.category, n.reason, '' AS from_state, '' AS from_scope FROM new_rows n),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'circuit', id, 'JOB_CREATED', from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'action', action, 'code', code, 'category', category, 'reason', reason)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'circuit', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='b92ba07b4e5d8f387f034f10c6ca76815e88c839', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_494ed', referencing='REFERENCING NEW TABLE AS new_rows ', table='ociqueue_circuit', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.action, n.code, n.category, n.reason, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'circuit', id, 'STATE_' || upper(to_state), from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'action', action, 'code', code, 'category', category, 'reason', reason)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'circuit', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='902b35da4a021d8ceef796bcf2b4b437a12e8a54', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_ad5a3', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='ociqueue_circuit', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of circuit cannot be deleted', HINT = 'Move them instead.';", hash='c5cbdac33c385a6927c7a30331fce0587b86ef99', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_9108b', table='ociqueue_circuit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of circuit cannot be truncated', HINT = 'Move them instead.';", hash='0be2d33709f60592798c728ea0d17a306dcbe6f1', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_056a1', table='ociqueue_circuit', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='sitemembership',
            constraint=models.UniqueConstraint(fields=('site', 'user'), name='one_membership_per_site'),
        ),
        migrations.AddIndex(
            model_name='uploadbatch',
            index=models.Index(fields=['site', '-created_at'], name='batch_of_site'),
        ),
        migrations.AddConstraint(
            model_name='uploadbatch',
            constraint=models.CheckConstraint(condition=models.Q(('answered_at', None), ('sent_at__isnull', False), _connector='OR'), name='answered_was_sent'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'created_at', 'id'], name='conversion_due'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'next_retry_at'], name='conversion_due_by_time'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status', 'PROCESSING')), fields=['claimed_at'], name='conversion_claimed'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('open_batch__isnull', False)), fields=['open_batch'], name='conversion_of_batch'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), condition=models.Q(('status__in', ('QUEUED', 'RETRY', 'PROCESSING'))), name='conversion_attempts'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), condition=models.Q(('provider_error_category', 'TRANSIENT'), ('status', 'FAILED')), name='conversion_passing_failures'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(fields=['order_id'], name='conversion_by_order_id'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(django.db.models.functions.text.Concat('gclid', 'wbraid', 'gbraid'), name='conversion_by_click_id'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(fields=['site', 'id'], name='conversion_of_site'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(fields=['site', 'status', 'id'], name='conversion_of_site_in_status'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status', 'FAILED')), fields=['id'], name='conversion_failed'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status', 'RETRY')), fields=['id'], name='conversion_in_retry'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status__in', ['FAILED', 'RETRY']), models.Q(('error_group', ''), _negated=True)), fields=['error_group', 'id'], name='conversion_of_error_group'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('provider_error_code', ''), _negated=True), fields=['provider_error_code', 'id'], name='conversion_of_code'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('provider_error_category', ''), _negated=True), fields=['provider_error_category', 'id'], name='conversion_of_category'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(models.Q(('gclid', ''), _negated=True), ('gbraid', ''), ('wbraid', '')), models.Q(models.Q(('wbraid', ''), _negated=True), ('gbraid', ''), ('gclid', '')), models.Q(models.Q(('gbraid', ''), _negated=True), ('gclid', ''), ('wbraid', '')), _connector='OR'), name='conversion_has_one_click_id'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('value__gte', 0), ('value__lt', 1000000000000)), name='conversion_value_is_a_price'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('currency__regex', '^[A-Z]{3}$')), name='conversion_currency_is_a_code'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'PROCESSING'), _negated=True), ('claimed_at__isnull', False), _connector='OR'), name='processing_has_claimed_at'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'QUEUED'), _negated=True), models.Q(('claimed_at', None), ('next_retry_at', None)), _connector='OR'), name='queued_is_free'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'FAILED'), _negated=True), models.Q(('provider_error_code', ''), _negated=True), _connector='OR'), name='failed_has_error_code'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('uploaded_at', None), ('status', 'COMPLETED'), _connector='OR'), name='only_completed_is_uploaded'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('open_batch', None), ('status', 'PROCESSING'), _connector='OR'), name='only_processing_has_batch'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('attempts_forgiven__lte', models.F('attempt_count'))), name='forgiven_attempts_were_made'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.UniqueConstraint(condition=models.Q(('source_key__isnull', False)), fields=('site', 'action', 'source_key'), name='one_conversion_per_source_key'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('QUEUED'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as QUEUED.';", hash='a69431313f5eae6033ba6e0cd9ad08c73e52d783', operation='INSERT', pgid='pgtrigger_legal_initial_state_acddf', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('FAILED', 'QUEUED'), ('FAILED', 'RETRY'), ('PROCESSING', 'COMPLETED'), ('PROCESSING', 'FAILED'), ('PROCESSING', 'QUEUED'), ('PROCESSING', 'RETRY'), ('QUEUED', 'FAILED'), ('QUEUED', 'PROCESSING'), ('RETRY', 'FAILED'), ('RETRY', 'PROCESSING'), ('RETRY', 'QUEUED')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='2d18ec4da3143520ff3b490c26936e7bbed8f168', operation='UPDATE', pgid='pgtrigger_legal_arrow_1792c', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion %s cannot change its id', OLD.id), HINT = 'Its history would be lost.';", hash='c4056f6c3d1c27fd2f96592959d72ed4a9ae64f8', operation='UPDATE', pgid='pgtrigger_fixed_identity_e99ad', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.attempt_count, n.provider_error_code, n.provider_error_category, n.last_error, '' AS from_state, '' AS from_scope FROM new_rows n),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'conversion', id, 'JOB_CREATED', from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'attempt_count', attempt_count, 'provider_error_code', provider_error_code, 'provider_error_category', provider_error_category, 'last_error', last_error)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'conversion', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='18a4ce8eb73a15d3753f29a11c3502fcb7f10d0b', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_5a1f7', referencing='REFERENCING NEW TABLE AS new_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.attempt_count, n.provider_error_code, n.provider_error_category, n.last_error, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'conversion', id, 'STATE_' || upper(to_state), from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'attempt_count', attempt_count, 'provider_error_code', provider_error_code, 'provider_error_category', provider_error_category, 'last_error', last_error)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'conversion', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='3fa2a2ac4faa4ad06c7ab130c1d6960deaf382e0', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_c1209', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status NOT IN ('COMPLETED', 'FAILED') OR OLD.updated_at >= least(now() - interval '1 days',\n      coalesce(nullif(current_setting('kilit.prune_before', true), '')::timestamptz, '-infinity')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('rows of conversion cannot be deleted: %s is %s', OLD.id, OLD.status), HINT = 'Finished rows that are old enough are pruned: docs/operations.md.';", hash='de56fbf58148b98a2df4983f4bcf1777a3abade8', operation='DELETE', pgid='pgtrigger_no_delete_6bd5f', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='record_prune', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $prune$\n      WITH gone AS MATERIALIZED (SELECT id, status AS state, old_rows.site_id::text AS scope, updated_at FROM old_rows),\n      forgotten AS (\n        DELETE FROM lock_event WHERE queue = 'conversion' AND object_id IN (SELECT id FROM gone) RETURNING 1\n      ),\n      counted AS (\n        INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n        SELECT 'conversion', scope, state, -count(*), 0, now() FROM gone GROUP BY scope, state\n      )\n      INSERT INTO lock_pruning (queue, before, rows, events, states, oldest, newest, actor, message, created_at)\n      SELECT 'conversion', $3, count(*), (SELECT count(*) FROM forgotten),\n        (SELECT jsonb_object_agg(state, number)\n          FROM (SELECT state, count(*) AS number FROM gone GROUP BY state) AS each),\n        min(updated_at), max(updated_at), $1, $2, now()\n      FROM gone HAVING count(*) > 0\n    $prune$ USING\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), ''),\n      nullif(current_setting('kilit.prune_before', true), '')::timestamptz;\n    RETURN NULL;\n", hash='f782adb4b1c685b509e23c5657ecbe622d00ac10', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_prune_1a86c', referencing='REFERENCING OLD TABLE AS old_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of conversion cannot be truncated', HINT = 'Move them instead.';", hash='689e9c04d0ad3224a2f8966262d05a9922fa87a9', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_536bc', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='name_error_on_insert', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.provider_error_code <> '' OR NEW.error_group <> '')", func="\n    NEW.error_group = CASE WHEN NEW.provider_error_code = '' THEN ''\n      ELSE left(md5(NEW.provider_error_code || chr(10) || lock_error_shape(NEW.last_error)), 16) END;\n    RETURN NEW;\n", hash='fe0171a64665b8c831759bd97bc811d528fcf380', operation='INSERT', pgid='pgtrigger_name_error_on_insert_133ff', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='name_error', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(NEW.provider_error_code, NEW.last_error, NEW.error_group) IS DISTINCT FROM ROW(OLD.provider_error_code, OLD.last_error, OLD.error_group))', func="\n    NEW.error_group = CASE WHEN NEW.provider_error_code = '' THEN ''\n      ELSE left(md5(NEW.provider_error_code || chr(10) || lock_error_shape(NEW.last_error)), 16) END;\n    RETURN NEW;\n", hash='34fd8b3800d7b85a01646979bd9bebf32994c709', operation='UPDATE', pgid='pgtrigger_name_error_86f02', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='record_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM new_rows n WHERE n.status IN ('FAILED', 'RETRY') AND n.error_group <> '') OR EXISTS (SELECT FROM old_rows o WHERE o.status IN ('FAILED', 'RETRY') AND o.error_group <> '') THEN\n      EXECUTE $errors$\n        WITH changed AS MATERIALIZED (\n          SELECT n.status IN ('FAILED', 'RETRY') AND n.error_group <> '' AS comes, o.status IN ('FAILED', 'RETRY') AND o.error_group <> '' AS leaves,\n            n.site_id::text AS new_scope, n.status AS new_state, n.error_group AS new_group,\n            n.provider_error_code AS new_code, n.last_error AS new_message,\n            o.site_id::text AS old_scope, o.status AS old_state, o.error_group AS old_group,\n            o.provider_error_code AS old_code, o.last_error AS old_message\n          FROM new_rows n JOIN old_rows o ON o.id = n.id\n          WHERE (n.status, n.error_group, n.site_id::text) IS DISTINCT FROM (o.status, o.error_group, o.site_id::text)\n        )\n        INSERT INTO lock_errordelta\n          (queue, scope, state, error_group, code, shape, change, entered, created_at)\n        SELECT 'conversion', scope, state, error_group, min(code), lock_error_shape(min(message)),\n          sum(change), sum(entered), now()\n        FROM (\n          SELECT new_scope AS scope, new_state AS state, new_group AS error_group, new_code AS code,\n            new_message AS message, 1 AS change,\n            CASE WHEN leaves AND (new_scope, new_group) = (old_scope, old_group) THEN 0 ELSE 1 END AS entered\n          FROM changed WHERE comes\n          UNION ALL\n          SELECT old_scope, old_state, old_group, old_code, old_message, -1, 0 FROM changed WHERE leaves\n        ) AS changes GROUP BY scope, state, error_group\n      $errors$;\n    END IF;\n    RETURN NULL;\n", hash='ad5698e2687aaf29d9a998396a09ab37279b7ed4', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_errors_4eaa7', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='forget_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $errors$\n      INSERT INTO lock_errordelta (queue, scope, state, error_group, code, shape, change, entered, created_at)\n      SELECT 'conversion', o.site_id::text, o.status, o.error_group, min(o.provider_error_code), lock_error_shape(min(o.last_error)),\n        -count(*), 0, now()\n      FROM old_rows o WHERE o.status IN ('FAILED', 'RETRY') AND o.error_group <> '' GROUP BY o.site_id::text, o.status, o.error_group\n    $errors$;\n    RETURN NULL;\n", hash='c5bc8dce68052c8457ac249357b731877854c4fb', level='STATEMENT', operation='DELETE', pgid='pgtrigger_forget_errors_70217', referencing='REFERENCING OLD TABLE AS old_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        *(migrations.RunSQL(f"ALTER TABLE {table} SET ({options})", migrations.RunSQL.noop) for table, options in STORAGE.items()),
    ]
