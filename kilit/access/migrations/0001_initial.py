import django.contrib.admin.models
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import kilit.access.models.api_key
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


# Few rows, updated constantly in columns without an index: with free space on the page no index is written.
STORAGE = {"access_ratewindow": "fillfactor = 50", "access_apikey": "fillfactor = 80"}


def create_roles(apps, schema_editor):
    """What each role may do is granted after every migration (kilit.access.roles)."""
    Group = apps.get_model("auth", "Group")
    for name in ("viewer", "operator", "admin", "owner"):
        Group.objects.get_or_create(name=name)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('admin', '0003_logentry_add_action_flag_choices'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LoginWindow',
            fields=[
                ('name', models.CharField(max_length=80, primary_key=True, serialize=False)),
                ('failures', models.IntegerField()),
                ('last_at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
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
            name='LoggedChange',
            fields=[
            ],
            options={
                'proxy': True,
                'default_permissions': (),
                'indexes': [],
                'constraints': [],
            },
            bases=('admin.logentry',),
            managers=[
                ('objects', django.contrib.admin.models.LogEntryManager()),
            ],
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='What uses this key.', max_length=100, verbose_name='name')),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16), db_default=['enqueue', 'script', 'read', 'operate'], default=kilit.access.models.api_key.default_scopes, help_text='What the key may be used for.', size=None, verbose_name='scopes')),
                ('hint', models.CharField(editable=False, max_length=4, verbose_name='hint')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('used_at', models.DateTimeField(editable=False, null=True, verbose_name='used at')),
                ('revoked_at', models.DateTimeField(editable=False, null=True, verbose_name='revoked at')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to=settings.AUTH_USER_MODEL, verbose_name='user')),
            ],
            options={
                'verbose_name': 'API key',
                'verbose_name_plural': 'API keys',
                'permissions': [('own_installation', 'Can manage what belongs to the installation')],
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
                ('code', models.CharField(choices=[('FORBIDDEN', 'no permission'), ('NOT_YOURS', 'belongs to someone else; shown as not found'), ('CSRF', 'CSRF check failed'), ('ENDED_KEY', 'key expired or revoked'), ('LOCKED_OUT', 'too many wrong passwords'), ('MANY', 'further denied requests in this minute')], max_length=20, verbose_name='why')),
                ('detail', models.CharField(blank=True, max_length=300, verbose_name='detail')),
                ('times', models.IntegerField(verbose_name='times')),
                ('first_at', models.DateTimeField(verbose_name='first')),
                ('last_at', models.DateTimeField(verbose_name='last')),
            ],
            options={
                'verbose_name': 'denied request',
                'verbose_name_plural': 'denied requests',
                'default_permissions': ('view',),
                'constraints': [models.UniqueConstraint(fields=('minute', 'actor', 'address', 'method', 'path', 'code'), name='one_denied_request_per_minute')],
            },
        ),
        pgtrigger.migrations.AddTrigger('deniedrequest', pgtrigger.compiler.Trigger(name='record_activity', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    INSERT INTO lock_activity (kind, actor, person, verb, object_id, object_name, message, created_at)\n    VALUES ('denied', NEW.actor,\n      CASE WHEN NEW.actor ~ '^(operator|admin|viewer|user):' THEN substr(NEW.actor, strpos(NEW.actor, ':') + 1) ELSE '' END,\n      NEW.code, NEW.id, left(btrim(NEW.method || ' ' || NEW.path), 300), NEW.detail, NEW.first_at);\n    RETURN NULL;\n", hash='1db94bb644285e6d03fe6677a1ec098e4bee8754', operation='INSERT', pgid='pgtrigger_record_activity_8c668', table='access_deniedrequest', when='AFTER'))),
        pgtrigger.migrations.AddTrigger('deniedrequest', pgtrigger.compiler.Trigger(name='only_counts', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n                IF NEW.times <> OLD.times + 1\n                  OR to_jsonb(NEW) - '{times,last_at}'::text[] <> to_jsonb(OLD) - '{times,last_at}'::text[]\n                THEN RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'denied requests cannot be changed',\n                  HINT = 'Only their counter goes up.';\n                END IF;\n                RETURN NEW;\n                ", hash='3e4751f0b20a92e7fc8b3f65dd8329fb2cd3b513', operation='UPDATE', pgid='pgtrigger_only_counts_9a8dd', table='access_deniedrequest', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('deniedrequest', pgtrigger.compiler.Trigger(name='kept_a_week', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n                IF OLD.minute > now() - interval '7 days'\n                THEN RAISE EXCEPTION USING ERRCODE = 'check_violation',\n                  MESSAGE = 'denied requests are kept for at least a week',\n                  HINT = 'The scheduled task forget_denied_requests deletes the old ones.';\n                END IF;\n                RETURN OLD;\n                ", hash='1ebf5a2eb788d6b381462703bba98e39e4b8f3f3', operation='DELETE', pgid='pgtrigger_kept_a_week_1b145', table='access_deniedrequest', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('deniedrequest', pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'denied requests cannot be truncated', HINT = 'They are an audit log.';", hash='ae5cdf079fc9542ea7f0a34bec2658834310680d', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_bd7ca', table='access_deniedrequest', when='BEFORE'))),
        pgtrigger.migrations.AddTrigger('loggedchange', pgtrigger.compiler.Trigger(name='record_activity', sql=pgtrigger.compiler.UpsertTriggerSql(func='\n    INSERT INTO lock_activity\n      (kind, actor, person, scope, verb, model, object_id, object_name, message, created_at)\n    SELECT\n      CASE\n        WHEN type.model = \'apikey\' OR NEW.change_message ~ \'^(Issued|Revoked) the key\' THEN \'key\'\n        WHEN NEW.change_message ~ \'^(Paused|Resumed)\' THEN \'pause\'\n        WHEN NEW.change_message ~* \'credentials\' THEN \'credentials\'\n        WHEN type.model IN (\'user\', \'group\') OR NEW.change_message LIKE \'%"site membership"%\' THEN \'member\'\n        WHEN type.model LIKE \'%rule%\' THEN \'rules\'\n        ELSE \'settings\'\n      END,\n      \'user:\' || person.username, person.username, left(coalesce(NEW.object_id, \'\'), 255),\n      CASE NEW.action_flag WHEN 1 THEN \'added\' WHEN 2 THEN \'changed\' ELSE \'deleted\' END,\n      type.app_label || \'.\' || type.model, left(coalesce(NEW.object_id, \'\'), 255), NEW.object_repr,\n      NEW.change_message, NEW.action_time\n    FROM auth_user AS person LEFT JOIN django_content_type AS type ON type.id = NEW.content_type_id\n    WHERE person.id = NEW.user_id;\n    RETURN NULL;\n', hash='3e0d4884f0dc4614b6707d9059fa5e575db0515f', operation='INSERT', pgid='pgtrigger_record_activity_eff7d', table='django_admin_log', when='AFTER'))),
        migrations.AddConstraint('apikey', models.CheckConstraint(condition=models.Q(('scopes__contained_by', ['enqueue', 'script', 'read', 'operate', 'admin']), ('scopes__len__gt', 0)), name='key_has_known_scopes')),
        migrations.AddConstraint('apikey', models.CheckConstraint(condition=models.Q(models.Q(('scopes__contains', ['admin']), _negated=True), models.Q(('expires_at__isnull', False), ('scopes', ['admin'])), _connector='OR'), name='admin_key_is_separate_and_expires')),
        *(migrations.RunSQL(f"ALTER TABLE {table} SET ({options})", migrations.RunSQL.noop) for table, options in STORAGE.items()),
        migrations.RunPython(create_roles, migrations.RunPython.noop),
    ]
