"""The app's end of the local API."""
