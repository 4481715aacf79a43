# One image for every process of the service: it runs the API unless it is told otherwise, as in
# docker-compose.yml. The Stripe stand-in has an image of its own. Node runs the TypeScript as it is, so that nothing is built.

FROM node:24.21.0-trixie-slim AS dependencies
WORKDIR /app
# Only these two, so that a change of the code leaves this layer as it is.
COPY package.json package-lock.json ./
# Without optional packages there are no binaries of PostgreSQL: here it is a server of its own.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-trixie-slim AS base
# Inside a container the addresses of this machine reach nobody; the network decides what may come in.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    METRICS_HOST=0.0.0.0 \
    METRICS_PORT=9464
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE openapi.yaml ./
COPY drizzle drizzle
COPY src src
COPY workers workers

# The Stripe stand-in, for docker-compose.yml alone: what a deployment runs does not contain it.
FROM base AS stripe-stand-in
ENV DATA_DIR=/data
# Its records, the only file that a process of ours writes.
RUN install --directory --owner=node --group=node /data
COPY dev/stripe-stand-in dev/stripe-stand-in
USER node
CMD ["node", "dev/stripe-stand-in/main.ts"]

# The image of every process of the service. It is the last stage, so that it is what `docker build` makes.
FROM base AS service
# The files belong to root: the service cannot change its own code.
USER node
EXPOSE 3000 9464
# Whether it answers, not whether it is ready: a database that is away is no reason to restart.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/start/api.ts"]
