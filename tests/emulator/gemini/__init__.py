"""The local Gemini, seen through the SDK that production uses, unmodified."""
