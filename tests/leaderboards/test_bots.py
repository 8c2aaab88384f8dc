import pytest

from leaderboards import bots as page_of_bots
from ratings.models import Player, Rating, User
from ratings.players import create_bot
from ratings.roster import retire_player
from tests.leaderboards.html import parse
from tests.ratings.builders import open_game
from tests.ratings.test_bots import rated_bot

URL = "/bots/"


@pytest.fixture
def games(db):
    return [open_game(slug) for slug in ("brisca", "tute", "cinquillo")]


def sections(page):
    return {
        section.one("h2").text: section
        for section in page.all("section")
        if section.all("dl", class_="facts") or section.all("ul", class_="bots")
    }


def test_groups_show_what_is_meant_and_what_is(client, games, source):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(950, 10, True), tute=(1150, 40, True))
    rated_bot(source, "bot-b", difficulty="hard", brisca=(1400, 3, True))

    found = sections(parse(client.get(URL)))

    assert list(found) == ["Easy", "Medium", "Hard"]
    assert found["Easy"].one("dl", class_="facts").text == (
        "Meant to have 900–1,100 Elo Today 950–1,150 Elo"
    )
    assert "Meant to have 1,100–1,300 Elo" in found["Medium"].text
    assert "There is no bot of this difficulty yet." in found["Medium"].text
    assert found["Hard"].one("dl", class_="facts").text == (
        "Meant to have 1,400–1,800 Elo Today no bot has played enough"
    )


def test_bot_outside_its_band_is_marked_in_words(client, games, source):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(899.4, 10, True), tute=(1101, 40, True),
              cinquillo=(1100, 40, True))  # fmt: skip
    rated_bot(source, "bot-b", difficulty="easy", brisca=(1300, 9, True), tute=(700, 40, False))

    one, other = parse(client.get(URL)).all("li", class_="bot")

    assert one.one("p", class_="outside").text == ("Below its band: Brisca; above its band: Tute")
    assert other.all("p", class_="outside") == []


def test_band_itself_is_inside(client, games, source):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(899.5, 10, True), tute=(1100.4, 9, True))

    assert parse(client.get(URL)).all("p", class_="outside") == []


def test_ratings_lead_to_the_games(client, games, source):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(950, 10, True), tute=(1000, 2, True))

    [bot] = parse(client.get(URL)).all("li", class_="bot")

    assert [(div.text, [a.attributes["href"] for a in div.all("a")])
            for div in bot.one("dl").all("div")] == [
        ("Brisca 950", ["/players/bot-a/brisca/"]),
        ("Tute 1,000 provisional", ["/players/bot-a/tute/"]),
        ("Cinquillo not rated", []),
        ("Tute Subastado not rated", []),
        ("Siete y Media not rated", []),
    ]  # fmt: skip


def test_maker_is_named(client, games, source):
    account = User.objects.create(username="secret-login")
    Player.objects.create(handle="ana", handle_key="ana", handle_skeleton="ana", name="Ana",
                          owner=account)  # fmt: skip
    nobody = User.objects.create(username="other-login")
    house = create_bot(handle="bot-a", name="bot-a", difficulty="easy", source=source)
    house.is_house = True
    house.save()
    for handle, owner in (("bot-b", account), ("bot-c", nobody)):
        bot = create_bot(handle=handle, name=handle, difficulty="easy", source=source)
        bot.is_house = False
        bot.save()
        Player.objects.filter(pk=bot.pk).update(owner=owner)

    response = client.get(URL)
    makers = [div.one("p").text for div in parse(response).all("div", class_="bot-head")]

    assert makers == ["bot of the house", "Author: Ana", "author unknown"]
    assert b"login" not in response.content


def test_retired_bots_are_left_out_and_those_without_difficulty_come_last(client, games, source):
    retired = create_bot(handle="bot-a", name="bot-a", difficulty="easy", source=source)
    retire_player(player=retired.player)
    rated_bot(source, "bot-b", difficulty="", brisca=(2500, 30, True))

    found = sections(parse(client.get(URL)))

    assert list(found) == ["Easy", "Medium", "Hard", "Without a difficulty"]
    assert [h3.text for h3 in found["Without a difficulty"].all("h3")] == ["bot-b"]
    assert found["Easy"].all("li", class_="bot") == []


def test_many_bots_are_cut_and_it_says_so(client, games, source, monkeypatch):
    monkeypatch.setattr(page_of_bots, "MOST_LISTED", 2)
    for number in range(5):
        create_bot(handle=f"bot-{number}", name=f"bot-{number}", difficulty="easy", source=source)

    easy = sections(parse(client.get(URL)))["Easy"]

    assert [h3.text for h3 in easy.all("h3")] == ["bot-0", "bot-1"]
    assert "And 3 more: the boards list them all." in easy.text


def test_queries_do_not_grow_with_the_bots(client, games, source, django_assert_num_queries):
    rated_bot(source, "bot-a", difficulty="easy", brisca=(950, 10, True))
    with django_assert_num_queries(5):
        client.get(URL)

    for number in range(30):
        rated_bot(source, f"bot-{number}", difficulty="hard", brisca=(1500, number + 1, True))

    with django_assert_num_queries(5):
        client.get(URL)


def test_page_changes_with_a_bot_that_has_no_rating(client, games, source):
    etag = client.get(URL)["ETag"]
    assert client.get(URL, headers={"If-None-Match": etag}).status_code == 304

    create_bot(handle="bot-a", name="bot-a", difficulty="easy", source=source)

    assert client.get(URL, headers={"If-None-Match": etag}).status_code == 200
    assert Rating.objects.count() == 0
