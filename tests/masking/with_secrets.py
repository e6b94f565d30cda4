"""A hundred texts with a secret, as (text, secret); the first rules were tuned on every second text."""

from typing import Final

from tests.masking.fakes import BASE32, BASE64, DIGITS, HEX, LETTERS, LOWER, UPPER, URL_SAFE, fake, key_block, web_token

_WORD: Final = "S3rv" + "us-Koen1g!7"  # as chosen by a person


def _hidden(text: str, secret: str) -> tuple[str, str]:
    assert "@@" in text
    return text.replace("@@", secret), secret


WITH_SECRETS: Final = (
    # tokens of known shapes
    _hidden("We rotate the deploy key AKIA" + "@@ every 90 days, see the runbook.", fake(16, BASE32)),
    _hidden("[default]\naws_secret_access_key = @@\nregion = eu-central-1", fake(40, BASE64)),
    _hidden("curl -H 'Authorization: token @@' https://api.github.com/user", "ghp_" + fake(36)),
    _hidden("Use @@ for the release job, it can write packages.", "github_pat_" + fake(22) + "_" + fake(59)),
    _hidden('{"name": "ci", "env": {"GH": "@@"}, "retries": 3}', "ghs_" + fake(36)),
    _hidden("The mirror pulls with glpat-" + "@@ (read_repository).", fake(20, URL_SAFE)),
    _hidden(
        "slack:\n  bot: @@\n  channel: '#ops'",
        "xoxb-" + fake(12, DIGITS) + "-" + fake(13, DIGITS) + "-" + fake(24),
    ),
    _hidden(
        "post to @@ when it fails", f"https://hooks.slack.com/services/T{fake(8, UPPER)}/B{fake(8, UPPER)}/{fake(24)}"
    ),
    _hidden("stripe.api_key = '@@'  # live", "sk_" + "live_" + fake(24)),
    _hidden("I pasted the restricted key @@ into the dashboard of the shop.", "rk_" + "live_" + fake(99)),
    _hidden("maps: https://maps.googleapis.com/maps/api/js?key=@@&v=weekly", "AIza" + fake(35, URL_SAFE)),
    _hidden('{"type": "service_account", "private_key": "@@"}', key_block("PRIVATE KEY", 8, "\\n")),
    _hidden("OPENAI_API_KEY=@@", "sk-proj-" + fake(58, URL_SAFE) + "T3Blbk" + "FJ" + fake(58, URL_SAFE)),
    _hidden("The notebook still has @@ in its first cell.", "sk-" + fake(20) + "T3Blbk" + "FJ" + fake(20)),
    _hidden(
        "agent said: export ANTHROPIC_API_KEY=@@ and run it again", "sk-ant-" + "api03-" + fake(93, URL_SAFE) + "AA"
    ),
    _hidden("The failing request had this cookie: session=@@; path=/", web_token()),
    _hidden("//npm.example.org/:_authToken=@@\nalways-auth=true", "npm_" + fake(36)),
    _hidden("twine upload -u __token__ -p @@ dist/*", "pypi-" + "AgEIcHlwaS5vcmc" + fake(160, URL_SAFE)),
    _hidden(
        "DefaultEndpointsProtocol=https;AccountName=backups;AccountKey=@@;EndpointSuffix=core.windows.net",
        fake(86, BASE64) + "==",
    ),
    _hidden("client secret in Entra: @@, expires in May", "Ab1" + "8Q~" + fake(34)),
    _hidden("SENDGRID: @@", "SG." + fake(22, URL_SAFE) + "." + fake(43, URL_SAFE)),
    _hidden("from huggingface_hub import login\nlogin('@@')", "hf_" + fake(34, UPPER + LOWER)),
    _hidden("doctl auth init -t @@", "dop_v1_" + fake(64, HEX)),
    _hidden("The alert bot is 1234567890:" + "@@ on Telegram.", "AA" + fake(33, URL_SAFE)),
    _hidden("bot.run('@@')", "MTE" + fake(21) + ".G" + fake(5) + "." + fake(38, URL_SAFE)),
    _hidden("Webhook of the channel: https://discord.com/api/webhooks/" + fake(18, DIGITS) + "/@@", fake(68, URL_SAFE)),
    _hidden("shop token shpat_" + "@@ is used by the stock sync", fake(32, HEX)),
    _hidden("mailgun.client({username: 'api', key: '@@'})", "key-" + fake(32, HEX)),
    _hidden("MAILCHIMP_API_KEY: @@", fake(32, HEX) + "-us12"),
    _hidden("databricks configure --token @@", "dapi" + fake(32, HEX)),
    _hidden("vault login hvs." + "@@", fake(95, URL_SAFE)),
    _hidden('credentials "app.terraform.io" {\n  token = "@@"\n}', fake(14) + ".atlasv1." + fake(67, URL_SAFE)),
    _hidden("docker login -u me -p @@", "dckr_pat_" + fake(27, URL_SAFE)),
    _hidden("linear: @@ (personal key)", "lin_api_" + fake(40)),
    _hidden("Notion integration: ntn_" + "@@", fake(11, DIGITS) + fake(35)),
    _hidden("we call Groq with @@ from the worker", "gsk_" + fake(52)),
    _hidden("# key for backups\n@@", "AGE-" + "SECRET-KEY-1" + fake(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    _hidden("GRAFANA_SA=@@", "glsa_" + fake(32) + "_" + fake(8, HEX)),
    _hidden("NEW_RELIC_USER_KEY: @@", "NRAK-" + fake(27, UPPER + DIGITS)),
    _hidden("google oauth client secret @@", "GOCSPX-" + fake(28, URL_SAFE)),
    _hidden("gcloud printed the access token ya29." + "@@ in the log", fake(120, URL_SAFE)),
    _hidden("replicate.Client(api_token='@@')", "r8_" + fake(37)),
    _hidden("Jira: bot@example.com with @@", "ATATT3xFfGF0" + fake(171, URL_SAFE) + "=" + fake(8, HEX.upper())),
    _hidden("stripe listen --forward-to localhost; signing secret whsec_" + "@@", fake(32)),
    _hidden("The Perplexity key of the bot: @@.", "pplx-" + fake(48)),
    _hidden("twilio: sid AC" + fake(32, HEX, "sid") + ", TWILIO_AUTH_TOKEN=@@", fake(32, HEX)),
    _hidden("square: @@", "sq0csp-" + fake(43, URL_SAFE)),
    _hidden("figma export needs figd_" + "@@ in X-Figma-Token", fake(40, URL_SAFE)),
    _hidden("doppler run --token @@ -- make", "dp.pt." + fake(43)),
    _hidden("SENTRY_AUTH_TOKEN @@", "sntryu_" + fake(64, HEX)),
    # keys
    _hidden("Put this on the jump host:\n\n@@\n\nthen restart sshd.", key_block("OPENSSH PRIVATE KEY")),
    _hidden("server.key\n@@", key_block("RSA PRIVATE KEY", 25)),
    _hidden('"tls": {"key": "@@"}', key_block("EC PRIVATE KEY", 3, "\\n")),
    _hidden("Here is the signing key:\n@@", key_block("PGP PRIVATE KEY BLOCK", 12)),
    _hidden("> @@", key_block("ENCRYPTED PRIVATE KEY", 10, "\n> ")),
    _hidden("cut off by the chat:\n@@", key_block("RSA PRIVATE KEY", 4).rpartition("\n")[0]),
    # passwords and keys by their names
    _hidden('db:\n  user: app\n  password: "@@"\n  host: db.internal', _WORD),
    _hidden("POSTGRES_PASSWORD=@@", fake(18)),
    _hidden("export API_KEY=@@", fake(32)),
    _hidden('const client = new Api({ apiKey: "@@", region: "eu" });', fake(40)),
    _hidden('{"client_id": "web", "client_secret": "@@"}', fake(36, URL_SAFE)),
    _hidden("SECRET_KEY = 'django-insecure-@@'", fake(50, LETTERS + "!@#$%^&*(-_=+)")),
    _hidden("- old\n+    secret_key: @@\n     debug: false", fake(40)),
    _hidden("spring.datasource.password=@@", _WORD),
    _hidden("define('DB_PASSWORD', '@@');", fake(16, LETTERS + "!#%")),
    _hidden("<connection><user>app</user><password>@@</password></connection>", _WORD),
    _hidden("docker run -e MYSQL_ROOT_PASSWORD=@@ -d mysql:8", fake(14)),
    _hidden("the admin password is @@ until Friday", _WORD),
    _hidden("Das Passwort lautet: @@ (bitte nicht weitergeben)", _WORD),
    _hidden("secret_key_base: @@", fake(128, HEX)),
    _hidden("ENCRYPTION_KEY=@@", fake(64, HEX)),
    _hidden("PRIVATE_KEY=0x" + "@@ npx hardhat deploy", fake(64, HEX)),
    _hidden("machine git.example.com login deploy password @@", fake(20)),
    _hidden('$cred = ConvertTo-SecureString "@@" -AsPlainText -Force  # password', _WORD),
    _hidden('cfg := Config{APIKey: "@@", Timeout: 5}', fake(32)),
    _hidden("jwt_secret: '@@'", fake(32)),
    _hidden("auth_token = os.environ.get('T', '@@')", fake(40)),
    _hidden("kubectl create secret generic db --from-literal=password=@@", fake(20)),
    _hidden('variable "db_password" {\n  default = "@@"\n}', _WORD),
    _hidden("user: my api key is @@ can you test it?\nassistant: yes", fake(32, HEX)),
    # headers
    _hidden("GET /v1/me HTTP/1.1\nAuthorization: Bearer @@\nAccept: */*", fake(40)),
    _hidden('curl -H "Authorization: Basic @@" https://intern.example.com', fake(36, LETTERS) + "=="),
    _hidden("headers = {'X-API-Key': '@@'}", fake(32)),
    _hidden("fetch(url, {headers: {authorization: `Bearer @@`}})", web_token("header")),
    _hidden("< Set-Cookie: connect.sid=s%3A@@; HttpOnly", fake(32, URL_SAFE) + "." + fake(43)),
    _hidden("X-Vault-Token: s.@@", fake(24)),
    # addresses
    _hidden("DATABASE_URL=postgresql://app:@@@db.internal:5432/main", fake(20)),
    _hidden("git clone https://deploy:@@@git.example.com/team/app.git", fake(24)),
    _hidden("redis://:@@@cache.internal:6379/0 is the queue", fake(16)),
    _hidden("mongodb+srv://root:@@@cluster0.abcde.mongodb.net/?retryWrites=true", fake(16)),
    _hidden("amqp://worker:@@@rabbit:5672/%2f", _WORD.replace("!", "")),
    _hidden("Server=sql.internal;Database=shop;User Id=sa;Password=@@;", fake(16)),
    _hidden("jdbc:mysql://db:3306/shop?user=app&password=@@&useSSL=false", fake(16)),
    _hidden("https://api.example.com/v1/weather?api_key=@@&city=Wien", fake(32, HEX)),
    _hidden("https://files.blob.core.windows.net/c/b.zip?sv=2022-11-02&sr=b&sp=r&sig=@@", fake(43, LETTERS) + "%3D"),
    _hidden("otpauth://totp/Shop:me?secret=@@&issuer=Shop", fake(32, BASE32)),
    _hidden("sshpass -p '@@' ssh root@10.0.0.4 uptime", _WORD),
    _hidden("curl -u admin:@@ https://nexus.internal/repository", fake(20)),
    _hidden("We left smtp://mailer:@@@smtp.example.com:587 in the compose file.", fake(18)),
    _hidden("proxy = http://svc-proxy:@@@proxy.internal:3128", fake(15)),
)
