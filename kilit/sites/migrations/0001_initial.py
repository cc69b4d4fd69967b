import django.db.models.deletion
import django.db.models.functions.datetime
import kilit.lock.identity
import kilit.sites.models
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('lock', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Tenant',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('public_id', models.CharField(default=kilit.sites.models.new_public_id, editable=False, max_length=32, unique=True, verbose_name='public id')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('time_zone', models.CharField(default='Europe/Istanbul', help_text='Conversion times are exported in this zone, such as Europe/Istanbul.', max_length=64, validators=[kilit.sites.models.known_time_zone], verbose_name='time zone')),
                ('is_paused', models.BooleanField(default=False, help_text='Nothing is exported or sent while the site is paused.', verbose_name='is paused')),
                ('pause_reason', models.CharField(blank=True, max_length=200, verbose_name='pause reason')),
                ('paused_at', models.DateTimeField(editable=False, null=True, verbose_name='paused at')),
                ('paused_by', models.CharField(blank=True, db_default='', editable=False, max_length=200, verbose_name='paused by')),
                ('archived_at', models.DateTimeField(editable=False, null=True, verbose_name='archived at')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'site',
                'verbose_name_plural': 'sites',
                'ordering': ['name'],
                'default_permissions': (),
                'constraints': [models.CheckConstraint(condition=models.Q(('is_paused', False), models.Q(('pause_reason', ''), _negated=True), _connector='OR'), name='paused_has_reason'), models.CheckConstraint(condition=models.Q(('archived_at', None), ('is_paused', True), _connector='OR'), name='archived_is_paused')],
            },
        ),
        migrations.CreateModel(
            name='SiteMembership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('operator', 'Operator'), ('admin', 'Admin')], default='viewer', max_length=10, verbose_name='role')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='site_memberships', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='sites.tenant', verbose_name='site')),
            ],
            options={
                'verbose_name': 'site membership',
                'verbose_name_plural': 'site memberships',
            },
        ),
        pgtrigger.migrations.AddTrigger('tenant', pgtrigger.compiler.Trigger(name='record_archive', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.archived_at IS DISTINCT FROM NEW.archived_at)', func="\n    INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n    SELECT 'site', NEW.id, CASE WHEN NEW.archived_at IS NULL THEN 'SITE_RESTORED' ELSE 'SITE_ARCHIVED' END, '', '',\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      CASE WHEN NEW.archived_at IS NULL THEN '' ELSE NEW.pause_reason END, '{}', now();\n    RETURN NULL;\n", hash='9cf2fefb06db35686e7251ae436a957d425528a6', operation='UPDATE', pgid='pgtrigger_record_archive_40b88', table='sites_tenant', when='AFTER'))),
        pgtrigger.migrations.AddTrigger('tenant', pgtrigger.compiler.Trigger(name='record_pause', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.is_paused IS DISTINCT FROM NEW.is_paused)', func="\n    INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n    SELECT 'site', NEW.id, event_type, '', '',\n      coalesce(nullif(actor, ''), nullif(current_setting('kilit.actor', true), ''), session_user), message, '{}', now()\n    FROM (\n      SELECT 'SITE_PAUSED', NEW.paused_by, NEW.pause_reason WHERE NEW.is_paused\n      UNION ALL\n      SELECT 'SITE_RESUMED', '', coalesce(current_setting('kilit.reason', true), '') WHERE NOT NEW.is_paused\n    ) AS change (event_type, actor, message);\n    RETURN NULL;\n", hash='7c828ee261d05df274043683f8ee9edccb9e972b', operation='UPDATE', pgid='pgtrigger_record_pause_05bfd', table='sites_tenant', when='AFTER'))),
        migrations.AddConstraint('sitemembership', models.UniqueConstraint(fields=('site', 'user'), name='one_membership_per_site')),
        migrations.AddConstraint('sitemembership', models.CheckConstraint(condition=models.Q(('role__in', ('viewer', 'operator', 'admin'))), name='membership_has_role_of_a_site')),
    ]
