# The virtual environment is made in the first stage and copied: the image has no compiler, no pip cache and no source tree.
# Both stages name the same digest: docs/operations.md says how to move it.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

# --no-build-isolation: the one requirement without a wheel is built by the pinned setuptools of build.txt.
COPY requirements/build.txt requirements/server.txt requirements/documents.txt requirements/
RUN pip install --require-hashes -r requirements/build.txt \
 && pip wheel --require-hashes --no-deps --no-build-isolation -r requirements/server.txt -r requirements/documents.txt --wheel-dir /wheels \
 && python -m venv --without-pip /opt/cstp \
 && pip --python /opt/cstp/bin/python install --no-index --no-deps /wheels/*.whl

COPY LICENSE README.md pyproject.toml ./
COPY config config
COPY docs docs
COPY tests/wire tests/wire
COPY a2a a2a
COPY skills skills
RUN pip wheel --no-index --no-deps --no-build-isolation . --wheel-dir /dist \
 && pip --python /opt/cstp/bin/python install --no-index --no-deps /dist/*.whl

FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
RUN useradd --uid 10001 --create-home cstp \
 && install --directory --owner cstp --group cstp /data
COPY --from=build /opt/cstp /opt/cstp
ENV PATH=/opt/cstp/bin:$PATH PYTHONUNBUFFERED=1 CSTP_DATA_DIR=/data KF_RULE_CACHE_DIR=/tmp/cstp-rules
# By number, so that an orchestrator can see that it is not root.
USER 10001
WORKDIR /home/cstp
VOLUME /data
EXPOSE 8100
# No proxy: the check asks this container, whatever HTTP_PROXY says. A certificate is for the public name, not for 127.0.0.1.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import os, ssl, urllib.request as r; of = os.environ.get; c = ssl.create_default_context(); c.check_hostname, c.verify_mode = False, ssl.CERT_NONE; r.build_opener(r.ProxyHandler({}), r.HTTPSHandler(context=c)).open(f\"http{'s' if of('CSTP_SERVER__SSL_CERTFILE') else ''}://127.0.0.1:{of('CSTP_SERVER__PORT', '8100')}/healthz\", timeout=3)"]
CMD ["cstp", "serve", "--host", "0.0.0.0"]
