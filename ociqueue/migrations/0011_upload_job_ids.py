from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ociqueue", "0010_uploaded_is_checked")]

    operations = [
        migrations.RunSQL(
            # Google takes job ids from 1 to 2³¹ − 1.
            "CREATE SEQUENCE ociqueue_upload_job_id AS integer MINVALUE 1 CYCLE",
            "DROP SEQUENCE ociqueue_upload_job_id",
        )
    ]
