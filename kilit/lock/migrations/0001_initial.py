import django.db.models.functions.datetime
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
                'constraints': [models.UniqueConstraint(fields=('queue', 'scope', 'state'), name='one_total_per_state')],
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
                'constraints': [models.UniqueConstraint(fields=('queue', 'scope', 'error_group', 'state'), name='one_total_per_error_group')],
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
                'indexes': [models.Index(fields=['queue', 'error_group', 'hour'], name='errorhour_of_group'), models.Index(fields=['hour'], name='errorhour_by_hour')],
                'constraints': [models.UniqueConstraint(fields=('queue', 'scope', 'error_group', 'hour'), name='one_error_count_per_hour')],
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
                'indexes': [models.Index(fields=['object_id', 'id'], name='event_timeline')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='event',
            trigger=pgtrigger.compiler.Trigger(name='no_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'events cannot be updated', HINT = 'They are the audit trail.';", hash='5edcf047268377d721566cbed16b063f38b0a35b', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_no_update_84c70', table='lock_event', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='event',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'events cannot be truncated', HINT = 'They are the audit trail.';", hash='f2b02d419673208f52153dce804f8be1fd356a60', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_4b154', table='lock_event', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='event',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NOT (pg_trigger_depth() > 0))', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'events cannot be deleted', HINT = 'They are the audit trail.';", hash='83cecc3c511b2afd40551ac9a0c99dbdbee6e51d', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_caed2', table='lock_event', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='hourcount',
            index=models.Index(fields=['hour', 'queue', 'state'], name='hourcount_by_hour'),
        ),
        migrations.AddConstraint(
            model_name='hourcount',
            constraint=models.UniqueConstraint(fields=('queue', 'scope', 'state', 'hour'), name='one_count_per_hour'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pruning',
            trigger=pgtrigger.compiler.Trigger(name='no_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of pruning cannot be updated', HINT = 'They are all that is left of the rows.';", hash='fe38bc3f5c4ffe64a0a1dd446d6cc16703d4ed64', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_no_update_dd008', table='lock_pruning', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pruning',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of pruning cannot be deleted', HINT = 'They are all that is left of the rows.';", hash='0874ee54bcccc1c2480382ea8acbb5410f66a7b9', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_4213f', table='lock_pruning', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='pruning',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of pruning cannot be truncated', HINT = 'They are all that is left of the rows.';", hash='a256dd587b6e457ed532a9689cf9cc079fc5a5a1', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_579f1', table='lock_pruning', when='BEFORE')),
        ),
        *(migrations.RunSQL(f"ALTER TABLE {table} SET ({options})", migrations.RunSQL.noop) for table, options in STORAGE.items()),
    ]
