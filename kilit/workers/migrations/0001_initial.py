import django.db.models.functions.datetime
from django.db import migrations, models


# Few rows, updated constantly in columns without an index: with free space on the page no index is written.
STORAGE = {
    "workers_bell": "fillfactor = 50",
    "workers_heartbeat": "fillfactor = 50",
    "workers_runner": "fillfactor = 50",
    "workers_sweeprun": "fillfactor = 50",
}


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Bell',
            fields=[
                ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('rung_at', models.DateTimeField(null=True)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('name', models.CharField(max_length=90, primary_key=True, serialize=False)),
                ('pid', models.IntegerField(null=True)),
                ('workers', models.PositiveSmallIntegerField(db_default=1)),
                ('restarts', models.IntegerField(default=0)),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('beat_at', models.DateTimeField(null=True)),
                ('alive_at', models.DateTimeField(null=True)),
            ],
            options={
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='Runner',
            fields=[
                ('name', models.CharField(max_length=90, primary_key=True, serialize=False)),
                ('queue', models.CharField(max_length=32)),
                ('pid', models.IntegerField()),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('alive_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SweepRun',
            fields=[
                ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('taken_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('succeeded', models.BooleanField(null=True)),
                ('result', models.TextField(blank=True)),
            ],
            options={
                'verbose_name': 'scheduled task',
                'verbose_name_plural': 'scheduled tasks',
                'default_permissions': ('view', 'operate'),
            },
        ),
        *(migrations.RunSQL(f"ALTER TABLE {table} SET ({options})", migrations.RunSQL.noop) for table, options in STORAGE.items()),
    ]
