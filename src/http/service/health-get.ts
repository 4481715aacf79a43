// GET /healthz and GET /readyz: report to an orchestrator whether the process is alive and whether
// it should receive traffic.
import { migrationsAreCurrent } from '../../db/migrations/applied-migrations.ts'
import { SessionError } from '../../db/connection/pool/session.ts'
import { jsonType, retryAfter, showJson } from '../responses/answer.ts'
import { withinStoreTimeout, type OpenEndpoint } from '../endpoint.ts'

/** Answers as long as the process is running. */
export const getHealth: OpenEndpoint = async () => showJson({ status: 'ok' })

/**
 * Ready: the database can be reached over sessions of its own and has the schema of this version, and no shutdown has begun.
 */
export const getReadiness: OpenEndpoint = async (parts) => {
  const checks = { database: 'ok', migrations: 'ok' }
  let reason: string | undefined
  try {
    const current = await withinStoreTimeout(parts, migrationsAreCurrent(parts.store.sql))
    if (current && parts.stopping?.aborted !== true) return showJson({ status: 'ok', checks })
    if (!current) checks.migrations = 'behind'
  } catch (error) {
    const isUnusable = error instanceof SessionError
    const database = isUnusable ? 'unusable' : 'unreachable'
    parts.log.warn({ err: error }, `not ready: the database is ${database}`)
    Object.assign(checks, { database, migrations: 'unknown' })
    if (isUnusable) reason = error.message
  }
  const body = JSON.stringify({ status: 'unavailable', checks, reason })
  return { status: 503, headers: { ...jsonType, ...retryAfter() }, body }
}
