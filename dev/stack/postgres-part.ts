// The embedded PostgreSQL as a part of the stack.
import type { EmbeddedPostgres } from '../embedded-postgres/postgres.ts'
import type { Part } from './supervise.ts'

/** Wraps a server that is starting; a stop that comes meanwhile takes effect once it has started. */
export function postgresPart(server: Promise<EmbeddedPostgres>): Part<EmbeddedPostgres> {
  const stop = (mode: 'fast' | 'immediate') => {
    // When it has not started there is nothing to stop, and `ready` tells why.
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
