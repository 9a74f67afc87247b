"""What a scale may say."""
