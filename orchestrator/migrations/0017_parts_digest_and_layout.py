from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('orchestrator', '0016_events_by_group'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='parts_digest',
            field=models.CharField(blank=True, db_default='', default='', help_text='Of the parts alone.', max_length=64),
        ),
        migrations.AddField(
            model_name='orderfile',
            name='layout',
            field=models.CharField(blank=True, db_default='', default='', help_text="As a draft's.", max_length=16),
        ),
    ]
