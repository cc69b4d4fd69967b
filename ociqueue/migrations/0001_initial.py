import datetime
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.db.models.lookups
import kilit.lock.identity
import kilit.lock.models.event
import ociqueue.models.site
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


STORAGE = {
    # Every move leaves a dead row and dead index entries, which claims step over: vacuum at a hundredth of the table.
    # No fillfactor: `status` is in indexes, so every move writes them anyway.
    "offline_conversion_queue": "autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.02,"
    " autovacuum_analyze_scale_factor = 0.01",
    "ociqueue_conversionkey": "autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02",
    # Each export and acknowledgement writes its time here.
    "ociqueue_site": "fillfactor = 50",
}
# Google takes job ids from 1 to 2³¹ − 1.
JOB_IDS = "CREATE SEQUENCE ociqueue_upload_job_id AS integer MINVALUE 1 CYCLE"
# An index without the rows that replace none, which are nearly all: a move does not write into it.
ONE_REPLACEMENT = """
    ALTER TABLE offline_conversion_queue DROP CONSTRAINT offline_conversion_queue_replaces_id_key;
    CREATE UNIQUE INDEX one_replacement ON offline_conversion_queue (replaces_id) WHERE replaces_id IS NOT NULL
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('lock', '0001_initial'),
        ('sites', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Site',
            fields=[
                ('tenant', models.OneToOneField(db_column='id', on_delete=django.db.models.deletion.CASCADE, parent_link=True, primary_key=True, related_name='google', serialize=False, to='sites.tenant')),
                ('default_currency', models.CharField(blank=True, help_text='For conversions without a currency; if it is empty, they are rejected.', max_length=3, validators=[ociqueue.models.site.known_currency], verbose_name='default currency')),
                ('customer_id', models.CharField(blank=True, db_default='', default='', help_text='Of the Google Ads account, as in 123-456-7890; shown beside the name.', max_length=10, verbose_name='customer id')),
                ('sync_method', models.CharField(choices=[('script', 'Google Ads Script'), ('api', 'Google Ads API'), ('datamanager', 'Data Manager API')], default='script', max_length=20, verbose_name='sync method')),
                ('requeue_transient', models.BooleanField(default=False, help_text='Retry TRANSIENT failures automatically.', verbose_name='requeue transient')),
                ('accepts_identifiers', models.BooleanField(db_default=False, default=False, help_text='Conversions may carry an e-mail address or phone number. Kilit stores and sends only their hashes. Turn it on only if your customers have consented and the Google Ads account has accepted the customer data terms.', verbose_name='accept hashed e-mail and phone')),
                ('denied_consent', models.CharField(choices=[('WITHHOLD', 'Do not send them'), ('SEND', 'Send them, marked as denied')], db_default='WITHHOLD', default='WITHHOLD', help_text='For conversions whose visitors do not let Google use their data for ads. Those that are not sent end as WITHHELD_CONSENT_DENIED, which is in no failure rate.', max_length=8, verbose_name='if consent is denied')),
                ('last_export_at', models.DateTimeField(editable=False, null=True, verbose_name='last export at')),
                ('last_ack_at', models.DateTimeField(editable=False, null=True, verbose_name='last ack at')),
            ],
            options={
                'verbose_name': 'site',
                'verbose_name_plural': 'sites',
                'default_permissions': ('view', 'add', 'change', 'operate'),
            },
            bases=('sites.tenant',),
        ),
        migrations.CreateModel(
            name='RequestQuota',
            fields=[
                ('project', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('tokens', models.FloatField(default=60)),
                ('refilled_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ask_tokens', models.FloatField(default=10)),
                ('ask_refilled_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ImportJob',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('claim_token', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True, verbose_name='lease until')),
                ('lapse_count', models.PositiveSmallIntegerField(default=0, help_text='Leases that ran out since it last progressed.')),
                ('status', models.CharField(choices=[('READING', 'Reading'), ('CHECKING', 'Checking'), ('READY', 'Ready'), ('RUNNING', 'Running'), ('DONE', 'Done'), ('REFUSED', 'Refused'), ('CANCELLED', 'Cancelled'), ('FAILED', 'Failed')], default='READING', editable=False, max_length=9, verbose_name='state')),
                ('file_name', models.CharField(max_length=200, verbose_name='file')),
                ('size', models.PositiveBigIntegerField(help_text='Bytes of the file.')),
                ('kind', models.CharField(choices=[('conversions', 'conversions'), ('adjustments', 'adjustments'), ('corrections', 'corrections')], max_length=11)),
                ('language', models.CharField(default='en', help_text='Of the user: reasons are written in it.', max_length=10)),
                ('encoding', models.CharField(blank=True, max_length=20)),
                ('amounts', models.JSONField(default=dict, help_text='What the lines have shown of how amounts are written.')),
                ('decimal_mark', models.CharField(blank=True, max_length=1)),
                ('done_bytes', models.PositiveBigIntegerField(default=0, help_text='In this state, all lines up to here are done.')),
                ('next_line', models.PositiveIntegerField(default=0, help_text='The number of the line there.')),
                ('line_count', models.PositiveIntegerField(default=0, help_text='Lines of the file, below its header.')),
                ('checked', models.JSONField(default=dict, help_text='What would become of the lines, counted.')),
                ('counts', models.JSONField(default=dict, help_text='What became of them, counted.')),
                ('error', models.CharField(blank=True, max_length=1000)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imports', to=settings.AUTH_USER_MODEL)),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='imports', to='ociqueue.site', verbose_name='site')),
            ],
            options={
                'verbose_name': 'import',
                'verbose_name_plural': 'imports',
                'abstract': False,
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='ReadBack',
            fields=[
                ('site', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='read_back', serialize=False, to='ociqueue.site')),
                ('customer_id', models.CharField(blank=True, max_length=10, verbose_name='customer id')),
                ('time_zone', models.CharField(blank=True, max_length=64, verbose_name='time zone')),
                ('asked_at', models.DateTimeField(null=True, verbose_name='asked at')),
                ('tried_at', models.DateTimeField(null=True, verbose_name='tried at')),
                ('read_at', models.DateTimeField(null=True, verbose_name='read at')),
                ('compared_at', models.DateTimeField(null=True, verbose_name='compared at')),
                ('error', models.CharField(blank=True, max_length=1000, verbose_name='error')),
                ('alerts', models.JSONField(default=list, help_text='Errors that Google reports, with their share of the uploads.')),
                ('days', models.JSONField(default=list, help_text="Ours beside Google's, by day and conversion action.")),
                ('actions', models.JSONField(help_text="Google's action by conversion name, at the last reading.", null=True)),
                ('mapped_since', models.DateTimeField(help_text='Since when the actions are these.', null=True)),
                ('is_shared', models.BooleanField(default=False, help_text='Other sites upload to the same account.')),
                ('differs', models.BooleanField(default=False)),
                ('differs_since', models.DateTimeField(null=True)),
                ('miscounted', models.JSONField(db_default=models.Value([], output_field=models.JSONField()), default=list, help_text='Uploads of the last days that do not add up.')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('email', 'E-mail address'), ('phone', 'Phone number'), ('click_id', 'Click id'), ('order_id', 'Order id or source key')], max_length=10, verbose_name='found by')),
                ('rows_erased', models.PositiveIntegerField(verbose_name='erased')),
                ('rows_left', models.PositiveIntegerField(help_text='Conversions that had not ended, and were not changed.', verbose_name='left')),
                ('actor', models.CharField(db_default=kilit.lock.models.event.SessionUser(), max_length=200, verbose_name='who')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='when')),
                ('site', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='erasures', to='ociqueue.site', verbose_name='site')),
            ],
            options={
                'verbose_name': 'erasure',
                'verbose_name_plural': 'erasures',
                'default_permissions': ('add',),
            },
        ),
        migrations.CreateModel(
            name='Credentials',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('encrypted', models.TextField(editable=False)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('check_asked_at', models.DateTimeField(editable=False, null=True)),
                ('checked_at', models.DateTimeField(editable=False, null=True)),
                ('check_passed', models.BooleanField(editable=False, null=True)),
                ('check_report', models.JSONField(default=list, editable=False)),
                ('site', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='credentials', to='ociqueue.site')),
            ],
            options={
                'verbose_name': 'credentials',
                'verbose_name_plural': 'credentials',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Circuit',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('action', models.CharField(blank=True, help_text='Empty means all conversions of the site.', max_length=100, verbose_name='conversion name')),
                ('status', models.CharField(choices=[('CLOSED', 'Closed'), ('OPEN', 'Open')], default='CLOSED', editable=False, max_length=10)),
                ('code', models.CharField(blank=True, max_length=64)),
                ('category', models.CharField(blank=True, choices=[('VALIDATION', 'Validation'), ('TRANSIENT', 'Transient'), ('AUTH', 'Auth'), ('RATE_LIMIT', 'Rate Limit'), ('PERMANENT', 'Permanent')], max_length=10)),
                ('reason', models.CharField(blank=True, max_length=1000)),
                ('opened_at', models.DateTimeField(null=True)),
                ('next_probe_at', models.DateTimeField(null=True)),
                ('wait', models.DurationField(default=datetime.timedelta(0))),
                ('probes', models.PositiveIntegerField(default=0)),
                ('needs_verdict', models.BooleanField(db_default=False, help_text='A verdict opened it: only the verdict on a probe closes it, not its receipt.')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='circuits', to='ociqueue.site')),
            ],
            options={
                'abstract': False,
                'default_permissions': ('view', 'operate'),
            },
        ),
        migrations.CreateModel(
            name='UploadBatch',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('sender', models.CharField(choices=[('script', 'Google Ads Script'), ('api', 'Google Ads API'), ('datamanager', 'Data Manager API')], db_default='api', editable=False, max_length=20, verbose_name='sent by')),
                ('queue', models.CharField(db_default='conversion', editable=False, max_length=32, verbose_name='queue')),
                ('size', models.PositiveIntegerField(help_text='Rows claimed for it.', verbose_name='size')),
                ('is_probe', models.BooleanField(default=False, help_text='One row, sent to test whether the circuit can close.', verbose_name='is probe')),
                ('row_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, help_text='Rows sent.', size=None)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent at')),
                ('answered_at', models.DateTimeField(null=True, verbose_name='answered at')),
                ('accepted', models.PositiveIntegerField(default=0, verbose_name='accepted')),
                ('received', models.PositiveIntegerField(db_default=0, help_text='Google has them; its verdict comes later.', verbose_name='received')),
                ('failed', models.PositiveIntegerField(default=0, verbose_name='failed')),
                ('put_off', models.PositiveIntegerField(default=0, verbose_name='deferred')),
                ('late', models.PositiveIntegerField(default=0, help_text='Rows that a sweep or an operator had taken back.', verbose_name='late')),
                ('unsent', models.PositiveIntegerField(db_default=0, help_text='Of those deferred: rows that were not sent.')),
                ('by_action', models.JSONField(help_text='What the provider answered, counted by conversion name; empty while no answer is known.', null=True)),
                ('job_id', models.PositiveIntegerField(help_text='Our number for the upload; Google reports its counts under it.', null=True, verbose_name='job id')),
                ('answered_job_id', models.PositiveBigIntegerField(null=True, verbose_name='job id that Google answered')),
                ('is_lost', models.BooleanField(default=False, help_text='No answer came; two in a row count as an outage.')),
                ('request_id', models.CharField(blank=True, max_length=64, verbose_name='request id')),
                ('note', models.CharField(blank=True, max_length=1000, verbose_name='note')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='upload_batches', to='ociqueue.site', verbose_name='site')),
            ],
            options={
                'verbose_name': 'upload batch',
                'verbose_name_plural': 'upload batches',
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='Receipt',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('request_id', models.CharField(max_length=64, verbose_name='request id')),
                ('row_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), help_text='Rows of the request, in the order that was sent.', size=None)),
                ('received_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='received at')),
                ('next_check_at', models.DateTimeField(null=True, verbose_name='next check at')),
                ('checks', models.PositiveIntegerField(default=0, verbose_name='checks')),
                ('checked_at', models.DateTimeField(null=True, verbose_name='checked at')),
                ('settled_at', models.DateTimeField(null=True, verbose_name='settled at')),
                ('verdict', models.CharField(blank=True, max_length=40, verbose_name='verdict')),
                ('confirmed', models.PositiveIntegerField(default=0, verbose_name='confirmed')),
                ('rejected', models.PositiveIntegerField(default=0, verbose_name='rejected')),
                ('put_off', models.PositiveIntegerField(default=0, verbose_name='deferred')),
                ('late', models.PositiveIntegerField(default=0, help_text='Rows that an operator had taken back before the verdict.', verbose_name='late')),
                ('note', models.CharField(blank=True, max_length=1000, verbose_name='note')),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='receipts', to='ociqueue.uploadbatch', verbose_name='upload batch')),
            ],
            options={
                'verbose_name': 'receipt',
                'verbose_name_plural': 'receipts',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Conversion',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('status', models.CharField(choices=[('QUEUED', 'Queued'), ('RETRY', 'Retry'), ('PROCESSING', 'Processing'), ('UPLOADED', 'Uploaded'), ('COMPLETED', 'Completed'), ('FAILED', 'Failed')], default='QUEUED', editable=False, max_length=10)),
                ('action', models.CharField(max_length=100, verbose_name='conversion name')),
                ('order_id', models.CharField(help_text='It never changes, so Google counts the conversion once.', max_length=64)),
                ('attempt_count', models.PositiveIntegerField(default=0, help_text='How often it was claimed.', verbose_name='attempt count')),
                ('attempts_forgiven', models.PositiveIntegerField(default=0, help_text='Attempts that no longer count towards the cap.', verbose_name='attempts forgiven')),
                ('claimed_at', models.DateTimeField(null=True, verbose_name='claimed at')),
                ('next_retry_at', models.DateTimeField(null=True, verbose_name='next retry at')),
                ('uploaded_at', models.DateTimeField(help_text='When Google confirmed it; empty on the script path.', null=True, verbose_name='uploaded at')),
                ('last_error', models.CharField(blank=True, max_length=1000, verbose_name='last error')),
                ('provider_error_code', models.CharField(blank=True, max_length=64, verbose_name='provider error code')),
                ('provider_error_category', models.CharField(blank=True, choices=[('VALIDATION', 'Validation'), ('TRANSIENT', 'Transient'), ('AUTH', 'Auth'), ('RATE_LIMIT', 'Rate Limit'), ('PERMANENT', 'Permanent')], max_length=10)),
                ('error_group', models.CharField(blank=True, db_default='', default='', editable=False, max_length=16)),
                ('provider_request_id', models.CharField(blank=True, max_length=64, verbose_name='provider request id')),
                ('outcome_unknown', models.BooleanField(db_default=False, help_text='It was sent and no answer came: Google may have it.')),
                ('send_alone', models.BooleanField(db_default=False, editable=False, help_text='It is sent in a request of its own, so that the verdict on the request is its own.')),
                ('gclid', models.CharField(blank=True, max_length=512)),
                ('wbraid', models.CharField(blank=True, max_length=512)),
                ('gbraid', models.CharField(blank=True, max_length=512)),
                ('hashed_email', models.CharField(blank=True, db_default='', default='', editable=False, max_length=64)),
                ('hashed_email_ads', models.CharField(blank=True, db_default='', default='', editable=False, max_length=64)),
                ('hashed_phone', models.CharField(blank=True, db_default='', default='', editable=False, max_length=64)),
                ('erased_at', models.DateTimeField(editable=False, help_text='When what identified the person was removed.', null=True, verbose_name='erased at')),
                ('conversion_time', models.DateTimeField(verbose_name='conversion time')),
                ('value', models.DecimalField(decimal_places=3, max_digits=15)),
                ('currency', models.CharField(max_length=3)),
                ('consent_ad_user_data', models.CharField(choices=[('UNSPECIFIED', 'Unspecified'), ('GRANTED', 'Granted'), ('DENIED', 'Denied')], db_column='consent', default='UNSPECIFIED', max_length=11, verbose_name='consent: ad user data')),
                ('consent_ad_personalization', models.CharField(choices=[('UNSPECIFIED', 'Unspecified'), ('GRANTED', 'Granted'), ('DENIED', 'Denied')], db_default='UNSPECIFIED', max_length=11, verbose_name='consent: ad personalization')),
                ('event_source', models.CharField(choices=[('WEB', 'Website'), ('APP', 'App'), ('IN_STORE', 'Shop'), ('PHONE', 'Phone call'), ('MESSAGE', 'Message'), ('OTHER', 'Elsewhere')], db_default='WEB', default='WEB', max_length=8, verbose_name='event source')),
                ('source_key', models.CharField(blank=True, max_length=200, null=True)),
                ('is_replaced', models.BooleanField(db_default=False, editable=False, help_text='A corrected copy was sent in its place.', verbose_name='replaced')),
                ('is_retracted', models.BooleanField(db_default=False, editable=False, help_text='A retraction was accepted: it is not retried.', verbose_name='retracted')),
                ('replaces', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replacement', to='ociqueue.conversion', verbose_name='replaces')),
                ('site', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='conversions', to='ociqueue.site', verbose_name='site')),
                ('open_batch', models.ForeignKey(db_index=False, help_text='The upload that has claimed it.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='open_rows', to='ociqueue.uploadbatch')),
            ],
            options={
                'verbose_name': 'conversion',
                'verbose_name_plural': 'conversions',
                'db_table': 'offline_conversion_queue',
                'abstract': False,
                'default_permissions': ('view', 'operate'),
            },
        ),
        migrations.CreateModel(
            name='Adjustment',
            fields=[
                ('id', models.UUIDField(default=kilit.lock.identity.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='updated at')),
                ('status', models.CharField(choices=[('QUEUED', 'Queued'), ('RETRY', 'Retry'), ('PROCESSING', 'Processing'), ('UPLOADED', 'Uploaded'), ('COMPLETED', 'Completed'), ('FAILED', 'Failed')], default='QUEUED', editable=False, max_length=10)),
                ('action', models.CharField(max_length=100, verbose_name='conversion name')),
                ('order_id', models.CharField(help_text='It never changes, so Google counts the conversion once.', max_length=64)),
                ('attempt_count', models.PositiveIntegerField(default=0, help_text='How often it was claimed.', verbose_name='attempt count')),
                ('attempts_forgiven', models.PositiveIntegerField(default=0, help_text='Attempts that no longer count towards the cap.', verbose_name='attempts forgiven')),
                ('claimed_at', models.DateTimeField(null=True, verbose_name='claimed at')),
                ('next_retry_at', models.DateTimeField(null=True, verbose_name='next retry at')),
                ('uploaded_at', models.DateTimeField(help_text='When Google confirmed it; empty on the script path.', null=True, verbose_name='uploaded at')),
                ('last_error', models.CharField(blank=True, max_length=1000, verbose_name='last error')),
                ('provider_error_code', models.CharField(blank=True, max_length=64, verbose_name='provider error code')),
                ('provider_error_category', models.CharField(blank=True, choices=[('VALIDATION', 'Validation'), ('TRANSIENT', 'Transient'), ('AUTH', 'Auth'), ('RATE_LIMIT', 'Rate Limit'), ('PERMANENT', 'Permanent')], max_length=10)),
                ('error_group', models.CharField(blank=True, db_default='', default='', editable=False, max_length=16)),
                ('provider_request_id', models.CharField(blank=True, max_length=64, verbose_name='provider request id')),
                ('outcome_unknown', models.BooleanField(db_default=False, help_text='It was sent and no answer came: Google may have it.')),
                ('send_alone', models.BooleanField(db_default=False, editable=False, help_text='It is sent in a request of its own, so that the verdict on the request is its own.')),
                ('kind', models.CharField(choices=[('RETRACTION', 'Retraction'), ('RESTATEMENT', 'Restatement')], max_length=11, verbose_name='kind')),
                ('value', models.DecimalField(decimal_places=3, max_digits=15, null=True, verbose_name='new value')),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('adjusted_at', models.DateTimeField(help_text='Fixed at entry and later than any before: Google ignores an older one.', verbose_name='adjusted at')),
                ('source_key', models.CharField(blank=True, max_length=200, null=True)),
                ('is_overtaken', models.BooleanField(db_default=False, editable=False, help_text='A newer adjustment takes its place.', verbose_name='overtaken')),
                ('original', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='adjustments', to='ociqueue.conversion', verbose_name='conversion')),
                ('site', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='adjustments', to='ociqueue.site', verbose_name='site')),
                ('open_batch', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='open_adjustments', to='ociqueue.uploadbatch')),
            ],
            options={
                'verbose_name': 'adjustment',
                'verbose_name_plural': 'adjustments',
                'abstract': False,
                'default_permissions': ('view', 'operate'),
            },
        ),
        migrations.CreateModel(
            name='UploadSummary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('upload_date', models.DateField(help_text="In the Google account's time zone.")),
                ('action_id', models.BigIntegerField()),
                ('action_name', models.CharField(max_length=200)),
                ('client', models.CharField(help_text="Google's name for the kind of uploader, as GOOGLE_ADS_API.", max_length=40)),
                ('successful', models.PositiveBigIntegerField()),
                ('failed', models.PositiveBigIntegerField()),
                ('pending', models.PositiveBigIntegerField()),
                ('read_at', models.DateTimeField()),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='upload_summaries', to='ociqueue.site')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ConversionKey',
            fields=[
                ('conversion', models.OneToOneField(db_column='id', db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='key', serialize=False, to='ociqueue.conversion')),
                ('action', models.CharField(max_length=100)),
                ('source_key', models.CharField(max_length=200, null=True)),
                ('order_id', models.CharField(max_length=64)),
                ('click_id', models.CharField(max_length=512)),
                ('hashed_email', models.CharField(max_length=64)),
                ('hashed_phone', models.CharField(max_length=64)),
                ('site', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='conversion_keys', to='ociqueue.site')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ImportChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('content', models.BinaryField()),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='chunks', to='ociqueue.importjob')),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('job', 'number'), name='one_import_chunk')],
            },
        ),
        migrations.CreateModel(
            name='ImportKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('digest', models.BigIntegerField()),
                ('value', models.BigIntegerField()),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='keys', to='ociqueue.importjob')),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(fields=['job', 'digest', 'line'], name='import_lines_by_key')],
            },
        ),
        migrations.CreateModel(
            name='ImportLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('is_checked', models.BooleanField(help_text='Found by the check, before anything was stored.')),
                ('is_differing', models.BooleanField(help_text='It is stored, with other values.')),
                ('cells', models.JSONField(help_text='By column, as the file of rejected lines shows them.')),
                ('text', models.TextField(blank=True, help_text='Of a line that could not be read.')),
                ('faults', models.JSONField(help_text='What is wrong: a list of field, reason and value.')),
                ('reason', models.TextField()),
                ('delimiter', models.CharField(max_length=1)),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='ociqueue.importjob')),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(fields=['job', 'is_checked', 'is_differing', 'line'], name='import_lines_in_order')],
            },
        ),
        migrations.AddIndex(
            model_name='importjob',
            index=models.Index(condition=models.Q(('status__in', ('READING', 'CHECKING', 'RUNNING'))), fields=['updated_at', 'id'], name='import_due'),
        ),
        migrations.AddIndex(
            model_name='importjob',
            index=models.Index(condition=models.Q(('status', 'FAILED')), fields=['finished_at'], name='import_failed'),
        ),
        migrations.AddIndex(
            model_name='importjob',
            index=models.Index(fields=['site', 'id'], name='import_of_site'),
        ),
        migrations.AddConstraint(
            model_name='importjob',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ('READING', 'CHECKING', 'RUNNING')), models.Q(('claim_token', None), ('lease_until', None)), _connector='OR'), name='resting_import_is_free'),
        ),
        migrations.AddConstraint(
            model_name='importjob',
            constraint=models.CheckConstraint(condition=models.Q(('done_bytes__lte', models.F('size'))), name='import_done_within_size'),
        ),
        migrations.AddConstraint(
            model_name='importjob',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['READY', 'RUNNING', 'DONE']), _negated=True), models.Q(models.Q(('encoding', ''), _negated=True), models.Q(('decimal_mark', ''), _negated=True)), _connector='OR'), name='running_import_was_read'),
        ),
        migrations.AddConstraint(
            model_name='importjob',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['RUNNING', 'DONE']), _negated=True), ('started_at__isnull', False), _connector='OR'), name='running_import_was_started'),
        ),
        migrations.AddConstraint(
            model_name='importjob',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'DONE'), _negated=True), ('done_bytes', models.F('size')), _connector='OR'), name='done_import_read_all'),
        ),
        migrations.AddConstraint(
            model_name='importjob',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['REFUSED', 'FAILED']), _negated=True), models.Q(('error', ''), _negated=True), _connector='OR'), name='stopped_import_says_why'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='importjob',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('READING'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion_import %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as READING.';", hash='f1438f0631ca78714b58196a99ca99455705f77c', operation='INSERT', pgid='pgtrigger_legal_initial_state_97683', table='ociqueue_importjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='importjob',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('CHECKING', 'CANCELLED'), ('CHECKING', 'FAILED'), ('CHECKING', 'READY'), ('CHECKING', 'REFUSED'), ('READING', 'CANCELLED'), ('READING', 'CHECKING'), ('READING', 'FAILED'), ('READING', 'REFUSED'), ('READY', 'CANCELLED'), ('READY', 'RUNNING'), ('RUNNING', 'CANCELLED'), ('RUNNING', 'DONE'), ('RUNNING', 'FAILED')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion_import %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='9c78dbf75d566b42df613d398ec917cffff6454d', operation='UPDATE', pgid='pgtrigger_legal_arrow_86bc6', table='ociqueue_importjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='importjob',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.site_id IS DISTINCT FROM NEW.site_id OR OLD.asked_by_id IS DISTINCT FROM NEW.asked_by_id OR OLD.kind IS DISTINCT FROM NEW.kind OR OLD.size IS DISTINCT FROM NEW.size)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion_import %s cannot change its %s', OLD.id, concat_ws(', ', CASE WHEN OLD.id IS DISTINCT FROM NEW.id THEN 'id' END, CASE WHEN OLD.site_id IS DISTINCT FROM NEW.site_id THEN 'site_id' END, CASE WHEN OLD.asked_by_id IS DISTINCT FROM NEW.asked_by_id THEN 'asked_by_id' END, CASE WHEN OLD.kind IS DISTINCT FROM NEW.kind THEN 'kind' END, CASE WHEN OLD.size IS DISTINCT FROM NEW.size THEN 'size' END)), HINT = 'This identifies the row and its history. Create another row instead.';", hash='0871f4a3c83918abd5b220db045ed372df1e78de', operation='UPDATE', pgid='pgtrigger_fixed_identity_efa0b', table='ociqueue_importjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='importjob',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'traceparent', (SELECT nullif(current_setting('kilit.trace', true), '')))) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, '' AS from_state, '' AS from_scope FROM new_rows n) AS each GROUP BY from_state, from_scope, to_state, to_scope\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'conversion_import', unnest(ids), 'JOB_CREATED', from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'conversion_import', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY[]::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, '' AS from_state, '' AS from_scope FROM new_rows n),\n      acted AS (\n        SELECT *, 'JOB_CREATED' AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'conversion_import' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'conversion_import',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='3716166e08b8a7d5f09cbbf60ae4c44b34a7e2e7', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_20689', referencing='REFERENCING NEW TABLE AS new_rows ', table='ociqueue_importjob', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='importjob',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'line_count', line_count, 'counts', counts, 'error', error)) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.line_count, n.counts, n.error, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id) AS each GROUP BY from_state, from_scope, to_state, to_scope, line_count, counts, error\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'conversion_import', unnest(ids), 'STATE_' || upper(to_state), from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'conversion_import', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY['fail']::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.line_count, n.counts, n.error, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      acted AS (\n        SELECT *, 'STATE_' || upper(to_state) AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'conversion_import' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'conversion_import',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='8f80d05363778db0ee834be1ab928c36711e8b57', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_49a30', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='ociqueue_importjob', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='importjob',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of conversion_import cannot be deleted', HINT = 'Move them instead.';", hash='e5faf5af870f48657f033f7c9b38a7dbcd64910c', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_5bca8', table='ociqueue_importjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='importjob',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of conversion_import cannot be truncated', HINT = 'Move them instead.';", hash='3337c36192a599bc7d4378d21da5f4b11a377c65', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_99214', table='ociqueue_importjob', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='no_update', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of erasure cannot be updated', HINT = 'They prove that a person''s data was removed.';", hash='9d786d1ed6fb96e3bedcecf18b521cc7a3e384f3', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_no_update_846a7', table='ociqueue_erasure', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of erasure cannot be deleted', HINT = 'They prove that a person''s data was removed.';", hash='77ffb34d26523e4ed63e1f5f72bc4aad9d06be28', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_b09e5', table='ociqueue_erasure', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='erasure',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'records of erasure cannot be truncated', HINT = 'They prove that a person''s data was removed.';", hash='4d07e0e8aa131c52525cce2b1ce043070b26e894', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_67780', table='ociqueue_erasure', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='circuit',
            constraint=models.UniqueConstraint(fields=('site', 'action'), name='one_circuit_per_site_and_action'),
        ),
        migrations.AddConstraint(
            model_name='circuit',
            constraint=models.CheckConstraint(condition=models.Q(('status', 'CLOSED'), models.Q(models.Q(('reason', ''), _negated=True), ('next_probe_at__isnull', False), ('opened_at__isnull', False)), _connector='OR'), name='open_circuit_has_reason_and_probe'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('CLOSED'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('circuit %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as CLOSED.';", hash='e35c404049eca85d131bff9f8c72d2c54f31394f', operation='INSERT', pgid='pgtrigger_legal_initial_state_d1c43', table='ociqueue_circuit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('CLOSED', 'OPEN'), ('OPEN', 'CLOSED')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('circuit %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='b4c02d902221e26f1947f3a61d04a6c0b6cbc011', operation='UPDATE', pgid='pgtrigger_legal_arrow_d196b', table='ociqueue_circuit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.site_id IS DISTINCT FROM NEW.site_id OR OLD.action IS DISTINCT FROM NEW.action)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('circuit %s cannot change its %s', OLD.id, concat_ws(', ', CASE WHEN OLD.id IS DISTINCT FROM NEW.id THEN 'id' END, CASE WHEN OLD.site_id IS DISTINCT FROM NEW.site_id THEN 'site_id' END, CASE WHEN OLD.action IS DISTINCT FROM NEW.action THEN 'action' END)), HINT = 'This identifies the row and its history. Create another row instead.';", hash='de063a26b516ac494a1887625fb6aa5cfa9e44bf', operation='UPDATE', pgid='pgtrigger_fixed_identity_44d56', table='ociqueue_circuit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'action', action, 'code', code, 'category', category, 'reason', reason, 'traceparent', (SELECT nullif(current_setting('kilit.trace', true), '')))) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.action, n.code, n.category, n.reason, '' AS from_state, '' AS from_scope FROM new_rows n) AS each GROUP BY from_state, from_scope, to_state, to_scope, action, code, category, reason\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'circuit', unnest(ids), 'JOB_CREATED', from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'circuit', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY[]::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.action, n.code, n.category, n.reason, '' AS from_state, '' AS from_scope FROM new_rows n),\n      acted AS (\n        SELECT *, 'JOB_CREATED' AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'circuit' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'circuit',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='adb606cac3cb1cc3b773cdb6e55afd4e7038c093', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_494ed', referencing='REFERENCING NEW TABLE AS new_rows ', table='ociqueue_circuit', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'action', action, 'code', code, 'category', category, 'reason', reason)) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.action, n.code, n.category, n.reason, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id) AS each GROUP BY from_state, from_scope, to_state, to_scope, action, code, category, reason\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'circuit', unnest(ids), 'STATE_' || upper(to_state), from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'circuit', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY['trip', 'close']::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.action, n.code, n.category, n.reason, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      acted AS (\n        SELECT *, 'STATE_' || upper(to_state) AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'circuit' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'circuit',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='573234f0ed42d8863624355be50c595a49d2d427', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_ad5a3', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='ociqueue_circuit', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of circuit cannot be deleted', HINT = 'Move them instead.';", hash='c5cbdac33c385a6927c7a30331fce0587b86ef99', level='STATEMENT', operation='DELETE', pgid='pgtrigger_no_delete_9108b', table='ociqueue_circuit', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='circuit',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of circuit cannot be truncated', HINT = 'Move them instead.';", hash='0be2d33709f60592798c728ea0d17a306dcbe6f1', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_056a1', table='ociqueue_circuit', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='uploadbatch',
            index=models.Index(fields=['site', '-created_at'], name='batch_of_site'),
        ),
        migrations.AddConstraint(
            model_name='uploadbatch',
            constraint=models.CheckConstraint(condition=models.Q(('answered_at', None), ('sent_at__isnull', False), _connector='OR'), name='answered_was_sent'),
        ),
        migrations.AddIndex(
            model_name='receipt',
            index=models.Index(condition=models.Q(('settled_at', None)), fields=['next_check_at'], name='receipt_due'),
        ),
        migrations.AddIndex(
            model_name='receipt',
            index=models.Index(condition=models.Q(('settled_at', None)), fields=['received_at'], name='receipt_open'),
        ),
        migrations.AddConstraint(
            model_name='receipt',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('next_check_at__isnull', False), ('settled_at', None)), models.Q(('next_check_at', None), ('settled_at__isnull', False)), _connector='OR'), name='open_receipt_has_next_check'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'created_at', 'id'], name='conversion_due'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('next_retry_at', None), ('status__in', ('QUEUED', 'RETRY'))), fields=['site'], name='conversion_ready'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('next_retry_at__isnull', False), ('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'next_retry_at'], name='conversion_deferred'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('send_alone', True), ('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'created_at', 'id'], name='conversion_due_alone'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(models.Q(('consent_ad_user_data', 'DENIED')), ('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'created_at', 'id'], name='conversion_denied'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(models.Q(django.db.models.lookups.GreaterThan(django.db.models.expressions.CombinedExpression(models.F('created_at'), '-', models.F('conversion_time')), models.Value(datetime.timedelta(days=7)))), ('status__in', ('QUEUED', 'RETRY'))), fields=['conversion_time', 'id'], name='conversion_came_late'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('is_retracted', True), ('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'created_at', 'id'], name='conversion_retracted'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('outcome_unknown', True)), fields=['id'], name='conversion_unknown'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status', 'PROCESSING')), fields=['claimed_at'], name='conversion_claimed'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('open_batch__isnull', False)), fields=['open_batch'], name='conversion_of_batch'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), condition=models.Q(django.db.models.lookups.GreaterThanOrEqual(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), models.Value(2)), ('status__in', ('QUEUED', 'RETRY', 'PROCESSING'))), name='conversion_tried_again'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), condition=models.Q(('provider_error_category', 'TRANSIENT'), ('status', 'FAILED')), name='conversion_passing_failures'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(fields=['site', 'id'], name='conversion_of_site'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(fields=['site', 'status', 'id'], name='conversion_of_site_in_status'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status', 'FAILED')), fields=['id'], name='conversion_failed'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status', 'RETRY')), fields=['id'], name='conversion_in_retry'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('status__in', ['FAILED', 'RETRY']), models.Q(('error_group', ''), _negated=True)), fields=['error_group', 'id'], name='conversion_of_error_group'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('provider_error_code', ''), _negated=True), fields=['provider_error_code', 'id'], name='conversion_of_code'),
        ),
        migrations.AddIndex(
            model_name='conversion',
            index=models.Index(condition=models.Q(('provider_error_category', ''), _negated=True), fields=['provider_error_category', 'id'], name='conversion_of_category'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(models.Q(('gclid', ''), _negated=True), ('gbraid', ''), ('wbraid', '')), models.Q(models.Q(('wbraid', ''), _negated=True), ('gbraid', ''), ('gclid', '')), models.Q(models.Q(('gbraid', ''), _negated=True), ('gclid', ''), ('wbraid', '')), models.Q(('gbraid', ''), ('gclid', ''), ('wbraid', ''), models.Q(models.Q(('hashed_email', ''), ('hashed_phone', ''), _negated=True), ('erased_at__isnull', False), _connector='OR')), _connector='OR'), name='conversion_has_one_click_id_or_hash'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('hashed_email', ''), ('hashed_email__regex', '^[0-9a-f]{64}$'), _connector='OR'), models.Q(('hashed_email_ads', ''), models.Q(('hashed_email_ads__regex', '^[0-9a-f]{64}$'), models.Q(('hashed_email', ''), _negated=True)), _connector='OR'), models.Q(('hashed_phone', ''), ('hashed_phone__regex', '^[0-9a-f]{64}$'), _connector='OR')), name='conversion_hashes_are_hashes'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('value__gte', 0), ('value__lt', 1000000000000)), name='conversion_value_is_a_price'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('currency__regex', '^[A-Z]{3}$')), name='conversion_currency_is_a_code'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('event_source__in', ['WEB', 'APP', 'IN_STORE', 'PHONE', 'MESSAGE', 'OTHER'])), name='conversion_event_source_is_known'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('is_replaced', False), ('status__in', ('COMPLETED', 'FAILED')), _connector='OR'), name='replaced_has_ended'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('erased_at', None), ('status__in', ('COMPLETED', 'FAILED')), _connector='OR'), name='erased_has_ended'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'PROCESSING'), _negated=True), ('claimed_at__isnull', False), _connector='OR'), name='processing_has_claimed_at'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'QUEUED'), _negated=True), models.Q(('claimed_at', None), ('next_retry_at', None)), _connector='OR'), name='queued_is_free'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'FAILED'), _negated=True), models.Q(('provider_error_code', ''), _negated=True), _connector='OR'), name='failed_has_error_code'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('uploaded_at', None), ('status', 'COMPLETED'), _connector='OR'), name='only_completed_is_uploaded'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('open_batch', None), ('status__in', ('PROCESSING', 'UPLOADED')), _connector='OR'), name='only_upload_has_batch'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'UPLOADED'), _negated=True), ('open_batch__isnull', False), _connector='OR'), name='uploaded_has_batch'),
        ),
        migrations.AddConstraint(
            model_name='conversion',
            constraint=models.CheckConstraint(condition=models.Q(('attempts_forgiven__lte', models.F('attempt_count'))), name='forgiven_attempts_were_made'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('QUEUED'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as QUEUED.';", hash='a69431313f5eae6033ba6e0cd9ad08c73e52d783', operation='INSERT', pgid='pgtrigger_legal_initial_state_acddf', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('FAILED', 'QUEUED'), ('FAILED', 'RETRY'), ('PROCESSING', 'COMPLETED'), ('PROCESSING', 'FAILED'), ('PROCESSING', 'QUEUED'), ('PROCESSING', 'RETRY'), ('PROCESSING', 'UPLOADED'), ('QUEUED', 'FAILED'), ('QUEUED', 'PROCESSING'), ('RETRY', 'FAILED'), ('RETRY', 'PROCESSING'), ('RETRY', 'QUEUED'), ('UPLOADED', 'COMPLETED'), ('UPLOADED', 'FAILED'), ('UPLOADED', 'QUEUED'), ('UPLOADED', 'RETRY')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='4727fa42ed68c99f1bf4df2337845b2f384456aa', operation='UPDATE', pgid='pgtrigger_legal_arrow_1792c', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.site_id IS DISTINCT FROM NEW.site_id OR OLD.action IS DISTINCT FROM NEW.action OR OLD.source_key IS DISTINCT FROM NEW.source_key OR OLD.order_id IS DISTINCT FROM NEW.order_id)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion %s cannot change its %s', OLD.id, concat_ws(', ', CASE WHEN OLD.id IS DISTINCT FROM NEW.id THEN 'id' END, CASE WHEN OLD.site_id IS DISTINCT FROM NEW.site_id THEN 'site_id' END, CASE WHEN OLD.action IS DISTINCT FROM NEW.action THEN 'action' END, CASE WHEN OLD.source_key IS DISTINCT FROM NEW.source_key THEN 'source_key' END, CASE WHEN OLD.order_id IS DISTINCT FROM NEW.order_id THEN 'order_id' END)), HINT = 'This identifies the row and its history. Create another row instead.';", hash='04fa96163201c365e2a8273a21040306882817d4', operation='UPDATE', pgid='pgtrigger_fixed_identity_e99ad', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='counters', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN ((NEW.attempt_count <> OLD.attempt_count AND NOT (NEW.attempt_count = OLD.attempt_count + 1 AND (OLD.status, NEW.status) IN (('QUEUED', 'PROCESSING'), ('RETRY', 'PROCESSING')))))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion %s cannot change its %s', OLD.id, concat_ws(', ', CASE WHEN (NEW.attempt_count <> OLD.attempt_count AND NOT (NEW.attempt_count = OLD.attempt_count + 1 AND (OLD.status, NEW.status) IN (('QUEUED', 'PROCESSING'), ('RETRY', 'PROCESSING')))) THEN format('attempt_count from %s to %s', OLD.attempt_count, NEW.attempt_count) END)), HINT = 'It counts what has happened.';", hash='a1db60939119e89e2a48c8bc4fca1110ec3ee781', operation='UPDATE', pgid='pgtrigger_counters_b0e65', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='settled', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IN ('UPLOADED', 'COMPLETED') AND (OLD.value IS DISTINCT FROM NEW.value OR OLD.currency IS DISTINCT FROM NEW.currency OR OLD.conversion_time IS DISTINCT FROM NEW.conversion_time OR (OLD.gclid IS DISTINCT FROM NEW.gclid AND NOT (NEW.gclid = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) OR (OLD.wbraid IS DISTINCT FROM NEW.wbraid AND NOT (NEW.wbraid = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) OR (OLD.gbraid IS DISTINCT FROM NEW.gbraid AND NOT (NEW.gbraid = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) OR (OLD.hashed_email IS DISTINCT FROM NEW.hashed_email AND NOT (NEW.hashed_email = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) OR (OLD.hashed_email_ads IS DISTINCT FROM NEW.hashed_email_ads AND NOT (NEW.hashed_email_ads = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) OR (OLD.hashed_phone IS DISTINCT FROM NEW.hashed_phone AND NOT (NEW.hashed_phone = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on'))))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('conversion %s is %s and cannot change its %s', OLD.id, OLD.status, concat_ws(', ', CASE WHEN OLD.value IS DISTINCT FROM NEW.value THEN 'value' END, CASE WHEN OLD.currency IS DISTINCT FROM NEW.currency THEN 'currency' END, CASE WHEN OLD.conversion_time IS DISTINCT FROM NEW.conversion_time THEN 'conversion_time' END, CASE WHEN (OLD.gclid IS DISTINCT FROM NEW.gclid AND NOT (NEW.gclid = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) THEN 'gclid' END, CASE WHEN (OLD.wbraid IS DISTINCT FROM NEW.wbraid AND NOT (NEW.wbraid = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) THEN 'wbraid' END, CASE WHEN (OLD.gbraid IS DISTINCT FROM NEW.gbraid AND NOT (NEW.gbraid = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) THEN 'gbraid' END, CASE WHEN (OLD.hashed_email IS DISTINCT FROM NEW.hashed_email AND NOT (NEW.hashed_email = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) THEN 'hashed_email' END, CASE WHEN (OLD.hashed_email_ads IS DISTINCT FROM NEW.hashed_email_ads AND NOT (NEW.hashed_email_ads = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) THEN 'hashed_email_ads' END, CASE WHEN (OLD.hashed_phone IS DISTINCT FROM NEW.hashed_phone AND NOT (NEW.hashed_phone = '' AND coalesce(current_setting('kilit.erasing', true), '') = 'on')) THEN 'hashed_phone' END)), HINT = 'It was sent like this.';", hash='9af58d68c9b0d767e0d41460135b810a3689ce3f', operation='UPDATE', pgid='pgtrigger_settled_0a88a', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'traceparent', (SELECT nullif(current_setting('kilit.trace', true), '')))) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, '' AS from_state, '' AS from_scope FROM new_rows n) AS each GROUP BY from_state, from_scope, to_state, to_scope\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'conversion', unnest(ids), 'JOB_CREATED', from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'conversion', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY[]::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, '' AS from_state, '' AS from_scope FROM new_rows n),\n      acted AS (\n        SELECT *, 'JOB_CREATED' AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'conversion' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'conversion',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='c74a6af3dd4b3a9ff3ec77a44c14c14ea2ea056b', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_5a1f7', referencing='REFERENCING NEW TABLE AS new_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'attempt_count', attempt_count, 'provider_error_code', provider_error_code, 'provider_error_category', provider_error_category, 'last_error', last_error)) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.attempt_count, n.provider_error_code, n.provider_error_category, n.last_error, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id) AS each GROUP BY from_state, from_scope, to_state, to_scope, attempt_count, provider_error_code, provider_error_category, last_error\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'conversion', unnest(ids), 'STATE_' || upper(to_state), from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'conversion', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY[]::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.attempt_count, n.provider_error_code, n.provider_error_category, n.last_error, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      acted AS (\n        SELECT *, 'STATE_' || upper(to_state) AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'conversion' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'conversion',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='7cebe389e859ac625ba0d78d78c97b2a338e3742', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_c1209', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status NOT IN ('COMPLETED', 'FAILED') OR OLD.updated_at >= least(now() - interval '1 days',\n      coalesce(nullif(current_setting('kilit.prune_before', true), '')::timestamptz, '-infinity')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('rows of conversion cannot be deleted: %s is %s', OLD.id, OLD.status), HINT = 'Finished rows that are old enough are pruned: docs/operations.md.';", hash='de56fbf58148b98a2df4983f4bcf1777a3abade8', operation='DELETE', pgid='pgtrigger_no_delete_6bd5f', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='record_prune', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $prune$\n      WITH gone AS MATERIALIZED (SELECT id, status AS state, old_rows.site_id::text AS scope, updated_at FROM old_rows),\n      forgotten AS (\n        DELETE FROM lock_event WHERE queue = 'conversion' AND object_id IN (SELECT id FROM gone) RETURNING 1\n      ),\n      counted AS (\n        INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n        SELECT 'conversion', scope, state, -count(*), 0, now() FROM gone GROUP BY scope, state\n      )\n      INSERT INTO lock_pruning (queue, before, rows, events, states, oldest, newest, actor, message, created_at)\n      SELECT 'conversion', $3, count(*), (SELECT count(*) FROM forgotten),\n        (SELECT jsonb_object_agg(state, number)\n          FROM (SELECT state, count(*) AS number FROM gone GROUP BY state) AS each),\n        min(updated_at), max(updated_at), $1, $2, now()\n      FROM gone HAVING count(*) > 0\n    $prune$ USING\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), ''),\n      nullif(current_setting('kilit.prune_before', true), '')::timestamptz;\n    RETURN NULL;\n", hash='f782adb4b1c685b509e23c5657ecbe622d00ac10', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_prune_1a86c', referencing='REFERENCING OLD TABLE AS old_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of conversion cannot be truncated', HINT = 'Move them instead.';", hash='689e9c04d0ad3224a2f8966262d05a9922fa87a9', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_536bc', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='name_error_on_insert', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.provider_error_code <> '' OR NEW.error_group <> '')", func="\n    NEW.error_group = CASE WHEN NEW.provider_error_code = '' OR NEW.is_replaced THEN ''\n      ELSE left(md5(NEW.provider_error_code || chr(10) || lock_error_shape(NEW.last_error)), 16) END;\n    RETURN NEW;\n", hash='32933526862810feccb90d5e541d959b886d6cbb', operation='INSERT', pgid='pgtrigger_name_error_on_insert_133ff', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='name_error', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(NEW.provider_error_code, NEW.last_error, NEW.error_group, NEW.is_replaced) IS DISTINCT FROM ROW(OLD.provider_error_code, OLD.last_error, OLD.error_group, OLD.is_replaced))', func="\n    IF coalesce(current_setting('kilit.erasing', true), '') = 'on' THEN NEW.error_group = OLD.error_group; RETURN NEW; END IF;\n    NEW.error_group = CASE WHEN NEW.provider_error_code = '' OR NEW.is_replaced THEN ''\n      ELSE left(md5(NEW.provider_error_code || chr(10) || lock_error_shape(NEW.last_error)), 16) END;\n    RETURN NEW;\n", hash='ef5310b0b6802e5628451768ab63298a83acea4e', operation='UPDATE', pgid='pgtrigger_name_error_86f02', table='offline_conversion_queue', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='record_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM new_rows n WHERE n.status IN ('FAILED', 'RETRY') AND n.error_group <> '') OR EXISTS (SELECT FROM old_rows o WHERE o.status IN ('FAILED', 'RETRY') AND o.error_group <> '') THEN\n      EXECUTE $errors$\n        WITH changed AS MATERIALIZED (\n          SELECT n.status IN ('FAILED', 'RETRY') AND n.error_group <> '' AS comes, o.status IN ('FAILED', 'RETRY') AND o.error_group <> '' AS leaves,\n            n.site_id::text AS new_scope, n.status AS new_state, n.error_group AS new_group,\n            n.provider_error_code AS new_code, n.last_error AS new_message,\n            o.site_id::text AS old_scope, o.status AS old_state, o.error_group AS old_group,\n            o.provider_error_code AS old_code, o.last_error AS old_message, o.updated_at AS failed_at\n          FROM new_rows n JOIN old_rows o ON o.id = n.id\n          WHERE (n.status, n.error_group, n.site_id::text) IS DISTINCT FROM (o.status, o.error_group, o.site_id::text)\n        ), expected AS (\n          INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n          SELECT 'conversion', new_scope, 'EXPECTED_FAILURE', 0, count(*), now() FROM changed\n          WHERE comes AND (old_state, new_state, new_code) IN (('PROCESSING', 'FAILED', 'SKIPPED_BY_SCRIPT'), ('QUEUED', 'FAILED', 'SKIPPED_BY_SCRIPT'), ('PROCESSING', 'FAILED', 'CLICK_NOT_FOUND'), ('QUEUED', 'FAILED', 'CLICK_NOT_FOUND'), ('UPLOADED', 'FAILED', 'DENIED_CONSENT'), ('QUEUED', 'FAILED', 'DENIED_CONSENT'), ('UPLOADED', 'FAILED', 'NO_CONSENT'), ('QUEUED', 'FAILED', 'NO_CONSENT'), ('RETRY', 'FAILED', 'WITHHELD_CONSENT_DENIED'), ('QUEUED', 'FAILED', 'WITHHELD_CONSENT_DENIED'), ('RETRY', 'FAILED', 'RETRACTED_BEFORE_UPLOAD'), ('QUEUED', 'FAILED', 'RETRACTED_BEFORE_UPLOAD'), ('UPLOADED', 'FAILED', 'USER_DATA_NOT_MATCHED'), ('QUEUED', 'FAILED', 'USER_DATA_NOT_MATCHED')) GROUP BY new_scope\n        ), reopened AS (\n          INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n          SELECT 'conversion', old_scope, 'REOPENED_FAILURE', 0, count(*), date_trunc('hour', failed_at) FROM changed\n          WHERE leaves AND old_state IN ('FAILED') AND (new_state <> old_state OR NOT comes) AND old_code NOT IN ('SKIPPED_BY_SCRIPT', 'CLICK_NOT_FOUND', 'DENIED_CONSENT', 'NO_CONSENT', 'WITHHELD_CONSENT_DENIED', 'RETRACTED_BEFORE_UPLOAD', 'USER_DATA_NOT_MATCHED')\n          GROUP BY old_scope, date_trunc('hour', failed_at)\n        )\n        INSERT INTO lock_errordelta\n          (queue, scope, state, error_group, code, shape, change, entered, created_at)\n        SELECT 'conversion', scope, state, error_group, min(code), lock_error_shape(min(message)),\n          sum(change), sum(entered), now()\n        FROM (\n          SELECT new_scope AS scope, new_state AS state, new_group AS error_group, new_code AS code,\n            new_message AS message, 1 AS change,\n            CASE WHEN leaves AND (new_scope, new_group) = (old_scope, old_group) THEN 0 ELSE 1 END AS entered\n          FROM changed WHERE comes\n          UNION ALL\n          SELECT old_scope, old_state, old_group, old_code, old_message, -1, 0 FROM changed WHERE leaves\n        ) AS changes GROUP BY scope, state, error_group\n      $errors$;\n    END IF;\n    RETURN NULL;\n", hash='31c30337c7d3b9e125c1a4284b653b182151d8d5', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_errors_4eaa7', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='offline_conversion_queue', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='conversion',
            trigger=pgtrigger.compiler.Trigger(name='forget_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $errors$\n      INSERT INTO lock_errordelta (queue, scope, state, error_group, code, shape, change, entered, created_at)\n      SELECT 'conversion', o.site_id::text, o.status, o.error_group, min(o.provider_error_code), lock_error_shape(min(o.last_error)),\n        -count(*), 0, now()\n      FROM old_rows o WHERE o.status IN ('FAILED', 'RETRY') AND o.error_group <> '' GROUP BY o.site_id::text, o.status, o.error_group\n    $errors$;\n    RETURN NULL;\n", hash='c5bc8dce68052c8457ac249357b731877854c4fb', level='STATEMENT', operation='DELETE', pgid='pgtrigger_forget_errors_70217', referencing='REFERENCING OLD TABLE AS old_rows ', table='offline_conversion_queue', when='AFTER')),
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
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(condition=models.Q(('status__in', ('QUEUED', 'RETRY'))), fields=['site', 'created_at', 'id'], name='adjustment_due'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(condition=models.Q(('status', 'PROCESSING')), fields=['claimed_at'], name='adjustment_claimed'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(condition=models.Q(('open_batch__isnull', False)), fields=['open_batch'], name='adjustment_of_batch'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), condition=models.Q(('status__in', ('QUEUED', 'RETRY', 'PROCESSING'))), name='adjustment_attempts'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(django.db.models.expressions.CombinedExpression(models.F('attempt_count'), '-', models.F('attempts_forgiven')), condition=models.Q(('provider_error_category', 'TRANSIENT'), ('status', 'FAILED')), name='adjustment_passing_failures'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(models.F('site'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('order_id'), name='text_pattern_ops'), name='adjustment_order_id_prefix'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(fields=['site', 'id'], name='adjustment_of_site'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(fields=['site', 'status', 'id'], name='adjustment_of_site_in_status'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(condition=models.Q(('status', 'FAILED')), fields=['id'], name='adjustment_failed'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(condition=models.Q(('is_overtaken', False), ('provider_error_code__in', ('ORIGINAL_NOT_UPLOADED', 'ORIGINAL_OUTCOME_UNKNOWN')), ('status', 'FAILED')), fields=['original'], name='adjustment_revivable'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(condition=models.Q(('status__in', ['FAILED', 'RETRY']), models.Q(('error_group', ''), _negated=True)), fields=['error_group', 'id'], name='adjustment_of_error_group'),
        ),
        migrations.AddIndex(
            model_name='adjustment',
            index=models.Index(condition=models.Q(('provider_error_code', ''), _negated=True), fields=['provider_error_code', 'id'], name='adjustment_of_code'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('currency', ''), ('kind', 'RETRACTION'), ('value', None)), models.Q(('currency__regex', '^[A-Z]{3}$'), ('kind', 'RESTATEMENT'), ('value__isnull', False)), _connector='OR'), name='only_restatement_has_value'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(('value', None), models.Q(('value__gte', 0), ('value__lt', 1000000000000)), _connector='OR'), name='adjustment_value_is_a_price'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'PROCESSING'), _negated=True), ('claimed_at__isnull', False), _connector='OR'), name='adjustment_processing_has_claimed_at'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'QUEUED'), _negated=True), models.Q(('claimed_at', None), ('next_retry_at', None)), _connector='OR'), name='adjustment_queued_is_free'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'FAILED'), _negated=True), models.Q(('provider_error_code', ''), _negated=True), _connector='OR'), name='adjustment_failed_has_error_code'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(('uploaded_at', None), ('status', 'COMPLETED'), _connector='OR'), name='adjustment_only_completed_is_uploaded'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(('open_batch', None), ('status__in', ('PROCESSING', 'UPLOADED')), _connector='OR'), name='adjustment_only_upload_has_batch'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'UPLOADED'), _negated=True), ('open_batch__isnull', False), _connector='OR'), name='adjustment_uploaded_has_batch'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.CheckConstraint(condition=models.Q(('attempts_forgiven__lte', models.F('attempt_count'))), name='adjustment_forgiven_attempts_were_made'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ('PROCESSING', 'UPLOADED'))), fields=('original',), name='one_adjustment_in_flight'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'RETRACTION')), fields=('original',), name='one_retraction_per_conversion'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.UniqueConstraint(condition=models.Q(('source_key__isnull', False)), fields=('site', 'source_key'), name='one_adjustment_per_source_key'),
        ),
        migrations.AddConstraint(
            model_name='adjustment',
            constraint=models.UniqueConstraint(fields=('original', 'adjusted_at'), name='one_adjustment_per_time'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='legal_initial_state', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status NOT IN ('QUEUED'))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('adjustment %s cannot be created as %s', NEW.id, NEW.status), HINT = 'Rows are created as QUEUED.';", hash='f424be7008ea356a00c2e6b5718b20319d424b09', operation='INSERT', pgid='pgtrigger_legal_initial_state_019ba', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='legal_arrow', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status IS DISTINCT FROM NEW.status AND (OLD.status, NEW.status) NOT IN (('FAILED', 'QUEUED'), ('FAILED', 'RETRY'), ('PROCESSING', 'COMPLETED'), ('PROCESSING', 'FAILED'), ('PROCESSING', 'QUEUED'), ('PROCESSING', 'RETRY'), ('PROCESSING', 'UPLOADED'), ('QUEUED', 'COMPLETED'), ('QUEUED', 'FAILED'), ('QUEUED', 'PROCESSING'), ('RETRY', 'COMPLETED'), ('RETRY', 'FAILED'), ('RETRY', 'PROCESSING'), ('RETRY', 'QUEUED'), ('UPLOADED', 'COMPLETED'), ('UPLOADED', 'FAILED'), ('UPLOADED', 'QUEUED'), ('UPLOADED', 'RETRY')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('adjustment %s cannot move from %s to %s', OLD.id, OLD.status, NEW.status), HINT = 'docs/lifecycle.md lists the arrows.';", hash='21e18b4c54d3b0ea03069300cdf1039f155cfb47', operation='UPDATE', pgid='pgtrigger_legal_arrow_389f6', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='fixed_identity', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.site_id IS DISTINCT FROM NEW.site_id OR OLD.original_id IS DISTINCT FROM NEW.original_id OR OLD.kind IS DISTINCT FROM NEW.kind OR OLD.action IS DISTINCT FROM NEW.action OR OLD.order_id IS DISTINCT FROM NEW.order_id OR OLD.value IS DISTINCT FROM NEW.value OR OLD.currency IS DISTINCT FROM NEW.currency OR OLD.adjusted_at IS DISTINCT FROM NEW.adjusted_at OR OLD.source_key IS DISTINCT FROM NEW.source_key)', func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('adjustment %s cannot change its %s', OLD.id, concat_ws(', ', CASE WHEN OLD.id IS DISTINCT FROM NEW.id THEN 'id' END, CASE WHEN OLD.site_id IS DISTINCT FROM NEW.site_id THEN 'site_id' END, CASE WHEN OLD.original_id IS DISTINCT FROM NEW.original_id THEN 'original_id' END, CASE WHEN OLD.kind IS DISTINCT FROM NEW.kind THEN 'kind' END, CASE WHEN OLD.action IS DISTINCT FROM NEW.action THEN 'action' END, CASE WHEN OLD.order_id IS DISTINCT FROM NEW.order_id THEN 'order_id' END, CASE WHEN OLD.value IS DISTINCT FROM NEW.value THEN 'value' END, CASE WHEN OLD.currency IS DISTINCT FROM NEW.currency THEN 'currency' END, CASE WHEN OLD.adjusted_at IS DISTINCT FROM NEW.adjusted_at THEN 'adjusted_at' END, CASE WHEN OLD.source_key IS DISTINCT FROM NEW.source_key THEN 'source_key' END)), HINT = 'This identifies the row and its history. Create another row instead.';", hash='3af4d91e1ab68550c6efd1028a712cc0e469bca5', operation='UPDATE', pgid='pgtrigger_fixed_identity_8496f', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='counters', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN ((NEW.attempt_count <> OLD.attempt_count AND NOT (NEW.attempt_count = OLD.attempt_count + 1 AND (OLD.status, NEW.status) IN (('QUEUED', 'PROCESSING'), ('RETRY', 'PROCESSING')))))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('adjustment %s cannot change its %s', OLD.id, concat_ws(', ', CASE WHEN (NEW.attempt_count <> OLD.attempt_count AND NOT (NEW.attempt_count = OLD.attempt_count + 1 AND (OLD.status, NEW.status) IN (('QUEUED', 'PROCESSING'), ('RETRY', 'PROCESSING')))) THEN format('attempt_count from %s to %s', OLD.attempt_count, NEW.attempt_count) END)), HINT = 'It counts what has happened.';", hash='2d6e05579cf603e3f1c945b21f595c597f13425e', operation='UPDATE', pgid='pgtrigger_counters_48337', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='record_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'traceparent', (SELECT nullif(current_setting('kilit.trace', true), '')))) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, '' AS from_state, '' AS from_scope FROM new_rows n) AS each GROUP BY from_state, from_scope, to_state, to_scope\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'adjustment', unnest(ids), 'JOB_CREATED', from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'adjustment', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY[]::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, '' AS from_state, '' AS from_scope FROM new_rows n),\n      acted AS (\n        SELECT *, 'JOB_CREATED' AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'adjustment' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'adjustment',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='58245d81c1bf502f49596b1c03b590296241b5b6', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_insert_0d94e', referencing='REFERENCING NEW TABLE AS new_rows ', table='ociqueue_adjustment', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='record_move', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $record$\n      WITH moved AS MATERIALIZED (\n        SELECT from_state, from_scope, to_state, to_scope, count(*) AS rows, array_agg(id) AS ids,\n          jsonb_strip_nulls(jsonb_build_object('verb', nullif($1, ''), 'attempt_count', attempt_count, 'provider_error_code', provider_error_code, 'provider_error_category', provider_error_category, 'last_error', last_error)) AS details\n        FROM (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.attempt_count, n.provider_error_code, n.provider_error_category, n.last_error, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id) AS each GROUP BY from_state, from_scope, to_state, to_scope, attempt_count, provider_error_code, provider_error_category, last_error\n      ),\n      events AS (\n        INSERT INTO lock_event\n          (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n        SELECT 'adjustment', unnest(ids), 'STATE_' || upper(to_state), from_state, to_state, $2, $3, details, now()\n        FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      )\n      INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n      SELECT 'adjustment', scope, state, sum(change), coalesce(sum(change) FILTER (WHERE change > 0), 0), now() FROM (\n        SELECT to_scope AS scope, to_state AS state, rows AS change FROM moved\n          WHERE (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n        UNION ALL\n        SELECT from_scope, from_state, -rows FROM moved\n          WHERE from_state <> '' AND (from_state, from_scope) IS DISTINCT FROM (to_state, to_scope)\n      ) AS changes GROUP BY scope, state\n    $record$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    \n    IF coalesce(current_setting('kilit.without_activity', true), '') <> 'on'\n      AND (current_setting('kilit.actor', true) ~ '^(operator|admin|viewer|user|sweep|command):'\n        OR current_setting('kilit.actor', true) LIKE 'key:%' AND current_setting('kilit.verb', true) IN ('retry', 'retry_selected', 'reset_to_queued', 'mark_failed', 'approve', 'cancel', 'expire', 'start')\n        OR current_setting('kilit.verb', true) = ANY (ARRAY[]::text[]))\n    THEN EXECUTE $activity$\n      WITH moved AS MATERIALIZED (SELECT n.id, n.status AS to_state, n.site_id::text AS to_scope, n.attempt_count, n.provider_error_code, n.provider_error_category, n.last_error, o.status AS from_state, o.site_id::text AS from_scope FROM new_rows n JOIN old_rows o ON o.id = n.id),\n      acted AS (\n        SELECT *, 'STATE_' || upper(to_state) AS event_type FROM moved WHERE from_state IS DISTINCT FROM to_state OR $1 <> ''\n      ),\n      lines AS (\n        SELECT grouping(to_scope) = 0 AS is_part, min(to_scope) AS scope, count(*) AS rows, min(id::text) AS id,\n          min(event_type) AS event_type, count(*) OVER () > 2 AS are_several\n        FROM acted GROUP BY GROUPING SETS ((), (to_scope))\n      ),\n      events AS (\n        SELECT min(event.id) AS first, max(event.id) AS last\n        FROM acted JOIN lock_event AS event ON event.object_id = acted.id\n        WHERE event.queue = 'adjustment' AND event.event_type = acted.event_type AND event.created_at = now()\n      )\n      INSERT INTO lock_activity (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part,\n        first_event, last_event, created_at)\n      SELECT CASE WHEN $2 ~ '^(sweep|command):' THEN 'task' ELSE 'action' END, $2,\n        CASE WHEN $2 ~ '^(operator|admin|viewer|user):' THEN substr($2, strpos($2, ':') + 1) ELSE '' END, 'adjustment',\n        CASE WHEN is_part OR NOT are_several THEN scope ELSE '' END, coalesce(nullif($1, ''), event_type), rows,\n        CASE WHEN rows = 1 THEN id ELSE '' END, $3, is_part, first, last, now()\n      FROM lines, events WHERE rows > 0 AND (are_several OR NOT is_part)\n    $activity$ USING\n      coalesce(current_setting('kilit.verb', true), ''),\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), '');\n    END IF;\n\n    PERFORM set_config('kilit.verb', '', true);\n    RETURN NULL;\n", hash='44e46def86adbcf8d11cd747e25e992e656910bd', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_move_9776e', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='ociqueue_adjustment', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='no_delete', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (OLD.status NOT IN ('COMPLETED', 'FAILED') OR OLD.updated_at >= least(now() - interval '1 days',\n      coalesce(nullif(current_setting('kilit.prune_before', true), '')::timestamptz, '-infinity')))", func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = format('rows of adjustment cannot be deleted: %s is %s', OLD.id, OLD.status), HINT = 'Finished rows that are old enough are pruned: docs/operations.md.';", hash='dd17d282ed5b2cf6c81ef10b80f42214db861618', operation='DELETE', pgid='pgtrigger_no_delete_0bbf9', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='record_prune', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $prune$\n      WITH gone AS MATERIALIZED (SELECT id, status AS state, old_rows.site_id::text AS scope, updated_at FROM old_rows),\n      forgotten AS (\n        DELETE FROM lock_event WHERE queue = 'adjustment' AND object_id IN (SELECT id FROM gone) RETURNING 1\n      ),\n      counted AS (\n        INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n        SELECT 'adjustment', scope, state, -count(*), 0, now() FROM gone GROUP BY scope, state\n      )\n      INSERT INTO lock_pruning (queue, before, rows, events, states, oldest, newest, actor, message, created_at)\n      SELECT 'adjustment', $3, count(*), (SELECT count(*) FROM forgotten),\n        (SELECT jsonb_object_agg(state, number)\n          FROM (SELECT state, count(*) AS number FROM gone GROUP BY state) AS each),\n        min(updated_at), max(updated_at), $1, $2, now()\n      FROM gone HAVING count(*) > 0\n    $prune$ USING\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user),\n      coalesce(current_setting('kilit.reason', true), ''),\n      nullif(current_setting('kilit.prune_before', true), '')::timestamptz;\n    RETURN NULL;\n", hash='cfe75d468180b8d87de76f77389b770b0e6403b0', level='STATEMENT', operation='DELETE', pgid='pgtrigger_record_prune_269e9', referencing='REFERENCING OLD TABLE AS old_rows ', table='ociqueue_adjustment', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='no_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'rows of adjustment cannot be truncated', HINT = 'Move them instead.';", hash='c8bfca898c3bfd4a67280d87cbe0d12e8e6dbc05', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_no_truncate_91bd3', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='name_error_on_insert', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.provider_error_code <> '' OR NEW.error_group <> '')", func="\n    NEW.error_group = CASE WHEN NEW.provider_error_code = '' THEN ''\n      ELSE left(md5(NEW.provider_error_code || chr(10) || lock_error_shape(NEW.last_error)), 16) END;\n    RETURN NEW;\n", hash='7bb8ddc8b9b07671e0e806918463f300d61191ed', operation='INSERT', pgid='pgtrigger_name_error_on_insert_674be', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='name_error', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (ROW(NEW.provider_error_code, NEW.last_error, NEW.error_group) IS DISTINCT FROM ROW(OLD.provider_error_code, OLD.last_error, OLD.error_group))', func="\n    IF coalesce(current_setting('kilit.erasing', true), '') = 'on' THEN NEW.error_group = OLD.error_group; RETURN NEW; END IF;\n    NEW.error_group = CASE WHEN NEW.provider_error_code = '' THEN ''\n      ELSE left(md5(NEW.provider_error_code || chr(10) || lock_error_shape(NEW.last_error)), 16) END;\n    RETURN NEW;\n", hash='84c39efd988795c376075cfc3c690c167730a19f', operation='UPDATE', pgid='pgtrigger_name_error_9bec2', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='record_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (SELECT FROM new_rows n WHERE n.status IN ('FAILED', 'RETRY') AND n.error_group <> '') OR EXISTS (SELECT FROM old_rows o WHERE o.status IN ('FAILED', 'RETRY') AND o.error_group <> '') THEN\n      EXECUTE $errors$\n        WITH changed AS MATERIALIZED (\n          SELECT n.status IN ('FAILED', 'RETRY') AND n.error_group <> '' AS comes, o.status IN ('FAILED', 'RETRY') AND o.error_group <> '' AS leaves,\n            n.site_id::text AS new_scope, n.status AS new_state, n.error_group AS new_group,\n            n.provider_error_code AS new_code, n.last_error AS new_message,\n            o.site_id::text AS old_scope, o.status AS old_state, o.error_group AS old_group,\n            o.provider_error_code AS old_code, o.last_error AS old_message, o.updated_at AS failed_at\n          FROM new_rows n JOIN old_rows o ON o.id = n.id\n          WHERE (n.status, n.error_group, n.site_id::text) IS DISTINCT FROM (o.status, o.error_group, o.site_id::text)\n        ), expected AS (\n          INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n          SELECT 'adjustment', new_scope, 'EXPECTED_FAILURE', 0, count(*), now() FROM changed\n          WHERE comes AND (old_state, new_state, new_code) IN (('RETRY', 'FAILED', 'OVERTAKEN'), ('QUEUED', 'FAILED', 'OVERTAKEN'), ('PROCESSING', 'FAILED', 'MORE_RECENT_RESTATEMENT_FOUND'), ('QUEUED', 'FAILED', 'MORE_RECENT_RESTATEMENT_FOUND'), ('RETRY', 'FAILED', 'ORIGINAL_NOT_UPLOADED'), ('QUEUED', 'FAILED', 'ORIGINAL_NOT_UPLOADED')) GROUP BY new_scope\n        ), reopened AS (\n          INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)\n          SELECT 'adjustment', old_scope, 'REOPENED_FAILURE', 0, count(*), date_trunc('hour', failed_at) FROM changed\n          WHERE leaves AND old_state IN ('FAILED') AND (new_state <> old_state OR NOT comes) AND old_code NOT IN ('OVERTAKEN', 'MORE_RECENT_RESTATEMENT_FOUND', 'ORIGINAL_NOT_UPLOADED')\n          GROUP BY old_scope, date_trunc('hour', failed_at)\n        )\n        INSERT INTO lock_errordelta\n          (queue, scope, state, error_group, code, shape, change, entered, created_at)\n        SELECT 'adjustment', scope, state, error_group, min(code), lock_error_shape(min(message)),\n          sum(change), sum(entered), now()\n        FROM (\n          SELECT new_scope AS scope, new_state AS state, new_group AS error_group, new_code AS code,\n            new_message AS message, 1 AS change,\n            CASE WHEN leaves AND (new_scope, new_group) = (old_scope, old_group) THEN 0 ELSE 1 END AS entered\n          FROM changed WHERE comes\n          UNION ALL\n          SELECT old_scope, old_state, old_group, old_code, old_message, -1, 0 FROM changed WHERE leaves\n        ) AS changes GROUP BY scope, state, error_group\n      $errors$;\n    END IF;\n    RETURN NULL;\n", hash='245214139ddfc70cf4f6ce9155d950280b7bceb0', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_errors_5c7a3', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='ociqueue_adjustment', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='forget_errors', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    EXECUTE $errors$\n      INSERT INTO lock_errordelta (queue, scope, state, error_group, code, shape, change, entered, created_at)\n      SELECT 'adjustment', o.site_id::text, o.status, o.error_group, min(o.provider_error_code), lock_error_shape(min(o.last_error)),\n        -count(*), 0, now()\n      FROM old_rows o WHERE o.status IN ('FAILED', 'RETRY') AND o.error_group <> '' GROUP BY o.site_id::text, o.status, o.error_group\n    $errors$;\n    RETURN NULL;\n", hash='9e094b3ae665cd4c9461f0b2f9b30ea7dad7f8cf', level='STATEMENT', operation='DELETE', pgid='pgtrigger_forget_errors_70e83', referencing='REFERENCING OLD TABLE AS old_rows ', table='ociqueue_adjustment', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='claim_allowed', sql=pgtrigger.compiler.UpsertTriggerSql(condition="WHEN (NEW.status = 'PROCESSING' AND OLD.status <> 'PROCESSING')", func="\n    IF NEW.is_overtaken OR NOT EXISTS (\n      SELECT FROM offline_conversion_queue WHERE id = NEW.original_id AND status = 'COMPLETED'\n    ) THEN\n      RAISE EXCEPTION USING ERRCODE = 'check_violation',\n        MESSAGE = format('adjustment %s cannot be claimed', NEW.id),\n        HINT = 'Its conversion must be COMPLETED, and no newer adjustment may exist.';\n    END IF;\n    RETURN NEW;\n", hash='c5b6745b05e1f900945a4f0b17bdbc4acd158691', operation='UPDATE', pgid='pgtrigger_claim_allowed_e7b84', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='entry_allowed', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    IF EXISTS (\n      SELECT FROM ociqueue_adjustment WHERE original_id = NEW.original_id\n        AND (kind = 'RETRACTION' OR adjusted_at >= NEW.adjusted_at)\n    ) THEN\n      RAISE EXCEPTION USING ERRCODE = 'check_violation',\n        MESSAGE = format('conversion %s cannot be adjusted at %s', NEW.original_id, NEW.adjusted_at),\n        HINT = 'Adjustments of a conversion follow each other in time, and nothing follows a retraction.';\n    END IF;\n    RETURN NEW;\n", hash='a98c76bfeb52ee3414a97b2d3b40b9d97bb11684', operation='INSERT', pgid='pgtrigger_entry_allowed_7c993', table='ociqueue_adjustment', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='record_on_original_added', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n    SELECT 'conversion', n.original_id, 'ADJUSTMENT_ADDED', c.status, c.status,\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user), coalesce(current_setting('kilit.reason', true), ''),\n      jsonb_strip_nulls(jsonb_build_object('adjustment', 'adj_' || n.id, 'kind', n.kind, 'value', n.value,\n        'currency', nullif(n.currency, ''), 'code', nullif(n.provider_error_code, ''))), now()\n    FROM new_rows n JOIN offline_conversion_queue c ON c.id = n.original_id ;\n    RETURN NULL;\n", hash='8fa3f3c8e6ae107dde003978397fac5ff7a5d302', level='STATEMENT', operation='INSERT', pgid='pgtrigger_record_on_original_added_bb02c', referencing='REFERENCING NEW TABLE AS new_rows ', table='ociqueue_adjustment', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='adjustment',
            trigger=pgtrigger.compiler.Trigger(name='record_on_original_moved', sql=pgtrigger.compiler.UpsertTriggerSql(func="\n    INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)\n    SELECT 'conversion', n.original_id, 'ADJUSTMENT_' || n.status, c.status, c.status,\n      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user), n.last_error,\n      jsonb_strip_nulls(jsonb_build_object('adjustment', 'adj_' || n.id, 'kind', n.kind, 'value', n.value,\n        'currency', nullif(n.currency, ''), 'code', nullif(n.provider_error_code, ''))), now()\n    FROM new_rows n JOIN old_rows o ON o.id = n.id JOIN offline_conversion_queue c ON c.id = n.original_id WHERE n.status IN ('UPLOADED', 'COMPLETED', 'FAILED') AND n.status <> o.status;\n    RETURN NULL;\n", hash='ecb900933af0a4f86b9afa4b67c7676ab887f5c8', level='STATEMENT', operation='UPDATE', pgid='pgtrigger_record_on_original_moved_1f24a', referencing='REFERENCING OLD TABLE AS old_rows  NEW TABLE AS new_rows ', table='ociqueue_adjustment', when='AFTER')),
        ),
        migrations.AddConstraint(
            model_name='uploadsummary',
            constraint=models.UniqueConstraint(fields=('site', 'upload_date', 'action_id', 'client'), name='one_summary_per_day_action_and_client'),
        ),
        migrations.AddIndex(
            model_name='conversionkey',
            index=models.Index(models.F('site'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('source_key'), name='text_pattern_ops'), name='key_source_key_prefix'),
        ),
        migrations.AddIndex(
            model_name='conversionkey',
            index=models.Index(models.F('site'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('order_id'), name='text_pattern_ops'), name='key_order_id_prefix'),
        ),
        migrations.AddIndex(
            model_name='conversionkey',
            index=models.Index(models.F('site'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Lower('click_id'), name='text_pattern_ops'), name='key_click_id_prefix'),
        ),
        migrations.AddIndex(
            model_name='conversionkey',
            index=models.Index(condition=models.Q(('hashed_email', ''), _negated=True), fields=['hashed_email'], name='key_hashed_email'),
        ),
        migrations.AddIndex(
            model_name='conversionkey',
            index=models.Index(condition=models.Q(('hashed_phone', ''), _negated=True), fields=['hashed_phone'], name='key_hashed_phone'),
        ),
        migrations.AddConstraint(
            model_name='conversionkey',
            constraint=models.UniqueConstraint(condition=models.Q(('source_key__isnull', False)), fields=('site', 'action', 'source_key'), name='one_key_per_source_key'),
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
        migrations.RunSQL(JOB_IDS, "DROP SEQUENCE ociqueue_upload_job_id"),
        migrations.RunSQL(ONE_REPLACEMENT, migrations.RunSQL.noop),
        *(migrations.RunSQL(f"ALTER TABLE {table} SET ({options})", migrations.RunSQL.noop) for table, options in STORAGE.items()),
    ]
