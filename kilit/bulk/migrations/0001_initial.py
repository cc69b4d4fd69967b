import django.db.models.deletion
import django.db.models.functions.datetime
import kilit.lock.identity
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('lock', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BulkAction',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('claim_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True, verbose_name='lease until')),
                ('lapse_count', models.PositiveSmallIntegerField(default=0, help_text='Leases that ran out since it last progressed.')),
                ('status', models.CharField(choices=[('PLANNED', 'Planned'), ('READY', 'Ready'), ('RUNNING', 'Running'), ('DONE', 'Done'), ('CANCELLED', 'Cancelled'), ('FAILED', 'Failed')], default='PLANNED', editable=False, max_length=9, verbose_name='state')),
                ('queue', models.CharField(max_length=32)),
                ('action', models.CharField(max_length=32)),
                ('options', models.JSONField(default=dict)),
                ('reason', models.CharField(max_length=1000)),
                ('filters', models.JSONField(help_text="The list's filters, as they were in its address.")),
                ('filters_text', models.CharField(blank=True, help_text='The filters as the list shows them.', max_length=1000)),
                ('zone', models.CharField(default='UTC', help_text='The time zone in which filters by day are read.', max_length=64)),
                ('as_of', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='Filters by age count from here.')),
                ('scopes', models.JSONField(help_text='What the rows belong to, such as sites; it decides who sees this.', null=True)),
                ('dry_run', models.JSONField(default=dict, help_text='Rows by state and reason, counted before it starts.')),
                ('total', models.PositiveIntegerField(help_text='Rows recorded.', null=True)),
                ('eligible', models.PositiveIntegerField(help_text='Recorded rows that it would have changed then.', null=True)),
                ('confirmed_count', models.PositiveIntegerField(help_text='What the operator typed.', null=True)),
                ('done_count', models.PositiveIntegerField(default=0, help_text='Rows processed.')),
                ('moved_count', models.PositiveIntegerField(default=0, help_text='Rows changed.')),
                ('skipped', models.JSONField(default=list, help_text='Rows skipped: a list of state, reason and count.')),
                ('last_object_id', models.UUIDField(help_text='All up to this id are processed.', null=True)),
                ('error', models.CharField(blank=True, max_length=1000)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bulk_actions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'bulk action',
                'verbose_name_plural': 'bulk actions',
                'abstract': False,
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='BulkItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('object_id', models.UUIDField()),
                ('found_as', models.CharField(max_length=32)),
                ('result', models.CharField(blank=True, choices=[('', 'waiting'), ('changed', 'changed'), ('skipped', 'skipped')], db_default='', default='', max_length=7)),
                ('state', models.CharField(blank=True, db_default='', default='', help_text='When it was skipped.', max_length=32)),
                ('reason', models.CharField(blank=True, db_default='', default='', help_text='Besides its state.', max_length=200)),
                ('done_at', models.DateTimeField(null=True)),
                ('action', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='bulk.bulkaction')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddIndex(
            model_name='bulkaction',
            index=models.Index(condition=models.Q(('status__in', ('PLANNED', 'RUNNING'))), fields=['updated_at', 'id'], name='bulk_due'),
        ),
        migrations.AddIndex(
            model_name='bulkaction',
            index=models.Index(fields=['asked_by', 'id'], name='bulk_of_person'),
        ),
        migrations.AddConstraint(
            model_name='bulkaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['RUNNING', 'DONE']), _negated=True), models.Q(('eligible__isnull', False), ('eligible__lte', 100)), models.Q(('confirmed_count', models.F('eligible')), ('confirmed_count__isnull', False), ('eligible__isnull', False)), _connector='OR'), name='bulk_action_is_confirmed'),
        ),
        migrations.AddConstraint(
            model_name='bulkaction',
            constraint=models.CheckConstraint(condition=models.Q(('filters', {}), _negated=True), name='bulk_action_has_a_filter'),
        ),
        migrations.AddConstraint(
            model_name='bulkaction',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='bulk_action_has_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='bulkaction',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ('PLANNED', 'RUNNING')), models.Q(('claim_token', None), ('lease_until', None)), _connector='OR'), name='resting_bulk_is_free'),
        ),
        migrations.AddConstraint(
            model_name='bulkaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('done_count', 0), ('total', None)), models.Q(('done_count__lte', models.F('total')), ('total__isnull', False)), _connector='OR'), name='bulk_done_within_total'),
        ),
        migrations.AddConstraint(
            model_name='bulkaction',
            constraint=models.CheckConstraint(condition=models.Q(('moved_count__lte', models.F('done_count'))), name='bulk_moved_within_done'),
        ),
        migrations.AddConstraint(
            model_name='bulkaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'DONE'), _negated=True), models.Q(('done_count', models.F('total')), ('total__isnull', False)), _connector='OR'), name='done_bulk_looked_at_all'),
        ),
        migrations.AddConstraint(
            model_name='bulkaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'FAILED'), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='failed_bulk_says_why'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bulkaction',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('PLANNED'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('bulk_action %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as PLANNED.';", hash='5163d9794996d2a991ca1265abd6d9f3511593a5', operation='INSERT', pgid='pgtrigger_legal_initial_state_51521', table='bulk_bulkaction', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bulkaction',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('PLANNED', 'CANCELLED'), ('PLANNED', 'FAILED'), ('PLANNED', 'READY'), ('READY', 'CANCELLED'), ('READY', 'RUNNING'), ('RUNNING', 'CANCELLED'), ('RUNNING', 'DONE'), ('RUNNING', 'FAILED')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('bulk_action %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='390f54dd8180e55aa83cee2f583f0f4bbac433cf', operation='UPDATE', pgid='pgtrigger_legal_arrow_dec82', table='bulk_bulkaction', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bulkaction',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('bulk_action %s cannot change its id', OLD.id), HINT = 'Its history would be lost.';", hash='7319b6536e440fd5839af6b208102ecaa25f44da', operation='UPDATE', pgid='pgtrigger_fixed_identity_1adf2', table='bulk_bulkaction', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bulkaction',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, '' AS to_scope, n.action, n.total, n.eligible, n.done_count, n.moved_count, n.error, '' AS from_state, '' AS from_scope FROM new_rows n),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'bulk_action', id, 'JOB_CREATED', from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'action', action, 'total', total, 'eligible', eligible, 'done_count', done_count, 'moved_count', moved_count, 'error', error)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'bulk_action', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='9516ea22428d8d62e0df57e6f8f9cd06b50539ba', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_153db', referencing='REFERENCING NEW TABLE AS new_rows ', table='bulk_bulkaction', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bulkaction',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, '' AS to_scope, n.action, n.total, n.eligible, n.done_count, n.moved_count, n.error, o.status AS from_state, '' AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'bulk_action', id, 'STATE_' || upper(to_state), from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'action', action, 'total', total, 'eligible', eligible, 'done_count', done_count, 'moved_count', moved_count, 'error', error)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'bulk_action', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='e25eacd377b38bbf052d5dc64bffeeec8217c3b8', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_e8483', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='bulk_bulkaction', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bulkaction',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of bulk_action cannot be deleted', HINT = 'Move them instead.';", hash='9fe811f44280665eab46ae2c857ace9cc6072917', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_36f3b', table='bulk_bulkaction', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='bulkaction',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of bulk_action cannot be truncated', HINT = 'Move them instead.';", hash='c36a9008cad13f976465114e1a6b1385d00dcb5e', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_e5d6e', table='bulk_bulkaction', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='bulkitem',
            index=models.Index(condition=models.Q(('result', 'skipped')), fields=['action', 'object_id'], name='bulk_rows_skipped'),
        ),
        migrations.AddConstraint(
            model_name='bulkitem',
            constraint=models.UniqueConstraint(fields=('action', 'object_id'), name='one_line_per_bulk_row'),
        ),
    ]
