"""What vendors' requests and answers say, without touching them; standard library only."""
