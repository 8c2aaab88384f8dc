from django.urls import URLPattern

app_name = "leaderboards"

urlpatterns: list[URLPattern] = []
