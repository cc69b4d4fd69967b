from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shelves", "0001_initial")]
    operations = [migrations.AddField("shelf", "label", models.TextField(null=True))]
