"""English words for comparing statements. "_" joins the words of a phrase, "=" the names of one thing."""

from typing import Final

from cognition_engines.indexes.keywords.language import ENGLISH_STOP_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = _words(f"{ENGLISH_STOP_WORDS} user always please everything use used also")
# Words of any subject.
GENERAL: Final = _words("""
adopt afternoon any anyone anywhere apply become belong call choose chose collect data do done enough evening every
everybody everyone everywhere exclusively get give go going handle happen hold keep lie like live look make manage
morning move need new now per perform pick place prefer provide put render run schedule send serve service set since
store system take want work write
""")
NO: Final = _words("no not never nothing none neither nor without cannot")
# Verbs and phrases that deny what they are about.
DENIALS: Final = _words("""
stop stops drop drops dropped remove removed delete deleted avoid avoids forbid forbids forbidden ban bans banned quit
reject rejects rejected disable disabled cancel cancelled abandon abandoned prohibit prohibited freeze frozen pause
paused suspend suspended refuse refused deny denied retire retired block blocks blocked exempt out_of get_rid turn_off
turned_off switch_off switched_off shut_down
""")
# Words before a rejected product.
REJECTING: Final = _words("instead rather than not replace replaces replacing drop remove without away")
LIMITING: Final = _words("only limited restricted unless exclusively solely")
# The choice stands between one of these words and a closing one.
OPENING: Final = _words("""
by with in on at per to through from via using as for into uses use choose chose pick picked adopt adopted prefer need
needs requires is are like
""")
CLOSING: Final = _words("after before when if because so that since while until and within during")
SAME: Final = """
email=mail docs=documentation auth=authentication=login db=database ci=build=built
deploy=deployment=release=ship=publish error=exception alert=page config=configuration=settings task=job
upload=uploaded delete=deletion=removal pay=payment review=sign=approve=approval=approving=approved
picture=image=photo theme=mode own=owner=responsible=responsibility=maintain write=written keep=kept send=sent
hold=held
"""
# Texts about different scopes have different subjects; ";" ends a group.
SCOPES: Final = """
production staging development=developer test=tests=testing sandbox; frontend=front backend=back mobile=app; android
ios; server client sdk; free paid
"""
# The answers to one question exclude each other; ";" ends a question.
ANSWERS: Final = """
postgres=postgresql=pgvector mysql=mariadb sqlite mongodb=mongo dynamodb cassandra cockroachdb redis=valkey memcached
firestore neo4j clickhouse bigquery snowflake redshift duckdb elasticsearch opensearch meilisearch algolia solr
typesense qdrant pinecone weaviate milvus cookie localstorage; s3=r2=minio local_disk=filesystem=file_system=disk nfs;
kafka rabbitmq sqs nats pulsar celery dramatiq sidekiq rq cron temporal airflow dagster prefect kinesis;
github_actions jenkins gitlab_ci circleci buildkite travis teamcity azure_pipelines; sentry rollbar bugsnag
honeybadger; prometheus datadog newrelic zabbix nagios cloudwatch; sendgrid ses mailgun postmark mailjet sparkpost
brevo; Go=golang python=django=flask=fastapi rust java kotlin typescript javascript ruby=rails php=laravel scala
elixir haskell; react=next vue=nuxt angular svelte=sveltekit solid htmx ember; django flask fastapi rails express
spring laravel; tailwind bootstrap sass css_modules; pytest unittest jest vitest mocha; cypress playwright selenium;
maven gradle bazel make; webpack vite esbuild rollup parcel; npm yarn pnpm bun; pip poetry uv pipenv conda; black ruff
prettier eslint biome flake8 pylint; mypy pyright; terraform=opentofu pulumi cloudformation; kubernetes=k8s nomad ecs
swarm docker_compose; vercel netlify heroku; aws=amazon azure gcp=google_cloud hetzner ovh digitalocean; vault
secrets_manager sops doppler bitwarden lastpass keepass; rest graphql grpc soap; json yaml toml xml csv protobuf avro
messagepack=msgpack parquet environment_variables; html markdown plain_text=plain pdf asciidoc json; auth0 keycloak
okta cognito ldap; jwt session_cookies=cookies=cookie api_keys=api_key basic_auth passkeys; bcrypt argon2=argon2id
scrypt pbkdf2 md5 sha256 sha1; stripe paypal adyen braintree mollie; slack teams discord mattermost signal whatsapp
telegram email=mail; jira linear trello asana; github gitlab bitbucket gitea; confluence notion wiki; sphinx mkdocs
docusaurus; pagerduty opsgenie; unleash launchdarkly flagsmith; matomo plausible posthog mixpanel amplitude;
cloudflare fastly akamai cloudfront; nginx traefik caddy haproxy envoy; sqlalchemy prisma typeorm drizzle hibernate;
redux zustand mobx pinia; zoom google_meet; openai anthropic gemini mistral ollama; mit apache gpl agpl bsd mpl;
english german french spanish dutch polish italian portuguese; utc local_time; dark light; tabs=tab spaces=space;
linux windows macos=mac=macbook; firefox chrome=chromium safari vivaldi; vim emacs vscode; bash zsh fish; squash
rebase merge_commit; trunk gitflow; optimistic pessimistic; synchronous async=asynchronous; soft
physical=physically=hard; lazy=lazily eager=eagerly; manual=manually=hand automatic=automatically; open=public
closed=private=internal; exact=exactly=pinned ranges=range; server client browser; polling=polls=poll
websockets=websocket; default opt_in; include=includes=included omit=omits=omitted=exclude=excluded;
required=mandatory=requires=require optional; single_repository=one_repository=monorepo
each_team=own_repository=own_repositories; nightly=daily=each_night=every_night=each_day=every_day=a_day
weekly=each_week=every_week=a_week monthly=each_month=every_month=a_month quarterly yearly
hourly=every_hour=each_hour; anonymous=guests=guest registered=account; only any=anyone=everyone=every=everybody=all;
expose=exposes=show=shows hide=hides=hidden; fail=fails=break=breaks warn=warning=warnings
"""
