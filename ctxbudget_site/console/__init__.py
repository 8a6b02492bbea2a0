"""The frame of the browser console: sign-in, navigation, theme and what every page shares."""
