from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    operations = [migrations.CreateModel("Shelf", [("id", models.BigAutoField(primary_key=True, serialize=False))])]
