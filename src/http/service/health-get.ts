// GET /healthz and GET /readyz: report to an orchestrator whether the process is alive and whether
// it should receive traffic.
import { randomUUIDv7 } from 'node:crypto'
import { isReadOnly } from '../../db/connection/store-errors.ts'
import { tryWriting } from '../../db/operators/service-processes.ts'
import { readMigrationState } from '../../db/migrations/applied-migrations.ts'
import { SessionError } from '../../db/connection/pool/session.ts'
import { jsonType, retryAfter, showJson } from '../responses/answer.ts'
import { withinStoreTimeout, type ApiParts, type OpenEndpoint } from '../endpoint.ts'

/** Answers as long as the process is running. */
export const getHealth: OpenEndpoint = async () => showJson({ status: 'ok' })

/**
 * Ready: the database can be reached over sessions of its own, has the schema of this version and
 * accepts writes, and no shutdown has begun.
 */
export const getReadiness: OpenEndpoint = async (parts) => {
  const checks = { database: 'ok', migrations: 'ok' }
  let reason: string | undefined
  try {
    const state = await withinStoreTimeout(parts, readMigrationState(parts.store.sql))
    const current = state === 'current'
    if (current) await tryWritingSometimes(parts)
    if (current && parts.stopping?.aborted !== true) return showJson({ status: 'ok', checks })
    if (!current) checks.migrations = 'behind'
  } catch (error) {
    const isUnusable = error instanceof SessionError
    const database = isUnusable ? 'unusable' : isReadOnly(error) ? 'read_only' : 'unreachable'
    parts.log.warn({ err: error }, `not ready: the database is ${database}`)
    Object.assign(checks, { database, migrations: 'unknown' })
    if (isUnusable) reason = error.message
  }
  const body = JSON.stringify({ status: 'unavailable', checks, reason })
  return { status: 503, headers: { ...jsonType, ...retryAfter() }, body }
}

/** Anyone may ask, so that a process tries no more often. */
const WRITE_INTERVAL_MS = 1_000
const writtenAt = new WeakMap<ApiParts, number>()

async function tryWritingSometimes(parts: ApiParts): Promise<void> {
  if (performance.now() - (writtenAt.get(parts) ?? -Infinity) < WRITE_INTERVAL_MS) return
  await withinStoreTimeout(parts, tryWriting(parts.store.sql, randomUUIDv7()))
  writtenAt.set(parts, performance.now())
}
