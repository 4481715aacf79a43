// GET /healthz and GET /readyz: report to an orchestrator whether the process is alive and whether
// it should receive traffic.
import { open, withinStoreTimeout, type ServiceParts, type OpenEndpoint } from '../endpoint.ts'
import { z } from 'zod'
import type { Endpoints } from '../contracts/contract.ts'
import { randomUUIDv7 } from 'node:crypto'
import type { Sql } from '../../db/connection/client.ts'
import { isReadOnly } from '../../db/connection/store-errors.ts'
import { inService } from '../../db/connection/transaction.ts'
import { readMigrationState } from '../../migrations/applied-migrations.ts'
import { SessionError } from '../../db/connection/pool/session.ts'
import { jsonType, retryAfter, showJson } from '../responses/answer.ts'

const health = z.object({ status: z.literal('ok') }).meta({ id: 'Health' })

const readiness = z
  .object({
    status: z
      .enum(['ok', 'unavailable'])
      .meta({ description: 'Whether the process accepts traffic.' }),
    checks: z.object({
      database: z.enum(['ok', 'unreachable', 'unusable', 'read_only']).meta({
        description:
          'Whether the database can be reached. `unusable`: a pooler refuses transactions, or a session cannot have the role of the service. `read_only`: nothing can be written, because the disk is full or the server refuses writes.',
      }),
      migrations: z.enum(['ok', 'behind', 'unknown']).meta({
        description: 'Whether the database has the schema that this version needs.',
      }),
    }),
    reason: z
      .string()
      .meta({ description: 'What to do, when the database is `unusable`.' })
      .optional(),
  })
  .meta({ id: 'Readiness' })

/** Answers as long as the process is running. */
const getHealth: OpenEndpoint = async () => showJson({ status: 'ok' })

/**
 * Ready: the database can be reached over sessions of its own, has the schema of this version and
 * accepts writes, and no shutdown has begun.
 */
const getReadiness: OpenEndpoint = async (parts) => {
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
const writtenAt = new WeakMap<ServiceParts, number>()

async function tryWritingSometimes(parts: ServiceParts): Promise<void> {
  if (performance.now() - (writtenAt.get(parts) ?? -Infinity) < WRITE_INTERVAL_MS) return
  await withinStoreTimeout(parts, tryWriting(parts.store.sql))
  writtenAt.set(parts, performance.now())
}

/**
 * Writes a row that no other transaction sees. It fails while the server accepts reads only, or its
 * disk is full.
 */
export async function tryWriting(sql: Sql): Promise<void> {
  const id = randomUUIDv7()
  await inService(sql, async (tx) => {
    await tx`
      insert into service_processes (id, kind, host, queues, version, circuits, started_at)
      values (${id}, 'api', '', '{}', '', '[]'::jsonb, now())
    `
    await tx`delete from service_processes where id = ${id}`
  })
}

export const healthEndpoints: Endpoints = {
  'GET /healthz': {
    serve: open(getHealth),
    operationId: 'getHealth',
    tag: 'Health',
    summary: 'Check health',
    description: 'Answers as long as the process is running. It does not check the database.',
    answers: { 200: { description: 'The process is running.', schema: health } },
  },
  'GET /readyz': {
    serve: open(getReadiness),
    operationId: 'getReadiness',
    tag: 'Health',
    summary: 'Check readiness',
    description:
      'Reports whether the process should receive traffic: the database can be reached over sessions of its own, it has the schema of this version and accepts writes, and the process is not shutting down.',
    answers: {
      200: { description: 'The process is ready.', schema: readiness },
      503: {
        description: 'The process is not ready.',
        schema: readiness,
        headers: ['Retry-After'],
      },
    },
  },
}
