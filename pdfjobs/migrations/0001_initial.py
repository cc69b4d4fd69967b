import datetime
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
            name='RenderTiming',
            fields=[
                ('bound', models.FloatField(primary_key=True, serialize=False)),
                ('renders', models.BigIntegerField()),
                ('seconds', models.FloatField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='PdfJob',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('claim_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True, verbose_name='lease until')),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('expired', 'Expired')], default='queued', editable=False, max_length=10)),
                ('job_key', models.CharField(help_text='SHA-256 of everything that determines the document.', max_length=64)),
                ('template_name', models.CharField(max_length=64, verbose_name='template')),
                ('payload', models.JSONField(default=dict, verbose_name='variables')),
                ('options', models.JSONField(default=dict)),
                ('timeout', models.DurationField(default=datetime.timedelta(seconds=60), verbose_name='timeout')),
                ('artifact_key', models.CharField(blank=True, max_length=200)),
                ('artifact_size', models.PositiveIntegerField(help_text='In bytes.', null=True)),
                ('artifact_digest', models.CharField(blank=True, help_text='SHA-256 of the file; its ETag.', max_length=64)),
                ('error_code', models.CharField(blank=True, choices=[('BROWSER_LAUNCH_FAILED', 'the browser did not start'), ('BROWSER_CRASHED', 'the browser crashed while rendering'), ('NAVIGATION_TIMEOUT', 'the document was not finished in time'), ('WORKER_LOST', 'the worker died or stopped reporting'), ('STORAGE_UNAVAILABLE', 'the PDF could not be stored'), ('VERSION_MISMATCH', 'web and worker run different templates, fonts or browsers'), ('TEMPLATE_ERROR', 'the document cannot be rendered as requested: template, image, page range or size'), ('UNSUPPORTED_PLATFORM', 'this machine cannot render PDFs'), ('UNKNOWN', 'an unexpected error')], max_length=32)),
                ('error_detail', models.TextField(blank=True, help_text='For operators; callers see only the code.')),
                ('error_group', models.CharField(blank=True, db_default='', default='', editable=False, max_length=16)),
                ('retry_count', models.PositiveSmallIntegerField(default=0, verbose_name='retries')),
                ('queued_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='queued at')),
                ('started_at', models.DateTimeField(null=True, verbose_name='started at')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished at')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pdf_jobs', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'PDF job',
                'verbose_name_plural': 'PDF jobs',
                'abstract': False,
                'default_permissions': ('view', 'operate'),
                'indexes': [models.Index(condition=models.Q(('status', 'queued')), fields=['queued_at', 'id'], name='pdf_due'), models.Index(condition=models.Q(('status', 'running')), fields=['lease_until'], name='pdf_held'), models.Index(condition=models.Q(('status__in', ('succeeded', 'failed'))), fields=['finished_at'], name='pdf_ended'), models.Index(fields=['status', 'id'], name='pdf_in_status'), models.Index(fields=['template_name', 'id'], name='pdf_of_template'), models.Index(fields=['job_key'], name='pdf_by_key'), models.Index(fields=['owner', 'id'], name='pdf_of_owner'), models.Index(condition=models.Q(('status__in', ['failed']), models.Q(('error_group', ''), _negated=True)), fields=['error_group', 'id'], name='pdf_of_error_group'), models.Index(condition=models.Q(('status', 'failed')), fields=['error_code', 'id'], name='pdf_of_code')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ('queued', 'running', 'succeeded'))), fields=('owner', 'job_key'), name='one_live_pdf_job_per_key'), models.CheckConstraint(condition=models.Q(models.Q(('claim_token__isnull', False), ('lease_until__isnull', False), ('status', 'running')), models.Q(models.Q(('status', 'running'), _negated=True), ('claim_token', None), ('lease_until', None)), _connector='OR'), name='running_pdf_is_held'), models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['running', 'succeeded']), _negated=True), ('started_at__isnull', False), _connector='OR'), name='begun_pdf_has_started_at'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('status__in', ('queued', 'running'))), models.Q(models.Q(('status__in', ('queued', 'running')), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='only_ended_pdf_has_finished_at'), models.CheckConstraint(condition=models.Q(models.Q(models.Q(('artifact_key', ''), _negated=True), ('status', 'succeeded')), models.Q(('artifact_key', ''), models.Q(('status', 'succeeded'), _negated=True)), _connector='OR'), name='only_succeeded_pdf_has_artifact'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'succeeded'), _negated=True), models.Q(models.Q(('artifact_digest', ''), _negated=True), ('artifact_size__isnull', False)), _connector='OR'), name='succeeded_pdf_is_described'), models.CheckConstraint(condition=models.Q(models.Q(('error_code__in', ['BROWSER_LAUNCH_FAILED', 'BROWSER_CRASHED', 'NAVIGATION_TIMEOUT', 'WORKER_LOST', 'STORAGE_UNAVAILABLE', 'VERSION_MISMATCH', 'TEMPLATE_ERROR', 'UNSUPPORTED_PLATFORM', 'UNKNOWN']), ('status', 'failed')), ('status', 'expired'), models.Q(('error_code', ''), ('error_detail', ''), models.Q(('status', 'failed'), _negated=True)), _connector='OR'), name='failed_pdf_has_error_code'), models.CheckConstraint(condition=models.Q(('retry_count__lte', 2)), name='pdf_retries_are_bounded'), models.CheckConstraint(condition=models.Q(('timeout__gt', datetime.timedelta(0)), ('timeout__lte', datetime.timedelta(seconds=60))), name='pdf_timeout_is_bounded')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('queued'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('pdf %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as queued.';", hash='048724704bdad9193b290f93afb8831d9648bb7d', operation='INSERT', pgid='pgtrigger_legal_initial_state_0f963', table='pdfjobs_pdfjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('failed', 'expired'), ('failed', 'queued'), ('queued', 'expired'), ('queued', 'running'), ('running', 'failed'), ('running', 'succeeded'), ('succeeded', 'expired')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('pdf %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='f7728040e41e13490c3bed417a717367fcd4316d', operation='UPDATE', pgid='pgtrigger_legal_arrow_93bd4', table='pdfjobs_pdfjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('pdf %s cannot change its id', OLD.id), HINT = 'Its history would be lost.';", hash='b56cb5ed718d1afea949739b2d246d5681ef31fb', operation='UPDATE', pgid='pgtrigger_fixed_identity_52989', table='pdfjobs_pdfjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.error_code::text AS to_scope, n.template_name, n.error_code, n.error_detail, n.retry_count, n.artifact_key, '' AS from_state, '' AS from_scope FROM new_rows n),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'pdf', id, 'JOB_CREATED', from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'template_name', template_name, 'error_code', error_code, 'error_detail', error_detail, 'retry_count', retry_count, 'artifact_key', artifact_key)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'pdf', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='feb53f7ce2f5f2f9c5983ef1b6d7063537b2407e', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_07b0f', referencing='REFERENCING NEW TABLE AS new_rows ', table='pdfjobs_pdfjob', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.error_code::text AS to_scope, n.template_name, n.error_code, n.error_detail, n.retry_count, n.artifact_key, o.status AS from_state, o.error_code::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'pdf', id, 'STATE_' || upper(to_state), from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'template_name', template_name, 'error_code', error_code, 'error_detail', error_detail, 'retry_count', retry_count, 'artifact_key', artifact_key)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'pdf', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='46254bd70899bf63dad94ebdb5ac2c4cbd23ad39', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_c0676', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='pdfjobs_pdfjob', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of pdf cannot be deleted', HINT = 'Move them instead.';", hash='a0fec8f95d51f0009cf7e74110b64312c7f79f59', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_5c669', table='pdfjobs_pdfjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of pdf cannot be truncated', HINT = 'Move them instead.';", hash='9a70671e48b3ac9604ebf4ed8a0e4712cbf0ccc2', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_eedc8', table='pdfjobs_pdfjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='name_error_on_insert', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.error_code <> '' OR NEW.error_group <> '')", func="\n    NEW.error_group = CASE WHEN NEW.error_code = '' THEN ''\n      ELSE left(md5(NEW.error_code || chr(10) || lock_error_shape(NEW.error_detail)), 16) END;\n    RETURN NEW;\n", hash='c88f9108591b6637f36eadc3da14384c25614dc8', operation='INSERT', pgid='pgtrigger_name_error_on_insert_a98f8', table='pdfjobs_pdfjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='name_error', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(NEW.error_code, NEW.error_detail, NEW.error_group) IS DISTINCT FROM ROW(OLD.error_code, OLD.error_detail, OLD.error_group))', func="\n    NEW.error_group = CASE WHEN NEW.error_code = '' THEN ''\n      ELSE left(md5(NEW.error_code || chr(10) || lock_error_shape(NEW.error_detail)), 16) END;\n    RETURN NEW;\n", hash='27ea12dba09b290431310b703e22e1140bd5f048', operation='UPDATE', pgid='pgtrigger_name_error_0eeaa', table='pdfjobs_pdfjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pdfjob',
            trigger=pgtrigger.compiler.Trigger(name='record_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM new_rows n WHERE n.status IN ('failed') AND n.error_group <> '') OR EXISTS (SELECT FROM old_rows o WHERE o.status IN ('failed') AND o.error_group <> '') THEN\n      EXECUTE $errors$\n        WITH changed AS MATERIALIZED (\n          SELECT n.status IN ('failed') AND n.error_group <> '' AS comes, o.status IN ('failed') AND o.error_group <> '' AS leaves,\n            '' AS new_scope, n.status AS new_state, n.error_group AS new_group,\n            n.error_code AS new_code, n.error_detail AS new_message,\n            '' AS old_scope, o.status AS old_state, o.error_group AS old_group,\n            o.error_code AS old_code, o.error_detail AS old_message\n          FROM new_rows n JOIN old_rows o ON o.id = n.id\n          WHERE (n.status, n.error_group, '') IS DISTINCT FROM (o.status, o.error_group, '')\n        )\n        INSERT INTO lock_errordelta\n          (queue, scope, state, error_group, code, shape, change, entered, created_at)\n        SELECT 'pdf', scope, state, error_group, min(code), lock_error_shape(min(message)),\n          sum(change), sum(entered), now()\n        FROM (\n          SELECT new_scope AS scope, new_state AS state, new_group AS error_group, new_code AS code,\n            new_message AS message, 1 AS change,\n            CASE WHEN leaves AND (new_scope, new_group) = (old_scope, old_group) THEN 0 ELSE 1 END AS entered\n          FROM changed WHERE comes\n          UNION ALL\n          SELECT old_scope, old_state, old_group, old_code, old_message, -1, 0 FROM changed WHERE leaves\n        ) AS changes GROUP BY scope, state, error_group\n      $errors$;\n    END IF;\n    RETURN NULL;\n", hash='69f42300466f468f87d2f7b8cfe1b1ad0f266c11', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_errors_b61cb', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='pdfjobs_pdfjob', when='AFTER')),
        ),
    ]
