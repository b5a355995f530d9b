# One image for every process of a desk: web, worker, clock. The database is a server of its own.
FROM python:3.13-slim AS packages
WORKDIR /opt/mcpdesk
COPY requirements.lock .
RUN python -m venv .venv \
 && .venv/bin/pip install --no-cache-dir --disable-pip-version-check \
      --require-hashes --no-deps --requirement requirements.lock

FROM python:3.13-slim
ENV PATH=/opt/mcpdesk/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=mcpdesk.settings \
    MCPDESK_BIND=0.0.0.0:8642 \
    MCPDESK_DATA=/tmp/mcpdesk
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin mcpdesk
WORKDIR /opt/mcpdesk
COPY --from=packages /opt/mcpdesk/.venv .venv
COPY manage.py pyproject.toml requirements.lock ./
COPY mcpdesk mcpdesk
COPY tasks_monitor tasks_monitor
COPY approvals approvals
COPY templates templates
COPY static static
RUN python -m compileall -q mcpdesk tasks_monitor approvals .venv \
 && python manage.py collectstatic --no-input --verbosity 0 \
 && echo image > staticfiles/.collected
USER 10001
EXPOSE 8642
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s --retries=3 \
  CMD ["python", "manage.py", "healthy", "web"]
CMD ["python", "manage.py", "web"]
