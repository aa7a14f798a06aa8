#!/usr/bin/env python3
"""The official OpenAI client against `tonnage sim`.

    pip install openai
    python3 tests/python/openai_stream.py target/release/tonnage

Starts the server on a free port, speaks to it as any user of the client would, and stops it. Says nothing and exits
with 0 if all is well; exits with 77 (skipped) where the client is not installed.
"""

import subprocess
import sys

try:
    import openai
except ImportError:
    print("skipped: the openai package is not installed", file=sys.stderr)
    sys.exit(77)


def start(tonnage):
    """The server and its URL, from the first line that it prints."""
    server = subprocess.Popen(
        [tonnage, "sim", "--profile", "8b-h100", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
    )
    url = server.stdout.readline().split()[-1]
    assert url.startswith("http://"), url
    return server, url


def chat_streams(client):
    stream = client.chat.completions.create(
        model="8b-h100",
        messages=[{"role": "user", "content": "Count the ships in the harbour."}],
        max_tokens=12,
        stream=True,
        stream_options={"include_usage": True},
        extra_body={"ignore_eos": True},
    )
    text, reasons, usage, chunks = "", [], None, 0
    for chunk in stream:
        chunks += 1
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasons += [choice.finish_reason] if choice.finish_reason else []
    assert len(text.split()) == 12, text
    assert reasons == ["length"], reasons
    assert usage.completion_tokens == 12 and usage.prompt_tokens == 6 + 4, usage
    assert usage.prompt_tokens_details.cached_tokens == 0, usage
    assert chunks == 1 + 12 + 1 + 1, chunks
    return text


def chat_comes_whole(client, streamed):
    answer = client.chat.completions.create(
        model="8b-h100",
        messages=[{"role": "user", "content": "Count the ships in the harbour."}],
        max_tokens=12,
        extra_body={"ignore_eos": True},
    )
    assert answer.choices[0].message.content == streamed
    assert answer.usage.total_tokens == 22, answer.usage


def thoughts_have_a_channel(client):
    stream = client.chat.completions.create(
        model="8b-h100",
        messages=[{"role": "user", "content": "Think."}],
        reasoning_effort="low",
        max_tokens=100,
        stream=True,
        extra_body={"ignore_eos": True},
    )
    deltas = [chunk.choices[0].delta for chunk in stream if chunk.choices]
    thoughts = [delta for delta in deltas if getattr(delta, "reasoning_content", None)]
    answer = [delta for delta in deltas if delta.content]
    assert (len(thoughts), len(answer)) == (64, 36), (len(thoughts), len(answer))


def needle_is_found(client):
    hay = "Ships go by. " * 200 + "The secret number for lantern is 4711. " + "Ships go by. " * 200
    answer = client.chat.completions.create(
        model="8b-h100",
        messages=[{"role": "user", "content": hay + "What is the secret number for lantern?"}],
    )
    assert answer.choices[0].message.content == "The secret number for lantern is 4711."
    assert answer.choices[0].finish_reason == "stop"


def completion_streams(client):
    stream = client.completions.create(model="8b-h100", prompt="Once upon a time", max_tokens=5, stream=True)
    text = "".join(choice.text for chunk in stream for choice in chunk.choices)
    assert len(text.split()) == 5, text


def models_are_listed(client):
    assert [model.id for model in client.models.list()] == ["8b-h100"]


def failures_are_the_clients_own_errors(client):
    def outcome(**options):
        try:
            client.with_options(max_retries=0).chat.completions.create(
                **{"model": "8b-h100", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5, **options}
            )
        except openai.APIError as error:
            return type(error).__name__
        return "ok"

    assert outcome() == "ok"
    assert outcome(model="gpt-9") == "NotFoundError"
    assert outcome(n=2) == "BadRequestError"
    assert outcome(extra_headers={"x-sim-fault": "status=429:1s"}) == "RateLimitError"
    assert outcome(extra_headers={"x-sim-fault": "reset"}) == "APIConnectionError"


def an_error_in_the_stream_is_raised(client):
    stream = client.chat.completions.create(
        model="8b-h100",
        messages=[{"role": "user", "content": "x"}],
        stream=True,
        extra_headers={"x-sim-fault": "error=object:2"},
    )
    tokens = 0
    try:
        for chunk in stream:
            tokens += bool(chunk.choices and chunk.choices[0].delta.content)
    except openai.APIError as error:
        assert "failed" in str(error), error
    else:
        raise AssertionError("the error went unnoticed")
    assert tokens == 2, tokens


def main():
    server, url = start(sys.argv[1] if len(sys.argv) > 1 else "target/release/tonnage")
    try:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="any", timeout=30)
        streamed = chat_streams(client)
        chat_comes_whole(client, streamed)
        thoughts_have_a_channel(client)
        needle_is_found(client)
        completion_streams(client)
        models_are_listed(client)
        failures_are_the_clients_own_errors(client)
        an_error_in_the_stream_is_raised(client)
    finally:
        server.terminate()
        server.wait(timeout=10)


if __name__ == "__main__":
    main()
