// A transaction that a test makes fail, and what the transactions need.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { beforeAll } from '@jest/globals'
import type { Sql, Transaction } from '../../../src/db/connection/client.ts'
import { inService, inTenant, inTransaction } from '../../../src/db/connection/transaction.ts'
import { insertEndpoint } from '../../../src/db/webhooks/webhook-endpoints.ts'
import { t } from '../../support/own-engine.ts'

type Run = (sql: Sql) => Promise<unknown>

export interface Case {
  readonly name: string
  /** Writes the rows that the transaction finds. */
  readonly before?: () => Promise<unknown>
  readonly run: Run
}

/** @param prepare writes the rows that the transaction finds, and returns what runs it. */
export function prepared(name: string, prepare: () => Promise<Run>): Case {
  let run: Run | undefined
  return {
    name,
    before: async () => void (run = await prepare()),
    run: async (sql) => await run?.(sql),
  }
}

type Work = (tx: Transaction) => Promise<unknown>

export const inOne = (work: Work) => (sql: Sql) => inTransaction(sql, work)
export const ofTenant = (work: Work) => (sql: Sql) => inTenant(sql, t.tenantId, work)
export const ofService = (work: Work) => (sql: Sql) => inService(sql, work)

/** Changes rows by statements of the test. */
export const update = (text: string) => () => t.engine.store.sql.unsafe(text)

/** An endpoint that gets every event, like another one. */
export const endpoint = { tenantId: '', id: randomUUIDv7() }

export const newEndpoint = (id: string) => ({
  tenantId: t.tenantId,
  id,
  url: `https://${id}.example/`,
  description: null,
  eventTypes: ['*'],
  secret: `whsec_${randomBytes(32).toString('base64')}`,
})

beforeAll(async () => {
  endpoint.tenantId = t.tenantId
  for (const id of [endpoint.id, randomUUIDv7()]) {
    await t.engine.store.sql.begin((tx) => insertEndpoint(tx, newEndpoint(id)))
  }
})
