import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ociqueue', '0030_traced'),
    ]

    operations = [
        migrations.CreateModel(
            name='ConversionKey',
            fields=[
                ('conversion', models.OneToOneField(db_column='id', db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='key', serialize=False, to='ociqueue.conversion')),
                ('site', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='conversion_keys', to='ociqueue.site')),
                ('action', models.CharField(max_length=100)),
                ('source_key', models.CharField(max_length=200, null=True)),
                ('order_id', models.CharField(max_length=64)),
                ('click_id', models.CharField(max_length=512)),
                ('hashed_email', models.CharField(max_length=64)),
                ('hashed_phone', models.CharField(max_length=64)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        # Small steps, as for other tables that grow.
        migrations.RunSQL(
            "ALTER TABLE ociqueue_conversionkey SET"
            " (autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02)",
            migrations.RunSQL.noop,
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='write_keys', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO ociqueue_conversionkey (id, site_id, action, source_key, order_id, click_id, hashed_email, hashed_phone) SELECT n.id, n.site_id, n.action, n.source_key, n.order_id, n.gclid || n.wbraid || n.gbraid, n.hashed_email, n.hashed_phone FROM new_rows n ON CONFLICT (id) DO NOTHING; RETURN NULL;', hash='9c07083201ea5cfe9b7263d336b53cf779f05d4f', level='STATEMENT', operation='INSERT', pgid='pgtrigger_write_keys_75bb4', referencing='REFERENCING NEW TABLE AS new_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='erase_keys', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(OLD.gclid, OLD.wbraid, OLD.gbraid, OLD.hashed_email, OLD.hashed_phone) IS DISTINCT FROM ROW(NEW.gclid, NEW.wbraid, NEW.gbraid, NEW.hashed_email, NEW.hashed_phone))', func="\n    PERFORM pg_advisory_xact_lock_shared(hashtext('ociqueue.conversionkey'));\n    UPDATE ociqueue_conversionkey SET click_id = NEW.gclid || NEW.wbraid || NEW.gbraid, hashed_email = NEW.hashed_email, hashed_phone = NEW.hashed_phone WHERE id = NEW.id;\n    RETURN NULL;\n", hash='5cf71a4594aec6ab3102b11d202e9c42281ebed3', operation='UPDATE OF "gclid", "wbraid", "gbraid", "hashed_email", "hashed_phone"', pgid='pgtrigger_erase_keys_b2570', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='forget_keys', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    PERFORM pg_advisory_xact_lock_shared(hashtext('ociqueue.conversionkey'));\n    EXECUTE 'DELETE FROM ociqueue_conversionkey WHERE id IN (SELECT id FROM old_rows)';\n    RETURN NULL;\n", hash='7c20503e772c5553c7d435f1f7c89bf85ebd5703', level='STATEMENT', operation='DELETE', pgid='pgtrigger_forget_keys_9340d', referencing='REFERENCING OLD TABLE AS old_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversionkey',
            trigger=pgtrigger.compiler.Trigger(name='check_keys', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NOT pg_trigger_depth() > 0)', declare='DECLARE is_wrong BOOLEAN;', func="\n    EXECUTE $check$\n      SELECT EXISTS (\n        SELECT FROM new_rows k LEFT JOIN offline_conversion_queue c ON c.id = k.id\n        WHERE ROW(k.id, k.site_id, k.action, k.source_key, k.order_id, k.click_id, k.hashed_email, k.hashed_phone) IS DISTINCT FROM ROW(c.id, c.site_id, c.action, c.source_key, c.order_id, c.gclid || c.wbraid || c.gbraid, c.hashed_email, c.hashed_phone)\n      )\n    $check$ INTO is_wrong;\n    IF is_wrong THEN RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'a key is not the one of its conversion', HINT = 'Insert the conversion; its key follows.'; END IF;\n    RETURN NULL;\n", hash='cb4986e7e9f1e126ed4b754679bfc5637eb5ce4f', level='STATEMENT', operation='INSERT', pgid='pgtrigger_check_keys_c3808', referencing='REFERENCING NEW TABLE AS new_rows ', table='ociqueue_conversionkey', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversionkey',
            trigger=pgtrigger.compiler.Trigger(name='no_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NOT (pg_trigger_depth() > 0))', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'keys of conversions cannot be updated', HINT = 'They follow their conversions.';", hash='53e43a4392fd16be7b9704093b29733e751ebbbe', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_no_update_0ff6d', table='ociqueue_conversionkey', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversionkey',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (NOT (pg_trigger_depth() > 0))', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'keys of conversions cannot be deleted', HINT = 'They follow their conversions.';", hash='274d233254608fa37cdf41f07c9b05f6487b8aae', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_c02e2', table='ociqueue_conversionkey', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversionkey',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'keys of conversions cannot be truncated', HINT = 'They follow their conversions.';", hash='23bb65d283424be524c208bc1b8cdaf01195aa9b', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_3c10c', table='ociqueue_conversionkey', when='BEFORE')),
        ),
    ]
