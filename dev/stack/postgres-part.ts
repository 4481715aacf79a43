// Adapts the embedded PostgreSQL to the `Part` interface of the stack.
import type { EmbeddedPostgres } from '../embedded-postgres/postgres.ts'
import type { Part } from './supervise.ts'

/** Wraps a server that is starting. A `stop` during the start takes effect when it has started. */
export function postgresPart(server: Promise<EmbeddedPostgres>): Part<EmbeddedPostgres> {
  const stop = (mode: 'fast' | 'immediate') => {
    // A server that failed to start needs no stop, and `ready` reports the failure.
    server.then((started) => started.stop(mode)).catch(() => {})
  }
  return {
    ready: server,
    ended: server.then(
      (started) => started.exited.then(() => 'ended'),
      (error: Error) => `did not start: ${error.message}`,
    ),
    stop: () => stop('fast'),
    kill: () => stop('immediate'),
  }
}
