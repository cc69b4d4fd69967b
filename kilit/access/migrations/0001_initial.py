import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


# Few rows, updated constantly in columns without an index: with free space on the page no index is written.
STORAGE = {"access_ratewindow": "fillfactor = 50", "access_apikey": "fillfactor = 80"}


def create_roles(apps, schema_editor):
    """What each role may do is granted after every migration (kilit.access.roles)."""
    Group = apps.get_model("auth", "Group")
    for name in ("viewer", "operator", "admin"):
        Group.objects.get_or_create(name=name)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('lock', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RateWindow',
            fields=[
                ('name', models.CharField(max_length=128, primary_key=True, serialize=False)),
                ('minute', models.DateTimeField()),
                ('hits', models.IntegerField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='What uses this key.', max_length=100)),
                ('hint', models.CharField(editable=False, max_length=4)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('used_at', models.DateTimeField(editable=False, null=True)),
                ('revoked_at', models.DateTimeField(editable=False, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'API key',
                'default_permissions': ('view', 'add', 'change'),
            },
        ),
        migrations.CreateModel(
            name='DeniedRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('minute', models.DateTimeField()),
                ('actor', models.CharField(max_length=200, verbose_name='who')),
                ('address', models.CharField(blank=True, max_length=45, verbose_name='address')),
                ('method', models.CharField(blank=True, max_length=10, verbose_name='method')),
                ('path', models.CharField(blank=True, max_length=300, verbose_name='what')),
                ('code', models.CharField(choices=[('FORBIDDEN', 'may not do this'), ('NOT_YOURS', 'not theirs, answered as not existing'), ('CSRF', 'form not sent from our own page'), ('ENDED_KEY', 'key expired or revoked'), ('LOCKED_OUT', 'too many wrong passwords'), ('MANY', 'further refusals of this minute')], max_length=20, verbose_name='why')),
                ('detail', models.CharField(blank=True, max_length=300, verbose_name='detail')),
                ('times', models.IntegerField(verbose_name='times')),
                ('first_at', models.DateTimeField(verbose_name='first')),
                ('last_at', models.DateTimeField(verbose_name='last')),
            ],
            options={
                'verbose_name': 'refusal',
                'verbose_name_plural': 'refusals',
                'default_permissions': ('view',),
                'constraints': [models.UniqueConstraint(fields=('minute', 'actor', 'address', 'method', 'path', 'code'), name='one_refusal_per_minute')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='deniedrequest',
            trigger=pgtrigger.compiler.Trigger(name='only_counts', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n                IF NEW.times <> OLD.times + 1\n                  OR to_jsonb(NEW) - '{times,last_at}'::text[] <> to_jsonb(OLD) - '{times,last_at}'::text[]\n                THEN RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'refusals cannot be changed',\n                  HINT = 'They are only counted.';\n                END IF;\n                RETURN NEW;\n                ", hash='f17a6a5a6590108c26073067f280be80d74b6bcd', operation='UPDATE', pgid='pgtrigger_only_counts_9a8dd', table='access_deniedrequest', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='deniedrequest',
            trigger=pgtrigger.compiler.Trigger(name='kept_a_week', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n                IF OLD.minute > now() - interval '7 days'\n                THEN RAISE EXCEPTION USING ERRCODE = 'check_violation',\n                  MESSAGE = 'refusals are kept for a week at least',\n                  HINT = 'The sweep forget_denied_requests deletes the old ones.';\n                END IF;\n                RETURN OLD;\n                ", hash='3514f61a9be1df12006ce860e35d9a4f1f8be30d', operation='DELETE', pgid='pgtrigger_kept_a_week_1b145', table='access_deniedrequest', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='deniedrequest',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'refusals cannot be truncated', HINT = 'They are a witness.';", hash='c80b7eebb868d8eb17a092961c9e955557fda9ae', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_bd7ca', table='access_deniedrequest', when='BEFORE')),
        ),
        *(migrations.RunSQL(f"ALTER TABLE {table} SET ({options})", migrations.RunSQL.noop) for table, options in STORAGE.items()),
        migrations.RunPython(create_roles, migrations.RunPython.noop),
    ]
