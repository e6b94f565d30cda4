"""Texts with and without a secret, of kinds missed or masked by earlier rules; read for the present rules."""

from base64 import b64encode
from typing import Final

from tests.masking.fakes import BASE32, BASE64, DASH, DIGITS, HEX, LETTERS, LOWER, URL_SAFE, fake, hidden


def _login(text: str) -> str:
    return b64encode(text.encode()).decode()


ODD_WITH_SECRETS: Final = (
    # tokens of this server, and long tokens
    hidden("please use cstp_" + fake(12, HEX, "t1") + "_@@ for the shop agent", fake(64, HEX, "t1")),
    hidden("curl answered 401 to cstp_" + fake(12, HEX, "t2") + "_@@.", fake(64, HEX, "t2")),
    hidden("TOKEN=@@", fake(5000, URL_SAFE, "l1")),
    hidden(
        "id token: @@ (of the test realm)",
        "eyJraWQiOiJhYmMifQ.eyJ" + fake(7000, URL_SAFE, "l2") + "." + fake(86, LETTERS, "l2"),
    ),
    hidden("It sent @@, then failed", "eyJhbGciOiJFUzI1NiJ9.eyJ" + fake(120, LETTERS) + "." + fake(86, LETTERS, "l3")),
    hidden("client_secret: '@@'", fake(9000, LETTERS, "l4")),
    hidden("pypi-" + "AgEIcHlwaS5vcmc@@ was in the history", fake(6000, URL_SAFE, "l5")),
    # passwords with blanks
    hidden('export DB_PASS="@@"', "Wint3r Rose"),
    hidden('password: "@@"', "Ha7bour Q9x"),
    # pairs and blocks
    hidden("AKIA" + fake(16, BASE32, "p1") + ":@@", fake(40, BASE64, "p1")),
    hidden("key AKIA" + fake(16, BASE32, "p2") + " and, on the next line,\n@@\nfor the bucket", fake(40, BASE64, "p2")),
    hidden("@@ goes with AKIA" + fake(16, BASE32, "p3"), fake(40, BASE64, "p3")),
    hidden(
        f"{DASH}BEGIN RSA PRIVATE KEY{DASH}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{fake(32, HEX)}\n\n"
        f"{fake(64, BASE64, 'c1')}\n@@",
        fake(40, BASE64, "c1"),
    ),
    hidden(f"{DASH}BEGIN OPENSSH PRIVATE KEY{DASH}\n{fake(70, BASE64, 'c2')}\n@@...", fake(9, BASE64, "c2")),
    hidden(
        "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: rsa-key\nPublic-Lines: 1\n"
        f"{fake(64, BASE64, 'c3')}\nPrivate-Lines: 2\n{fake(64, BASE64, 'c4')}\n@@\nPrivate-MAC: {fake(40, HEX)}",
        fake(52, BASE64, "c3"),
    ),
    hidden(
        f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: dsa\n@@\n{fake(20, BASE64)}\n"
        "---- END SSH2 ENCRYPTED PRIVATE KEY ----",
        fake(70, BASE64, "c5"),
    ),
    hidden(
        f'["{DASH}BEGIN PRIVATE KEY{DASH}", "@@", "{fake(30, BASE64)}=", "{DASH}END PRIVATE KEY{DASH}"]',
        fake(64, BASE64, "c6"),
    ),
    hidden(f"lines:\n  - {DASH}BEGIN PRIVATE KEY{DASH}\n  - {fake(64, BASE64)}\n  - @@", fake(64, BASE64, "c7")),
    # passwords in forms of their own
    hidden("**Password**: `@@`", "esel" + "Haus3"),
    hidden("- *admin password:* @@", "Kran" + "ich#dorf"),
    hidden("| password | @@ |", "Fuchs" + "bau-19"),
    hidden("| DB password | `@@` | staging |", "r0te" + "Ruebe"),
    hidden("POSTGRES_PASSWORD=@@", "sommer" + "regen"),
    hidden('"password": "@@",', "apfel" + "kuchen"),
    hidden("user: shop\npassword: @@\nport: 5432", "gurken" + "glas"),
    hidden("db_password: @@", "kuh" + "22x"),
    hidden("MYSQL_PASSWORD='@@'", "tau" + "ben"),
    hidden("login_password = @@", "$" + "onne27Mond"),
    hidden("PASSWORD=@@", "%" + "b4um_haus"),
    hidden("password: @@", "See,stern" + "8,Meer"),
    hidden("password: '@@'", "Igel,nest" + "; 12 Eulen"),
    hidden("the password is @@", "n0" + "exampleOfThis7"),
    hidden("password: [masked: password]@@", "Berg" + "ziege44"),
    hidden("pwd=[masked:y]@@ ./sync", "Wald" + "kauz91x"),
    hidden("password: [masked:none] @@", "Spat" + "zen-nest-7Q"),
    hidden('{"user": "app", "password": @@}', fake(9, DIGITS, "n1")),
    hidden('settings = {"pin": @@, "retries": 3}', "77" + "3902"),
    hidden('{"secret": @@}', fake(10, DIGITS, "n2")),
    # other languages
    hidden("Пароль: @@", "snegir" + "77"),
    hidden("密码：@@", "long" + "men88tea"),
    hidden("パスワード: @@", "sakura" + "_1987x"),
    hidden("Contraseña: @@", "caracol" + "-55"),
    hidden("mot de passe : @@", "Bis" + "cotte12"),
    hidden("Das Kennwort lautet @@", "Eich" + "horn_88"),
    hidden("Kennwort für das Konto von Jo: @@", "Dampf" + "lok33"),
    hidden("senha: @@", "papa" + "gaio21"),
    # files of programs
    hidden('{"auths": {"ghcr.io": {"auth": "@@"}}}', _login("ci-bot:Birne" + "44quitte")),
    hidden("*:5432:*:backup:@@", "Mango" + "saft17"),
    hidden("pg.internal:5432:orders:app:@@\n", fake(18, LETTERS, "f1")),
    hidden("env:\n  - name: DB_PASSWORD\n    value: @@", "Ofen" + "rohr22"),
    hidden("mongodb://app:@@@db/app", "an" + "examplePart19x"),
    hidden("bind_pw: @@", "Quell" + "wasser5"),
)
ODD_WITHOUT_SECRETS: Final = (
    # prose of scripts without blanks
    "他们都用同一个软件，1Password 现在必须在3年内变成10亿美元估值的公司，才能上市。",
    "このサービスではpassword 変更後24時間はログインできませんABC。",
    # ids
    f"token {fake(40, HEX, 'i1')} is the commit of the release",
    f"the session token {fake(40, HEX, 'i2')} was logged",
    "session token 1b4e28ba-2fa1-41d2-883f-0016d3cca427 expired",
    f"the key is dec_{fake(16, HEX, 'i4')}",
    f"api key dec_{fake(16, HEX, 'i5')} is the id of the decision about keys",
    f"token: art_{fake(16, HEX, 'i6')}",
    f"secret {fake(12, HEX, 'i7')} (short commit)",
    "access token: 6fa459ea-ee8a-3ca4-894e-db77e160355e",
    f"secret: sha256:{fake(64, HEX, 'i9')}",
    # paths and names
    "the secret: notes/secret-garden-2025.md",
    "client-key ./tls/client-2025-07.pem",
    "ssh-key: ~/.ssh/id_rsa_2025_work",
    "secret file /run/secrets/db_password_v2",
    "password: /etc/app/password-2026.txt",
    "auth_key=C:\\keys\\server-2026-01.key",
    "token-file: build/out/token_cache_v3.json",
    "private key server_2026_01_rsa4096.pem",
    "secret: vault/kv/team-7/database/creds",
    # words, tags and dates
    "api key rotation-2027-01-plan",
    "service_key: nginx-1.27.3-alpine3.20",
    "access_key: schedule-2026-q4-week48",
    "token: release-candidate-2026-11-28",
    "The password was rotated-2026-09-01",
    "Password change2fa screen",
    "Passwort zu Kapitel14 fehlt",
    "Passwort in Abschnitt12",
    "Password: maximum-64-characters",
    "Password: at-least-10-chars",
    "password: required",
    "Password: forgotten",
    "max tokens: 9876543210987654321",
    "context tokens = 123456789012345678",
    '{"password": "Passwort", "token": "Zugriffstoken"}',
    '{"password": "required|min:8", "secret": true, "pin": 4}',
    "| name | password | role |\n|---|---|---|",
    "| password | string | required |",
    "Пароль: минимум-12-символов",
    "密码：至少十二位",
    # code
    "token = fetch_token_for_tenant_42(request)",
    "password = getpass.getpass_v3('Password: ')",
    "api_key = settings.api_key_v2_live",
    "secret = data.secrets[0].value_2",
    "password = read_password2(path)",
    'password: str = ""',
    "token: Optional[str] = None",
    "if password != other_password2: raise ValueError",
    'if key in ("password", "username2", "token"): continue',
    # addresses and public keys
    "git+ssh://git:feature-12@git.example.org/tool.git",
    "ssh://git:release-2026@host.example.org/repo",
    f"public_key: {fake(64, BASE64, 'k1')}=",
    f"publicKey = '{fake(120, BASE64, 'k2')}'",
    "src/app.py:12:4:E501:line_too_long2",
    "password: [masked: password]",
    "token: [masked: github-pat], see the vault",
    f"the cache key {fake(32, LOWER + DIGITS, 'k5')} was evicted",
    f"X-Continuation-Token: {fake(40, LETTERS, 'k6')}",
    "ftp://anonymous:guest@example.org and http://user:password@proxy.example",
    'the field "auth": "c2ltcGxlLXRleHQtb25seQ==" is a label in base64',
    "password hashing: argon2id with m=19456",
    f"ETag token W/{fake(8, HEX, 'k8')}",
)
