from cognition_engines.ingest import transcripts


def _is_transcript(text: str) -> bool:
    return transcripts.read("a.txt", text) is not None


def test_a_long_file_of_colons_takes_no_time() -> None:
    for line in ("a " * 50 + ":", "[10:15] " * 20, "a: " * 20, "A (b): x"):
        _is_transcript(f"{line}\n" * 20_000)
