import pgtrigger.compiler
import pgtrigger.migrations
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ociqueue', '0022_erasure'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='conversion',
            name='name_error',
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='name_error', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(NEW.provider_error_code, NEW.last_error, NEW.error_group, NEW.is_replaced) IS DISTINCT FROM ROW(OLD.provider_error_code, OLD.last_error, OLD.error_group, OLD.is_replaced))', func="\n    IF coalesce(current_setting('kilit.erasing', true), '') = 'on' THEN NEW.error_group = OLD.error_group; RETURN NEW; END IF;\n    NEW.error_group = CASE WHEN NEW.provider_error_code = '' OR NEW.is_replaced THEN ''\n      ELSE left(md5(NEW.provider_error_code || chr(10) || lock_error_shape(NEW.last_error)), 16) END;\n    RETURN NEW;\n", hash='ef5310b0b6802e5628451768ab63298a83acea4e', operation='UPDATE', pgid='pgtrigger_name_error_86f02', table='offline_conversion_queue', when='BEFORE')),
        ),
        AddConstraintNotValid(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('erased_at', None), ('status__in', ('COMPLETED', 'FAILED')), _connector='OR'), name='erased_has_ended'),
        ),
    ]
