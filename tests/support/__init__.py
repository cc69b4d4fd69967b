"""What tests share: functions, constants, and fixtures that several packages use."""
