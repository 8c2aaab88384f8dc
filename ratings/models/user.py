from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """An account: somebody who signs in. What the boards show is a Player."""
