# Builds one image for all processes of the service. By default it runs the API; docker-compose.yml
# shows the commands of the others. A separate target builds the image of the Stripe stand-in. There
# is no compile step, because Node runs TypeScript directly.

FROM node:24.21.0-trixie-slim AS dependencies
WORKDIR /app
# Only these two files, so that a change of the code does not invalidate this layer.
COPY package.json package-lock.json ./
# Omitting optional packages leaves out the PostgreSQL binaries: containers use a separate server.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-trixie-slim AS base
# A process on the loopback address of a container cannot be reached. The container network controls
# access instead.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    METRICS_HOST=0.0.0.0 \
    METRICS_PORT=9464
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE openapi.yaml openapi-operators.yaml ./
COPY cli cli
COPY client client
COPY console console
COPY drizzle drizzle
COPY extras extras
COPY mcp mcp
COPY src src
COPY workers workers

# The Stripe stand-in, only for docker-compose.yml. The image of the service does not contain it.
FROM base AS stripe-stand-in
ENV DATA_DIR=/data
# The folder of its SQLite file.
RUN install --directory --owner=node --group=node /data
COPY dev/stand-in dev/stand-in
COPY dev/stripe-stand-in dev/stripe-stand-in
USER node
CMD ["node", "dev/stripe-stand-in/main.ts"]

# The image of the service. It is the last stage, so that `docker build` builds it by default.
FROM base AS service
# The files belong to root, so that the service cannot change its own code.
USER node
EXPOSE 3000 9464
# Checks liveness, not readiness: an unreachable database is no reason to restart the API.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/start/api.ts"]
