// Lists the statements that a payment runs from the request to the final answer. Each is called as
// the service calls it, and its writes are rolled back.
import { randomUUID } from 'node:crypto'
import type { Config } from '../../src/config.ts'
import {
  countActiveKeys,
  findIdempotencyKey,
  findIdle,
} from '../../src/db/idempotency/idempotency-keys.ts'
import { authenticateKey } from '../../src/db/tenants/api-keys.ts'
import type { Sql, Store } from '../../src/db/connection/client.ts'
import type { Intent } from '../../src/db/idempotency/intent.ts'
import { claimEachIfUnowned, type Claim } from '../../src/db/operations/leases.ts'
import { findPayment } from '../../src/db/payments/payments.ts'
import { type PhaseRecord, recordEach } from '../../src/db/operations/record-phases.ts'
import { OPERATIONS_QUEUE } from '../../src/db/queue/jobs.ts'
import { fetchFairly } from '../../src/db/queue/fair-fetch.ts'
import { paymentAfter } from '../../src/domain/payments/payment.ts'
import { parseId } from '../../src/domain/resource-id.ts'
import type { Statement } from '../plans.ts'
import { reservePayment } from '../reserve-payment.ts'
import type { CompletedKey } from '../speed/payment-requests.ts'
import type { BenchTenant } from '../stack.ts'

export interface StatementParts {
  readonly settings: Config
  readonly tenant: BenchTenant
  /** A completed key and its payment. */
  readonly completed: CompletedKey
}

export function paymentStatements(parts: StatementParts): readonly Statement[] {
  return [...statementsOfApi(parts), ...statementsOfWorker(parts)]
}

function statementsOfApi(parts: StatementParts): Statement[] {
  const { settings, tenant, completed } = parts
  const paymentId = parseId('pay', completed.paymentId) ?? ''
  const of = 'API'
  return [
    { of, name: 'authenticateKey', run: (sql) => authenticateKey({ sql } as Store, tenant.apiKey) },
    {
      of,
      name: 'countActiveKeys',
      run: (sql) => countActiveKeys(sql, tenant.id, settings.MAX_ACTIVE_KEYS),
    },
    { of, name: 'reserveIntent', run: (sql) => reserve(sql, parts) },
    { of, name: 'reserveIntent, a replay', run: (sql) => reserve(sql, parts, completed.key) },
    {
      of,
      name: 'findIdempotencyKey',
      run: (sql) => findIdempotencyKey(sql, tenant.id, completed.key),
    },
    {
      of,
      name: 'findIdle',
      run: (sql) => findIdle(sql, [{ tenantId: tenant.id, id: randomUUID() }]),
    },
    { of, name: 'findPayment', run: (sql) => findPayment(sql, tenant.id, paymentId) },
  ]
}

/** A process without jobs. */
const ROOM = {
  after: { tenant: '', endpoint: '' },
  slots: 4,
  perGroup: 4,
  fullGroups: [],
}

function statementsOfWorker(parts: StatementParts): Statement[] {
  const { settings } = parts
  return [
    {
      of: 'worker',
      name: 'fetchFairly',
      arrange: (sql) => reserve(sql, parts),
      run: (sql) => fetchFairly(sql, OPERATIONS_QUEUE, ROOM),
    },
    withReserved(parts, 'claimEachIfUnowned', (sql, ref) =>
      claimEachIfUnowned(sql, [ref], settings.LEASE_MS),
    ),
    withClaim(parts, 'advanceIfHeld', (sql, claim) =>
      recordEach(sql, [
        {
          claim,
          move: { kind: 'advance', to: 'authorized', leaseMs: settings.LEASE_MS },
          record: recordOf(claim, 'processing'),
        },
      ]),
    ),
    withClaim(parts, 'finishIfHeld', (sql, claim) =>
      recordEach(sql, [
        {
          claim,
          move: {
            kind: 'finish',
            response: RESPONSE,
            retentionSeconds: settings.KEY_RETENTION_SECONDS,
          },
          record: recordOf(claim, 'requires_capture'),
        },
      ]),
    ),
  ]
}

/** Prepares a reserved key that no worker has claimed. */
function withReserved(
  parts: StatementParts,
  name: string,
  run: (sql: Sql, reserved: Intent) => Promise<unknown>,
): Statement {
  let reserved: Intent | undefined
  return {
    of: 'worker',
    name,
    arrange: async (sql) => (reserved = await reserve(sql, parts)),
    run(sql) {
      if (reserved === undefined) throw new Error('nothing was reserved')
      return run(sql, reserved)
    },
  }
}

/** Prepares an operation with a claim. */
function withClaim(
  parts: StatementParts,
  name: string,
  run: (sql: Sql, claim: Claim) => Promise<unknown>,
): Statement {
  let claim: Claim | undefined
  return {
    of: 'worker',
    name,
    async arrange(sql) {
      const ref = await reserve(sql, parts)
      claim = (await claimEachIfUnowned(sql, [ref], parts.settings.LEASE_MS))[0]
    },
    run(sql) {
      if (claim === undefined)
        throw new Error('the operation that was just reserved could not be claimed')
      return run(sql, claim)
    },
  }
}

function recordOf({ payment }: Claim, status: 'processing' | 'requires_capture'): PhaseRecord {
  return {
    tries: [{ phase: 'started', reached: null, outcome: undefined, startedAt: new Date() }],
    writes: { payment: paymentAfter(payment, { status, providerPaymentId: 'pi_x' }) },
  }
}

const RESPONSE = { status: 201, headers: {}, body: '{}' }

function reserve(sql: Sql, { tenant, settings }: StatementParts, key?: string): Promise<Intent> {
  return reservePayment(sql, tenant.id, settings, key)
}
