from django.db import migrations

# A claim is one statement, and a statement sees what was committed when it began. Each query of this function sees what
# was committed before that query: so a claim that waited for the lock counts the job of the claim it waited for.
RUNNING_JOBS = """
CREATE OR REPLACE FUNCTION pdf_running_jobs(in_turn boolean) RETURNS TABLE (owner_id integer, jobs bigint)
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
BEGIN
  IF in_turn THEN
    PERFORM pg_advisory_xact_lock(hashtext('pdfjobs.claim'));
  END IF;
  RETURN QUERY SELECT job.owner_id, count(*) FROM pdfjobs_pdfjob AS job WHERE job.status = 'running' GROUP BY job.owner_id;
END
$$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('pdfjobs', '0013_events_by_group'),
        ('workers', '0003_heartbeat_workers'),
    ]

    operations = [
        migrations.RunSQL(RUNNING_JOBS, "DROP FUNCTION pdf_running_jobs(boolean)"),
    ]
