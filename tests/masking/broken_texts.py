"""Texts with a broken token, a phrase of words or a value after an arrow, and similar texts."""

from typing import Final

from tests.masking.fakes import BASE32, DIGITS, HEX, LETTERS, URL_SAFE, fake, hidden, web_token


def _wide(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) for one in text)


SEED: Final = "ocean velvet copper lantern meadow puzzle orbit walnut ribbon thunder pencil harvest"
_WORDS: Final = "glacier teapot saddle mosaic"
_GITHUB: Final = "ghp_" + fake(36, LETTERS, "b0")
BROKEN_WITH_SECRETS: Final = (
    # escaped by Markdown
    hidden("Use ghp\\_@@ in the release job.", fake(36, LETTERS, "b1")),
    hidden("* github\\_pat\\_" + fake(22, LETTERS, "b2") + "\\_@@", fake(59, LETTERS, "b2")),
    hidden("the mirror has glpat\\-@@, read only", fake(20, LETTERS, "b3")),
    hidden("xoxb\\-" + fake(12, DIGITS, "b4") + "\\-" + fake(13, DIGITS, "b4") + "\\-@@", fake(24, LETTERS, "b4")),
    hidden('{"text": "sk\\\\-ant\\\\-api03\\\\-@@"}', fake(93, LETTERS, "b5") + "AA"),
    hidden("api\\_key: @@", fake(32, LETTERS, "b6")),
    # broken by invisible characters, by wide letters, by an end of a line
    hidden("token " + _GITHUB[:9] + "\u200b@@ of the bot", _GITHUB[9:]),
    hidden("it is " + _GITHUB[:4] + "\u2060@@", _GITHUB[4:]),
    hidden("npm_" + fake(17, LETTERS, "b7") + "\u00ad@@", fake(19, LETTERS, "b7")),
    hidden("pass\u200bword: @@", "Gr4nit" + "block!"),
    hidden("AKIA" + _wide(fake(8, BASE32, "b17")) + "@@ for the bucket", fake(8, BASE32, "b8")),
    hidden("鍵は@@です", _wide("ghp_" + fake(36, LETTERS, "b9"))),
    hidden("> login with " + _GITHUB[:22] + "\n> @@ today", _GITHUB[22:]),
    hidden("glpat-" + fake(8, LETTERS, "b10") + "\r\n  @@\r\nis the new one", fake(12, LETTERS, "b10")),
    hidden("the cookie was\n" + web_token("b11")[:33] + "\n@@", web_token("b11")[33:]),
    # values after arrows
    hidden("password -> @@", "W4lnuss" + "Eis"),
    hidden("admin / password → @@", "Kirsch" + "baum#7"),
    hidden("api_key --> @@", fake(32, LETTERS, "b12")),
    hidden("token ⇒ @@", fake(40, HEX, "b13")),
    hidden("'password' -> '@@'", "fisch" + "77"),
    # phrases of words
    hidden("seed phrase: @@", SEED),
    hidden("Recovery phrase of the old wallet: @@ (12 words)", SEED),
    hidden("MNEMONIC='@@' npx hardhat deploy", SEED + " " + SEED),
    hidden("my mnemonic is @@", SEED),
    hidden("**Seed phrase** → @@.", SEED),
    hidden("seed words:\n@@\n", "\n".join(f"{number}. {word}" for number, word in enumerate(SEED.split(), 1))),
    hidden('{"seedPhrase": "@@"}', SEED),
    hidden("passphrase: @@", _WORDS),
    hidden('ssh_passphrase = "@@"', _WORDS),
    hidden("the passphrase is `@@`", _WORDS),
    hidden("gpg passphrase: @@.", _WORDS.replace(" ", "-")),
    # shapes
    hidden("notion.Client(auth='@@')", "secret_" + fake(43, LETTERS, "b14")),
    hidden("pages are read with secret\\_@@ by the sync", fake(43, LETTERS, "b15")),
    hidden("It answered to @@ from the laptop", "sk-" + fake(48, LETTERS, "b16")),
)
BROKEN_WITHOUT_SECRETS: Final = (
    # ways to hash, references, numbers of tests
    "password = argon2id",
    "password=sha512",
    "password: bcrypt",
    "password_hash_secret: PBKDF2WithHmacSHA256",
    "secret: hmac-sha256",
    "password -> argon2id -> users.hash",
    "pass: by-value-3",
    "PASS: ISSUE-4711",
    "PASS: test_masks_17",
    "pass: 120/140",
    "token: #98765432109876543",
    "secret: arn:aws:secretsmanager:us-east-1:210987654321:secret:shop-db",
    "password: arn:aws:ssm:eu-west-1:123456789012:parameter/shop/db",
    '{"past": 5, "pass": 145440, "secret": 111678, "token": 84}',
    # arrows
    "token -> user, password -> hash2, key -> value",
    "def read(secret: str, token: str) -> Token12:",
    "password => step2",
    "the password → Kapitel12",
    "passphrase -> key derivation -> session key 256",
    # prose and labels after names of phrases
    "passphrase: the words that open the key",
    "Passphrase: enter it twice",
    "passphrase: ask Peter about access",
    "passphrase: encrypts private keys locally, with a salt",
    "the passphrase is kept somewhere very safe",
    "Seed phrase: twelve words that restore all of your coins, in order",
    "A mnemonic is a sentence that helps people remember things such as planets",
    "mnemonic: My very educated mother just served us nine pizzas",
    "recovery phrase: write down each word and store the paper far from home",
    # escapes, invisible characters and ends of lines
    "The value of `max\\_tokens\\_per\\_call` and `api\\_key\\_rotation\\_days` is in the file",
    "see sk\\_learn, hf\\_hub and ghp\\_ (a prefix)",
    "prefixes: ghp_\nglpat-\nsk-\nnpm_\nand others",
    "The tokens of GitHub begin with ghp_\nfollowed by letters and digits.",
    "import sk-\nlearn2026Classifiers",
    "familie \U0001f468\u200d\U0001f469\u200d\U0001f467 und \u2764\ufe0f",
    "パスワードは８文字以上１２８文字以下で、２０２６年から有効です",
    "می\u200cخواهم token را ببینم",
    "a^2 \\_ b\\-c\\.d: secret\\_sharing\\_scheme\\_2",
    "secret_" + "name_of_the_thing_in_kubernetes_that_holds_keys",
    f"sha secret_{fake(20, HEX, 'c1')} and secret_{fake(43, LETTERS, 'c2')[:30]}",
    f"image {fake(40, URL_SAFE, 'c3')}\n{fake(40, URL_SAFE, 'c4')}",
)
