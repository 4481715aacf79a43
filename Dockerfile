# One image for every process of the service: the API is what it runs unless told otherwise, as in
# docker-compose.yml. Node runs the TypeScript as it is, so that nothing is built.

FROM node:24.21.0-trixie-slim AS dependencies
WORKDIR /app
# Only these two, so that a change of the code leaves this layer as it is.
COPY package.json package-lock.json ./
# Without optional packages there are no binaries of PostgreSQL: here it is a server of its own.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-trixie-slim
# Inside a container the addresses of this machine reach nobody; what may come in is the network's to say.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    METRICS_HOST=0.0.0.0 \
    METRICS_PORT=9464 \
    DATA_DIR=/data
WORKDIR /app
# The mock provider's records, the only file that a process of ours writes.
RUN install --directory --owner=node --group=node /data
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE openapi.yaml ./
COPY drizzle drizzle
COPY src src
COPY workers workers
# The files belong to root: the service cannot change its own code.
USER node
EXPOSE 3000 9464
# Whether it answers, not whether it is ready: a database that is away is no reason to restart.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/main.ts"]
