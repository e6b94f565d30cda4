"""Twenty texts with and twenty without a secret, written before the rules for named values and not read for them."""

from base64 import b64encode
from typing import Final

from tests.masking.fakes import BASE32, BASE64, HEX, LETTERS, URL_SAFE, fake, hidden

APART_WITH_SECRETS: Final = (
    hidden("I called it with cstp_" + fake(12, HEX, "a1") + "_@@ and got a 403.", fake(64, HEX, "a1")),
    hidden("Kennwort: @@", "Mur" + "insel-77"),
    hidden("пароль от базы: @@", "zima" + "2041moroz"),
    hidden("数据库密码：@@", "Xian" + "9041gu"),
    hidden("La contraseña es @@, no la compartas", "Torre" + "molinos_81"),
    hidden("__Password__: `@@`", "uhu" + "7turm"),
    hidden("| user | app |\n|---|---|\n| password | @@ |", "Vo" + "gel,nest4"),
    hidden("FTP_PASSWORD=@@", "wetter" + "hexe"),
    hidden('db = connect(host="db", password="@@")', "$" + "ilber#birke"),
    hidden("smtp_password: @@", "%" + "Fx7-grün"),
    hidden("password = [masked: nothing] @@", "Lo" + "tus7Blatt9Kai"),
    hidden("mongo_pw: @@", "Ky8" + "exampleTq41Zu7"),
    hidden('{"registry.example.com": {"auth": "@@"}}', b64encode(b"robot:Tann" + b"enzapfen55").decode()),
    hidden("db.example.com:5432:shop:reports:@@", "Quark" + "tasche8"),
    hidden(
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: jump host\nPublic-Lines: 2\n"
        f"{fake(64, BASE64, 'pub')}\n{fake(40, BASE64, 'pub')}\nPrivate-Lines: 1\n@@\nPrivate-MAC: {fake(64, HEX)}",
        fake(48, BASE64, "a15"),
    ),
    hidden(
        "the log stops here:\n-----BEGIN EC PRIVATE " + f"KEY-----\n{fake(64, BASE64, 'a16')}\n@@",
        fake(11, BASE64, "a16"),
    ),
    hidden("creds: AKIA" + fake(16, BASE32, "a17") + " / @@ (eu-west-1)", fake(40, BASE64, "a17")),
    hidden("session: @@", "eyJhbGciOiJSUzI1NiJ9.eyJ" + fake(5200, URL_SAFE, "a18") + "." + fake(342, URL_SAFE, "a18")),
    hidden('api_token: "@@"', fake(6100, LETTERS, "a19")),
    hidden('the door opens with {"pin": @@}', "5820" + "17"),
)
APART_WITHOUT_SECRETS: Final = (
    f"The session token {fake(40, HEX, 'b1')} of the build is a commit.",
    "token 5f0c9a3e-7d21-4b68-9f57-2b1c0d9e8a76 was seen twice",
    f"key dec_{fake(16, HEX, 'b3')} is taken",
    "the access token: config/tokens/service-2025.yaml",
    "private_key ../deploy/keys/server-2023-rotated.pem",
    "signing-key: ~/keys/release_signing_2025.asc",
    "secret-key: redis-7.2.4-bookworm1",
    "access key review-2027-03-calendar",
    "api_key = load_api_key_for_region_2(region)",
    "secret = self.settings.secret_v2_name",
    "password = form.cleaned_data2.get('x')",
    "the passphrase was rotated-2025-10-03 by the on-call",
    "Passwort zu Abschnitt7 steht im Handbuch",
    "Password: at-least-16-letters",
    "Password rotate90d policy is on",
    "token count: 98765432109876543210",
    "pip install git+ssh://git:release-2025-09@git.example.com/tool.git",
    f"public_key: {fake(88, BASE64, 'b18')}",
    "| token | number of words |\n| key | name of the member |\n| password | never stored |",
    'labels = {"password": "Passwort", "token": "Zugangscode", "secret": "Geheimnis"}',
)
