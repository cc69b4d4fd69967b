import django.db.models.deletion
import django.db.models.functions.datetime
import kilit.lock.identity
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('lock', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Customer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('phone', models.CharField(help_text='Any format; kept as +905551234567.', max_length=16, unique=True, verbose_name='phone')),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'customer',
                'verbose_name_plural': 'customers',
                'default_permissions': ('view', 'operate'),
                'constraints': [models.CheckConstraint(condition=models.Q(('phone__regex', '^\\+[1-9][0-9]{6,14}$')), name='customer_phone_is_e164'), models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='customer_has_a_name')],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('claim_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True, verbose_name='lease until')),
                ('lapse_count', models.PositiveSmallIntegerField(default=0, help_text='Leases that ran out since it last progressed.')),
                ('status', models.CharField(choices=[('NEW', 'New'), ('PREPARED', 'Prepared'), ('OPTI_IMPORTED', 'Opti Imported'), ('OPTI_RUNNING', 'Opti Running'), ('OPTI_DONE', 'Opti Done'), ('XML_READY', 'Xml Ready'), ('DELIVERED', 'Delivered'), ('DONE', 'Done'), ('HOLD', 'Hold'), ('FAILED', 'Failed')], default='NEW', editable=False, max_length=13, verbose_name='state')),
                ('order_id', models.CharField(max_length=200, verbose_name='order id')),
                ('customer_phone', models.CharField(max_length=16)),
                ('customer_snapshot_name', models.CharField(blank=True, max_length=200)),
                ('opti_mode', models.CharField(choices=[('A', 'A: command line'), ('B', 'B: Excel macro'), ('C', 'C: by the operator')], max_length=1, verbose_name='mode')),
                ('revision', models.PositiveIntegerField(default=0)),
                ('payload', models.JSONField(help_text='The validated order, with defaults filled in.')),
                ('payload_hash', models.CharField(max_length=64)),
                ('part_count', models.PositiveIntegerField()),
                ('manual_trigger_approved', models.BooleanField(default=False)),
                ('retry_count', models.PositiveSmallIntegerField(default=0, verbose_name='retries')),
                ('next_run_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='next run')),
                ('error_code', models.CharField(blank=True, choices=[('E_CRM_NO_MATCH', 'Customer unknown'), ('E_TEMPLATE_INVALID', 'Template invalid'), ('E_PLATE_SIZE_MISSING', 'Plate size missing'), ('E_BACKING_THICKNESS_UNKNOWN', 'Backing thickness unknown'), ('E_TRIM_RULE_MISSING', 'Trim rule missing'), ('E_OPERATOR_TRIGGER_REQUIRED', 'Operator must start OptiPlanning'), ('E_XML_INVALID', 'Solution XML invalid'), ('E_OPTI_XML_TIMEOUT', 'No solution XML in time'), ('E_OPTI_RUNNER_FAILED', 'OptiPlanning failed'), ('E_OPTI_MODE_A_RUNNER_MISSING', 'OptiPlanning command missing'), ('E_OPTI_MODE_B_MACRO_MISSING', 'OptiPlanning macro missing'), ('E_OSI_ACK_TIMEOUT', 'No answer from the saw in time'), ('E_OSI_ACK_FAILED', 'The saw rejected the file'), ('E_EDGE_MAPPING_UNKNOWN', 'Edge unknown'), ('E_INVALID_GRAIN', 'Grain unknown'), ('E_RETRY_LIMIT_REACHED', 'Retry limit reached'), ('E_JOB_NOT_IN_HOLD', 'Job is not on hold'), ('E_JOB_NOT_FOUND', 'Job not found'), ('E_VALIDATION', 'Invalid order'), ('E_CANCELLED', 'Cancelled'), ('E_UNKNOWN', 'Unexpected error')], max_length=32)),
                ('error_message', models.CharField(blank=True, max_length=1000)),
                ('error_group', models.CharField(blank=True, db_default='', default='', editable=False, max_length=16)),
                ('plate_size', models.JSONField(null=True)),
                ('batch_count', models.PositiveIntegerField(null=True)),
                ('backing_edge_reset_count', models.PositiveIntegerField(null=True, verbose_name='backing parts with edges removed')),
                ('files', models.JSONField(default=list, help_text='Sheets in the import folder: name and sha256.')),
                ('solution', models.JSONField(help_text='Figures of the best solution.', null=True)),
                ('xml_sha256', models.CharField(blank=True, help_text='Of the solution that belongs to the files.', max_length=64)),
                ('delivery_names', models.JSONField(default=list, help_text='Every name under which the saw may have received it.')),
                ('attempt_started_at', models.DateTimeField(help_text='Older solutions belong to an earlier attempt.', null=True)),
                ('imported_at', models.DateTimeField(null=True, verbose_name='sheets imported at')),
                ('opti_started_at', models.DateTimeField(null=True, verbose_name='OptiPlanning started at')),
                ('opti_ended_at', models.DateTimeField(help_text='OptiPlanning has ended; only its file is missing.', null=True)),
                ('xml_ready_at', models.DateTimeField(help_text='When it started to wait for delivery.', null=True)),
                ('handed_at', models.DateTimeField(null=True, verbose_name='handed to the saw at')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished at')),
                ('customer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='orchestrator.customer')),
            ],
            options={
                'verbose_name': 'job',
                'verbose_name_plural': 'jobs',
                'abstract': False,
                'default_permissions': ('view', 'operate'),
            },
        ),
        migrations.CreateModel(
            name='SolutionFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255)),
                ('sha256', models.CharField(max_length=64)),
                ('content', models.BinaryField()),
                ('acknowledged_as', models.CharField(blank=True, max_length=255)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='solution_files', to='orchestrator.job')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('claim_token', None), ('status__in', ('NEW', 'PREPARED', 'OPTI_IMPORTED', 'OPTI_RUNNING', 'OPTI_DONE', 'XML_READY', 'DELIVERED'))), fields=['next_run_at', 'created_at'], name='job_due'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('lease_until__isnull', False)), fields=['lease_until'], name='job_claimed'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('status', 'OPTI_IMPORTED')), fields=['imported_at'], name='job_waits_for_slot'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['order_id', 'id'], name='job_of_order'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['status', 'id'], name='job_in_state'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['customer_phone', 'id'], name='job_of_phone'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['opti_mode', 'id'], name='job_of_mode'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('status__in', ['HOLD', 'FAILED']), models.Q(('error_group', ''), _negated=True)), fields=['error_group', 'id'], name='job_of_error_group'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('error_code', ''), _negated=True), fields=['error_code', 'id'], name='job_of_code'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(fields=('payload_hash',), name='one_job_per_payload'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'OPTI_RUNNING')), fields=('status',), name='one_opti_running'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('claim_token', None), ('lease_until', None)), models.Q(('claim_token__isnull', False), ('lease_until__isnull', False)), _connector='OR'), name='job_claim_has_a_lease'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ('DONE', 'HOLD', 'FAILED')), _negated=True), ('claim_token', None), _connector='OR'), name='job_at_rest_is_held_by_nobody'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('error_code__in', ['', 'E_CRM_NO_MATCH', 'E_TEMPLATE_INVALID', 'E_PLATE_SIZE_MISSING', 'E_BACKING_THICKNESS_UNKNOWN', 'E_TRIM_RULE_MISSING', 'E_OPERATOR_TRIGGER_REQUIRED', 'E_XML_INVALID', 'E_OPTI_XML_TIMEOUT', 'E_OPTI_RUNNER_FAILED', 'E_OPTI_MODE_A_RUNNER_MISSING', 'E_OPTI_MODE_B_MACRO_MISSING', 'E_OSI_ACK_TIMEOUT', 'E_OSI_ACK_FAILED', 'E_EDGE_MAPPING_UNKNOWN', 'E_INVALID_GRAIN', 'E_RETRY_LIMIT_REACHED', 'E_JOB_NOT_IN_HOLD', 'E_JOB_NOT_FOUND', 'E_VALIDATION', 'E_CANCELLED', 'E_UNKNOWN'])), name='job_error_code_is_known'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'HOLD'), _negated=True), ('error_code__in', ['E_BACKING_THICKNESS_UNKNOWN', 'E_CRM_NO_MATCH', 'E_OPERATOR_TRIGGER_REQUIRED', 'E_PLATE_SIZE_MISSING', 'E_TEMPLATE_INVALID', 'E_TRIM_RULE_MISSING']), _connector='OR'), name='hold_has_something_to_fix'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'FAILED'), _negated=True), models.Q(('error_code', ''), _negated=True), _connector='OR'), name='failed_job_has_error_code'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'OPTI_RUNNING'), _negated=True), models.Q(('attempt_started_at__isnull', False), ('opti_started_at__isnull', False)), _connector='OR'), name='running_job_has_started'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ('OPTI_DONE', 'XML_READY', 'DELIVERED', 'DONE')), _negated=True), models.Q(('xml_sha256', ''), _negated=True), _connector='OR'), name='solved_job_has_xml'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ('DELIVERED', 'DONE')), _negated=True), ('handed_at__isnull', False), _connector='OR'), name='delivered_job_was_handed_over'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('status', 'DONE')), models.Q(models.Q(('status', 'DONE'), _negated=True), ('finished_at', None)), _connector='OR'), name='only_done_job_is_finished'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('NEW'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('cutting_job %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as NEW.';", hash='07e32a00abb61d3609f882c0f3446617a51fb2d8', operation='INSERT', pgid='pgtrigger_legal_initial_state_d48a8', table='orchestrator_job', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('DELIVERED', 'DONE'), ('DELIVERED', 'FAILED'), ('FAILED', 'NEW'), ('HOLD', 'FAILED'), ('HOLD', 'NEW'), ('NEW', 'FAILED'), ('NEW', 'HOLD'), ('NEW', 'PREPARED'), ('OPTI_DONE', 'FAILED'), ('OPTI_DONE', 'XML_READY'), ('OPTI_IMPORTED', 'FAILED'), ('OPTI_IMPORTED', 'HOLD'), ('OPTI_IMPORTED', 'OPTI_RUNNING'), ('OPTI_RUNNING', 'FAILED'), ('OPTI_RUNNING', 'OPTI_DONE'), ('PREPARED', 'FAILED'), ('PREPARED', 'OPTI_IMPORTED'), ('XML_READY', 'DELIVERED'), ('XML_READY', 'FAILED')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('cutting_job %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='f8e494412a2ba50c3159acb8d593cd42af096e83', operation='UPDATE', pgid='pgtrigger_legal_arrow_ec009', table='orchestrator_job', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('cutting_job %s cannot change its id', OLD.id), HINT = 'Its history would be lost.';", hash='7a6466c61ec676199f6621d2a2ce6edbb1b4e6f1', operation='UPDATE', pgid='pgtrigger_fixed_identity_ce9da', table='orchestrator_job', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, '' AS to_scope, n.retry_count, n.error_code, n.error_message, n.batch_count, n.backing_edge_reset_count, '' AS from_state, '' AS from_scope FROM new_rows n),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'cutting_job', id, 'JOB_CREATED', from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'retry_count', retry_count, 'error_code', error_code, 'error_message', error_message, 'batch_count', batch_count, 'backing_edge_reset_count', backing_edge_reset_count)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'cutting_job', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='fc233029e0e203ccf2ba58d9844c70ba6dbd31e9', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_415eb', referencing='REFERENCING NEW TABLE AS new_rows ', table='orchestrator_job', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, '' AS to_scope, n.retry_count, n.error_code, n.error_message, n.batch_count, n.backing_edge_reset_count, o.status AS from_state, '' AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'cutting_job', id, 'STATE_' || upper(to_state), from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'retry_count', retry_count, 'error_code', error_code, 'error_message', error_message, 'batch_count', batch_count, 'backing_edge_reset_count', backing_edge_reset_count)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'cutting_job', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='87cf86d5db886ea8c04b35b56662e70375986348', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_eb1c4', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='orchestrator_job', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of cutting_job cannot be deleted', HINT = 'Move them instead.';", hash='81d7ee0bfd8b5887291eabe027020118089f671e', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_d1958', table='orchestrator_job', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of cutting_job cannot be truncated', HINT = 'Move them instead.';", hash='0a3d4cb6c17bc6ed34f3c5d2e28a8f3a9e36da60', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_18f6b', table='orchestrator_job', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='name_error_on_insert', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.error_code <> '' OR NEW.error_group <> '')", func="\n    NEW.error_group = CASE WHEN NEW.error_code = '' THEN ''\n      ELSE left(md5(NEW.error_code || chr(10) || lock_error_shape(NEW.error_message)), 16) END;\n    RETURN NEW;\n", hash='55996ae5e27472cedac6ec85398ac92fd2bf6f0e', operation='INSERT', pgid='pgtrigger_name_error_on_insert_237e1', table='orchestrator_job', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='name_error', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(NEW.error_code, NEW.error_message, NEW.error_group) IS DISTINCT FROM ROW(OLD.error_code, OLD.error_message, OLD.error_group))', func="\n    NEW.error_group = CASE WHEN NEW.error_code = '' THEN ''\n      ELSE left(md5(NEW.error_code || chr(10) || lock_error_shape(NEW.error_message)), 16) END;\n    RETURN NEW;\n", hash='4181a4278a6ca09f1aec684e5228b2670ba8d9da', operation='UPDATE', pgid='pgtrigger_name_error_f9b14', table='orchestrator_job', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='record_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM new_rows n WHERE n.status IN ('HOLD', 'FAILED') AND n.error_group <> '') OR EXISTS (SELECT FROM old_rows o WHERE o.status IN ('HOLD', 'FAILED') AND o.error_group <> '') THEN\n      EXECUTE $errors$\n        WITH changed AS MATERIALIZED (\n          SELECT n.status IN ('HOLD', 'FAILED') AND n.error_group <> '' AS comes, o.status IN ('HOLD', 'FAILED') AND o.error_group <> '' AS leaves,\n            '' AS new_scope, n.status AS new_state, n.error_group AS new_group,\n            n.error_code AS new_code, n.error_message AS new_message,\n            '' AS old_scope, o.status AS old_state, o.error_group AS old_group,\n            o.error_code AS old_code, o.error_message AS old_message\n          FROM new_rows n JOIN old_rows o ON o.id = n.id\n          WHERE (n.status, n.error_group, '') IS DISTINCT FROM (o.status, o.error_group, '')\n        )\n        INSERT INTO lock_errordelta\n          (queue, scope, state, error_group, code, shape, change, entered, created_at)\n        SELECT 'cutting_job', scope, state, error_group, min(code), lock_error_shape(min(message)),\n          sum(change), sum(entered), now()\n        FROM (\n          SELECT new_scope AS scope, new_state AS state, new_group AS error_group, new_code AS code,\n            new_message AS message, 1 AS change,\n            CASE WHEN leaves AND (new_scope, new_group) = (old_scope, old_group) THEN 0 ELSE 1 END AS entered\n          FROM changed WHERE comes\n          UNION ALL\n          SELECT old_scope, old_state, old_group, old_code, old_message, -1, 0 FROM changed WHERE leaves\n        ) AS changes GROUP BY scope, state, error_group\n      $errors$;\n    END IF;\n    RETURN NULL;\n", hash='a468befae6d5ac69fe7194b6b64b6e28ea42ee40', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_errors_13461', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='orchestrator_job', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='solutionfile',
            constraint=models.UniqueConstraint(fields=('job', 'name'), name='one_solution_file_per_name'),
        ),
    ]
