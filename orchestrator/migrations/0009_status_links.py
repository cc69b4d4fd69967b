from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orchestrator", "0008_papers_of_customers"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="status_link",
            field=models.SmallIntegerField(
                db_default=0, default=0, help_text="The last one; below 0 it is withdrawn."
            ),
        ),
    ]
