import django.contrib.postgres.indexes
import django.db.models.expressions
import django.db.models.functions.text
import django.db.models.lookups
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# Django builds unique indexes under a lock only. One that an interrupted migration has left is not valid.
UNIQUE = [
    "DROP INDEX CONCURRENTLY IF EXISTS one_key_per_source_key",
    """
    CREATE UNIQUE INDEX CONCURRENTLY one_key_per_source_key ON ociqueue_conversionkey (site_id, action, source_key)
    WHERE source_key IS NOT NULL
    """,
]


class Migration(migrations.Migration):
    atomic = False  # indexes are built beside writers

    dependencies = [('ociqueue', '0032_conversion_keys_are_filled')]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(UNIQUE, "DROP INDEX CONCURRENTLY one_key_per_source_key")],
            state_operations=[
                migrations.AddConstraint(
                    model_name='conversionkey',
                    constraint=models.UniqueConstraint(condition=models.Q(('source_key__isnull', False)), fields=('site', 'action', 'source_key'), name='one_key_per_source_key'),
                ),
            ],
        ),
        AddIndexConcurrently(
            model_name='conversionkey',
            index=models.Index(models.F('site'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('source_key'), name='text_pattern_ops'), name='key_source_key_prefix'),
        ),
        AddIndexConcurrently(
            model_name='conversionkey',
            index=models.Index(models.F('site'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('order_id'), name='text_pattern_ops'), name='key_order_id_prefix'),
        ),
        AddIndexConcurrently(
            model_name='conversionkey',
            index=models.Index(models.F('site'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('click_id'), name='text_pattern_ops'), name='key_click_id_prefix'),
        ),
        AddIndexConcurrently(
            model_name='conversionkey',
            index=models.Index(condition=models.Q(('hashed_email', ''), _negated=True), fields=['hashed_email'], name='key_hashed_email'),
        ),
        AddIndexConcurrently(
            model_name='conversionkey',
            index=models.Index(condition=models.Q(('hashed_phone', ''), _negated=True), fields=['hashed_phone'], name='key_hashed_phone'),
        ),
        AddIndexConcurrently(
            model_name='conversion',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), condition=models.Q(django.db.models.lookups.GreaterThanOrEqual(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), models.Value(2)), ('status__in', ('QUEUED', 'RETRY', 'PROCESSING'))), name='conversion_tried_again'),
        ),
    ]
