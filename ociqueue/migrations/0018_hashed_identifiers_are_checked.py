from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # the indexes are built beside those who write

    dependencies = [
        ('ociqueue', '0017_hashed_identifiers'),
    ]

    operations = [
        ValidateConstraint(
            model_name='conversion',
            name='conversion_has_one_click_id_or_hash',
        ),
        ValidateConstraint(
            model_name='conversion',
            name='conversion_hashes_are_hashes',
        ),
        AddIndexConcurrently(
            model_name='conversion',
            index=models.Index(condition=models.Q(('hashed_email', ''), _negated=True), fields=['hashed_email'], name='conversion_of_hashed_email'),
        ),
        AddIndexConcurrently(
            model_name='conversion',
            index=models.Index(condition=models.Q(('hashed_phone', ''), _negated=True), fields=['hashed_phone'], name='conversion_of_hashed_phone'),
        ),
    ]
