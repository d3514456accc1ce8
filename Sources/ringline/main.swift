print("ringline")
