from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('orchestrator', '0010_order_drafts'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='figures',
            field=models.JSONField(help_text='Areas, edges and amounts, fixed when the job was finished.', null=True),
        ),
    ]
