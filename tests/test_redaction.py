"""Secrets do not leave the machine."""

import json

import pytest

from pytest_agentbench.redaction import FORMS, Redactor, found

A = "a1B2" * 12
#: One text of each form, put together so that this file holds none.
SAMPLES = {
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{A}\n-----END RSA PRIVATE KEY-----",
    "model provider key": f"sk-{A}",
    "GitHub token": f"ghp_{A}",
    "GitLab token": f"glpat-{A[:20]}",
    "AWS key id": "AKIA" + "Q7" * 8,
    "Google key": f"AIza{A[:35]}",
    "Slack token": f"xoxb-{A[:20]}",
    "Hugging Face token": f"hf_{A[:34]}",
    "npm token": f"npm_{A[:36]}",
    "JSON web token": f"eyJ{A[:20]}.eyJ{A[:20]}.{A[:20]}",
    "bearer token": A[:24],
    "password in a URL": "hunter-2-hunter",
}
AROUND = {"bearer token": "Authorization: Bearer {}", "password in a URL": "https://bot:{}@x/y"}


@pytest.mark.parametrize("kind", SAMPLES)
def test_each_form_is_found_alone_in_text_and_in_json(kind: str) -> None:
    text = AROUND.get(kind, "before {} after").format(SAMPLES[kind])
    (secret,) = found(text)
    assert (secret.kind, text[secret.start : secret.end]) == (kind, SAMPLES[kind])
    clean = Redactor().text(text)
    assert clean == AROUND.get(kind, "before {} after").format(f"[redacted: {kind}]")
    assert Redactor().value({"a": [text, 1, None]}) == {"a": [clean, 1, None]}
    assert json.loads(Redactor().json({"a": [text, 1]})) == {"a": [clean, 1]}
    inside = json.dumps({"a": text, "b": "rest"})
    assert json.loads(Redactor().text(inside))["b"] == "rest"


def test_every_form_has_a_sample() -> None:
    assert {kind for kind, _, _ in FORMS} == set(SAMPLES)


def test_what_only_looks_alike_stays() -> None:
    text = "sk-learn, task-based, ghp_short, AKIA, Bearer of news, https://x:80/a@b, eyJ.eyJ.x"
    assert list(found(text)) == []
    assert Redactor().text(text) is text


def test_known_values_go_wherever_they_stand() -> None:
    redactor = Redactor.of(
        {"SHOP_API_KEY": "plain words 1", "EDITOR": "plain words 2", "PIN_TOKEN": "1234"},
        "/home/amina",
        "amina",
    )
    said = "plain words 1; plain words 2; 1234; /home/amina/x; /home/aminata; /Users/amina/y"
    assert redactor.text(said) == (
        "[redacted: SHOP_API_KEY]; plain words 2; 1234; ~/x; /home/aminata; /Users/user/y"
    )
    assert redactor.data(b"\xff /home/amina") == b"\xff ~"


def test_a_value_without_secrets_is_the_same_object() -> None:
    value = {"a": ["text that is long enough", {"b": 1.5}], "c": None}
    assert Redactor.of({}, "/home/amina", "amina").value(value) is value


def test_a_known_value_is_found_however_json_writes_it() -> None:
    redactor = Redactor.of({"SHOP_API_KEY": 'say "x\\y"\nü'}, "", "")
    text = redactor.json({"a": 'they say "x\\y"\nü!'})
    assert json.loads(text) == {"a": "they [redacted: SHOP_API_KEY]!"}
    value = {"a": "nothing to see", "b": [1.5, None]}
    assert redactor.json(value) == json.dumps(value)


def test_keys_of_json_are_texts_too() -> None:
    assert Redactor((("word", "~"),)).value({"word": {"word": 1}}) == {"~": {"~": 1}}
