import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import kilit.lock.identity
from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('outbox', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='outboxmessage',
            name='endpoint',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='outbox.endpoint', verbose_name='endpoint'),
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('kind', models.CharField(choices=[('email', 'E-mail'), ('apprise', 'Telegram, Slack, Teams, Discord, ntfy and others')], default='email', max_length=8, verbose_name='kind')),
                ('encrypted_address', models.TextField(editable=False)),
                ('language', models.CharField(choices=[('en', 'English'), ('tr', 'Türkçe')], default='en', max_length=8, verbose_name='language')),
                ('time_zone', models.CharField(default='UTC', max_length=64, verbose_name='time zone')),
                ('quiet_from', models.TimeField(blank=True, null=True, verbose_name='quiet from')),
                ('quiet_to', models.TimeField(blank=True, null=True, verbose_name='quiet until')),
                ('is_on', models.BooleanField(default=True, verbose_name='on')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('looked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('is_holding_back', models.BooleanField(default=False, editable=False, help_text='It is quiet: a digest follows.')),
                ('sent_at', models.DateTimeField(editable=False, null=True, verbose_name='last sent at')),
                ('error', models.CharField(blank=True, editable=False, max_length=500, verbose_name='last error')),
                ('owner', models.ForeignKey(blank=True, help_text='Alerts contain only what the owner may see. Without an owner: everything.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
            ],
            options={
                'verbose_name': 'alert channel',
                'verbose_name_plural': 'alert channels',
                'ordering': ['name'],
                'default_permissions': ('view', 'operate'),
            },
        ),
        migrations.CreateModel(
            name='AlertRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(blank=True, help_text='All if empty.', max_length=32, verbose_name='queue')),
                ('scope', models.CharField(blank=True, help_text='All if empty.', max_length=64, verbose_name='site')),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), blank=True, default=list, help_text='All if none is chosen.', size=None, verbose_name='problems')),
                ('min_count', models.PositiveIntegerField(default=1, verbose_name='from this size')),
                ('min_severity', models.PositiveSmallIntegerField(default=2, verbose_name='from this severity')),
                ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='outbox.channel')),
            ],
            options={
                'verbose_name': 'rule',
                'verbose_name_plural': 'rules',
                'ordering': ['id'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AlertedProblem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('record_id', models.UUIDField()),
                ('count', models.PositiveIntegerField()),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='outbox.channel')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='outboxmessage',
            name='channel',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='outbox.channel', verbose_name='channel'),
        ),
        AddConstraintNotValid(
            model_name='outboxmessage',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('channel', None), ('endpoint__isnull', False)), models.Q(('channel__isnull', False), ('endpoint', None)), _connector='OR'), name='message_has_one_receiver'),
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(('encrypted_address', ''), _negated=True), name='channel_has_address'),
        ),
        migrations.AddConstraint(
            model_name='channel',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('quiet_from', None), ('quiet_to', None)), models.Q(('quiet_from__isnull', False), ('quiet_to__isnull', False)), _connector='OR'), name='quiet_hours_have_both_ends'),
        ),
        migrations.AddConstraint(
            model_name='alertedproblem',
            constraint=models.UniqueConstraint(fields=('channel', 'record_id'), name='one_alert_per_problem'),
        ),
    ]
