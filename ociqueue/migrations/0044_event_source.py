from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ociqueue', '0043_retracted_is_indexed'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversion',
            name='event_source',
            field=models.CharField(choices=[('WEB', 'Website'), ('APP', 'App'), ('IN_STORE', 'Shop'), ('PHONE', 'Phone call'), ('MESSAGE', 'Message'), ('OTHER', 'Elsewhere')], db_default='WEB', default='WEB', max_length=8, verbose_name='event source'),
        ),
        AddConstraintNotValid(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('event_source__in', ['WEB', 'APP', 'IN_STORE', 'PHONE', 'MESSAGE', 'OTHER'])), name='conversion_event_source_is_known'),
        ),
    ]
