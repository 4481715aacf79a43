// GET /healthz and GET /readyz, for whoever decides whether to restart a process or to send it traffic.
import { migrationsAreCurrent } from '../../db/migrations/applied-migrations.ts'
import { jsonType, retryAfter, showJson } from '../responses/answer.ts'
import { withinStoreTimeout, type OpenEndpoint } from '../endpoint.ts'

/** The process is up and answers. */
export const getHealth: OpenEndpoint = async () => showJson({ status: 'ok' })

/** The database can be reached, and has the schema that this version needs; and this process stays. */
export const getReadiness: OpenEndpoint = async (parts) => {
  const checks = { database: 'ok', migrations: 'ok' }
  try {
    const current = await withinStoreTimeout(parts, migrationsAreCurrent(parts.store.sql))
    if (current && parts.stopping?.aborted !== true) return showJson({ status: 'ok', checks })
    if (!current) checks.migrations = 'behind'
  } catch (error) {
    parts.log.warn({ err: error }, 'not ready: the database is out of reach')
    Object.assign(checks, { database: 'unreachable', migrations: 'unknown' })
  }
  const body = JSON.stringify({ status: 'unavailable', checks })
  return { status: 503, headers: { ...jsonType, ...retryAfter }, body }
}
