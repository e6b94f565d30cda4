"""Sign-in of visitors: a token pasted, kept, wrong, expired, revoked or narrow."""

import re
from collections.abc import Callable
from datetime import timedelta

from playwright.sync_api import expect

from cstp_server.tokens import create_token, revoke_token
from tests.serving import Serving
from tests.ui.visits import EVERYTHING, Visits, base, go


def test_a_pasted_token_lasts_for_its_tab_through_a_reload_until_signing_out(library: Serving, visits: Visits) -> None:
    page = visits.page()
    page.goto(f"{base(library)}/ui/")
    expect(page.get_by_label("Token")).to_be_focused()
    page.get_by_label("Token").fill(library.token(**EVERYTHING))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")
    assert "cstp_" not in page.evaluate("document.cookie + JSON.stringify({...localStorage})")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")
    other = visits.page()  # another tab of the same window
    other.goto(f"{base(library)}/ui/")
    expect(other.get_by_label("Token")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()


def test_the_expected_paste_is_explained_and_other_texts_are_refused_without_a_call(
    library: Serving, visits: Visits
) -> None:
    page = visits.page()
    page.goto(f"{base(library)}/ui/")
    token = page.get_by_label("Token")
    expect(token).to_have_accessible_description(re.compile(r"begins with cstp_.*cstp token create --agent NAME"))
    for text, answer in {
        f"export CSTP_TOKEN={library.token()}": "Paste it alone",
        f"{base(library)}/ui/#code=abc": "open it in the address bar",
    }.items():
        token.fill(text)
        token.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text(answer)
        expect(token).to_be_focused()


def test_a_wrong_or_expired_token_is_refused_in_words(library: Serving, visits: Visits) -> None:
    visits.expected.append("401")
    _, ended = create_token(library.settings.tokens_path, "late", lifetime=timedelta(milliseconds=1))
    page = visits.page()
    page.goto(f"{base(library)}/ui/")
    for token in ("cstp_000000000000_nothing", ended):
        page.reload()
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("wrong, expired or revoked")
        expect(page.get_by_label("Token")).to_be_focused()


def test_a_token_revoked_meanwhile_leads_back_to_signing_in(library: Serving, visits: Visits) -> None:
    visits.expected.append("401")
    token = library.token(**EVERYTHING)
    page = visits.signed_in(library, "decisions", token)
    revoke_token(library.settings.tokens_path, token.split("_")[1])
    page.get_by_role("link", name="Knowledge").click()
    expect(page.get_by_role("alert")).to_contain_text("not accepted")
    expect(page.get_by_label("Token")).to_be_visible()


def test_a_narrow_token_sees_its_view_and_no_action(library: Serving, visits: Visits) -> None:
    garden = {"confidence": 0.5, "project": "garden"}
    library.ask("recordDecision", decision="Paint the shed green", **garden)
    library.ask("recordDecision", decision="Sell the secret shed", sensitivity="highly_sensitive", **garden)
    library.caught_up()
    page = visits.signed_in(library, "decisions", library.token(projects=("garden",)))
    expect(page.locator(".row")).to_have_count(1)
    expect(page.get_by_role("status").first).to_have_text("1 decision")
    page.get_by_role("link", name="Paint the shed green").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Paint the shed green")
    expect(page.get_by_text("need a token with the scopes")).to_be_visible()
    expect(page.get_by_role("button", name="Forget")).to_have_count(0)
    go(page, "activity")
    expect(page.get_by_text("admin").first).to_be_visible()


def test_a_visitor_by_link_stays_after_a_reload(library: Serving, visits: Visits, link: Callable[..., str]) -> None:
    page = visits.page()
    page.goto(f"{base(library)}/ui/#code={link(library)}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")
    assert "code" not in page.url
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")


def test_a_link_works_in_an_open_tab(library: Serving, visits: Visits, link: Callable[..., str]) -> None:
    page = visits.page()
    page.goto(f"{base(library)}/ui/")
    expect(page.get_by_label("Token")).to_be_visible()
    page.evaluate("code => { location.hash = '#code=' + code }", link(library))
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")
    assert "code" not in page.url


def test_a_used_link_leaves_a_session(library: Serving, visits: Visits, link: Callable[..., str]) -> None:
    visits.expected += ["401", "404"]  # and no favicon of another page
    code = link(library)
    visits.page().goto(f"{base(library)}/ui/#code={code}")
    page = visits.signed_in(library, "decisions")
    page.goto(f"{base(library)}/healthz")
    page.goto(f"{base(library)}/ui/#code=wrong-{code}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Decisions")
