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
            name='Parcel',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('claim_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True, verbose_name='lease until')),
                ('status', models.CharField(choices=[('WAITING', 'Waiting'), ('CARRIED', 'Carried'), ('DELIVERED', 'Delivered'), ('LOST', 'Lost')], default='WAITING', max_length=16)),
                ('depot', models.CharField(default='', max_length=20)),
                ('attempt_count', models.IntegerField(default=0)),
                ('work', models.FloatField(default=0)),
                ('error_code', models.CharField(blank=True, db_default='', default='', max_length=32)),
                ('error_message', models.TextField(blank=True, db_default='', default='')),
                ('error_group', models.CharField(blank=True, db_default='', default='', editable=False, max_length=16)),
            ],
            options={
                'abstract': False,
                'default_permissions': ('view', 'operate'),
                'indexes': [models.Index(condition=models.Q(('status', 'WAITING')), fields=['created_at', 'id'], name='parcel_due'), models.Index(condition=models.Q(('status__in', ['LOST']), models.Q(('error_group', ''), _negated=True)), fields=['error_group', 'id'], name='parcel_of_error_group')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('claim_token__isnull', False), ('lease_until__isnull', False), ('status', 'CARRIED')), models.Q(models.Q(('status', 'CARRIED'), _negated=True), ('claim_token', None), ('lease_until', None)), _connector='OR'), name='parcel_carried_is_held')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('WAITING'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('parcel %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as WAITING.';", hash='f0be941c074a731bd532f7e911e7e22889cd3e2c', operation='INSERT', pgid='pgtrigger_legal_initial_state_c59ab', table='parcels_parcel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('CARRIED', 'DELIVERED'), ('CARRIED', 'LOST'), ('CARRIED', 'WAITING'), ('LOST', 'WAITING'), ('WAITING', 'CARRIED'), ('WAITING', 'LOST')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('parcel %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='46a84ffd913f616c015f702e37445d8d29625b1f', operation='UPDATE', pgid='pgtrigger_legal_arrow_b9539', table='parcels_parcel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('parcel %s cannot change its id', OLD.id), HINT = 'Its history would be lost.';", hash='f87be9574e2a628ce8b7029f9b9b0f6031a64c2c', operation='UPDATE', pgid='pgtrigger_fixed_identity_fc1d3', table='parcels_parcel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.depot::text AS to_scope, n.attempt_count, '' AS from_state, '' AS from_scope FROM new_rows n),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'parcel', id, 'JOB_CREATED', from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'attempt_count', attempt_count)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'parcel', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='69de2356d5959a87e525719a9762c16e24a2a05a', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_3cbee', referencing='REFERENCING NEW TABLE AS new_rows ', table='parcels_parcel', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.depot::text AS to_scope, n.attempt_count, o.status AS from_state, o.depot::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'parcel', id, 'STATE_' || upper(to_state), from_state, to_state, $2, $3,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'attempt_count', attempt_count)), now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'parcel', scope, state, sum(change), count(*) FILTER (WHERE change > 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, 1 AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -1 FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='baa4be3e6a99721cc5af51ee0334c4c45a2d5a01', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_7c7a5', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='parcels_parcel', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of parcel cannot be deleted', HINT = 'Move them instead.';", hash='e066310109b7d2b595e738c61ecd7b2b6d94e7bd', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_c5ea0', table='parcels_parcel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of parcel cannot be truncated', HINT = 'Move them instead.';", hash='6ace930bae6023aea88c10e7278ae79b8cf555af', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_e708d', table='parcels_parcel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='name_error_on_insert', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.error_code <> '' OR NEW.error_group <> '')", func="\n    NEW.error_group = CASE WHEN NEW.error_code = '' THEN ''\n      ELSE left(md5(NEW.error_code || chr(10) || lock_error_shape(NEW.error_message)), 16) END;\n    RETURN NEW;\n", hash='20358887dee67ea0cf15503f6e9971ed9def0a49', operation='INSERT', pgid='pgtrigger_name_error_on_insert_7ba8c', table='parcels_parcel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='name_error', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(NEW.error_code, NEW.error_message, NEW.error_group) IS DISTINCT FROM ROW(OLD.error_code, OLD.error_message, OLD.error_group))', func="\n    NEW.error_group = CASE WHEN NEW.error_code = '' THEN ''\n      ELSE left(md5(NEW.error_code || chr(10) || lock_error_shape(NEW.error_message)), 16) END;\n    RETURN NEW;\n", hash='b4214f85c3ddcfa64ea3018b33ee1587694cf551', operation='UPDATE', pgid='pgtrigger_name_error_9a80c', table='parcels_parcel', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='parcel',
            trigger=pgtrigger.compiler.Trigger(name='record_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM new_rows n WHERE n.status IN ('LOST') AND n.error_group <> '') OR EXISTS (SELECT FROM old_rows o WHERE o.status IN ('LOST') AND o.error_group <> '') THEN\n      EXECUTE $errors$\n        WITH changed AS MATERIALIZED (\n          SELECT n.status IN ('LOST') AND n.error_group <> '' AS comes, o.status IN ('LOST') AND o.error_group <> '' AS leaves,\n            n.depot::text AS new_scope, n.status AS new_state, n.error_group AS new_group,\n            n.error_code AS new_code, n.error_message AS new_message,\n            o.depot::text AS old_scope, o.status AS old_state, o.error_group AS old_group,\n            o.error_code AS old_code, o.error_message AS old_message\n          FROM new_rows n JOIN old_rows o ON o.id = n.id\n          WHERE (n.status, n.error_group, n.depot::text) IS DISTINCT FROM (o.status, o.error_group, o.depot::text)\n        )\n        INSERT INTO lock_errordelta\n          (queue, scope, state, error_group, code, shape, change, entered, created_at)\n        SELECT 'parcel', scope, state, error_group, min(code), lock_error_shape(min(message)),\n          sum(change), sum(entered), now()\n        FROM (\n          SELECT new_scope AS scope, new_state AS state, new_group AS error_group, new_code AS code,\n            new_message AS message, 1 AS change,\n            CASE WHEN leaves AND (new_scope, new_group) = (old_scope, old_group) THEN 0 ELSE 1 END AS entered\n          FROM changed WHERE comes\n          UNION ALL\n          SELECT old_scope, old_state, old_group, old_code, old_message, -1, 0 FROM changed WHERE leaves\n        ) AS changes GROUP BY scope, state, error_group\n      $errors$;\n    END IF;\n    RETURN NULL;\n", hash='59974e3bc726be76b04a20b71874a1b7d5d70fb9', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_errors_8876e', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='parcels_parcel', when='AFTER')),
        ),
    ]
