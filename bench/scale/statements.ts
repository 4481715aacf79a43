// Lists the statements that a payment runs from the request to the final answer. Each is called as
// the service calls it, and its writes are rolled back.
import { createHash, randomBytes, randomUUID, randomUUIDv7 } from 'node:crypto'
import { readConfig, type Config } from '../../src/config.ts'
import {
  countActiveKeys,
  findIdempotencyKey,
  findIdle,
} from '../../src/db/idempotency/idempotency-keys.ts'
import { authenticateKey } from '../../src/db/tenants/api-keys.ts'
import type { Sql, Store } from '../../src/db/connection/client.ts'
import type { Intent } from '../../src/db/idempotency/intent.ts'
import { claimEachIfUnowned, type Claim } from '../../src/db/operations/leases.ts'
import { reserveIntent } from '../../src/db/idempotency/intents.ts'
import { detailsOfPayment, findPayment, insertPayments } from '../../src/db/payments/payments.ts'
import { type PhaseRecord, recordEach } from '../../src/db/operations/record-phases.ts'
import { OPERATIONS_QUEUE } from '../../src/db/queue/jobs.ts'
import { fetchFairly } from '../../src/db/queue/fair-fetch.ts'
import { paymentAfter } from '../../src/domain/payments/payment.ts'
import { parseId } from '../../src/domain/resource-id.ts'
import { createPayment } from '../../src/operations/create-payment/phases.ts'
import { arranged, statementsOf, type Calls, type Statement } from '../plans.ts'
import type { CompletedKey } from '../speed/payment-requests.ts'
import type { BenchTenant } from '../stack.ts'

export interface StatementParts {
  readonly settings: Config
  readonly tenant: BenchTenant
  /** A completed key and its payment. */
  readonly completed: CompletedKey
}

export function paymentStatements(parts: StatementParts): readonly Statement[] {
  return [
    ...statementsOf('API', statementsOfApi(parts)),
    ...statementsOf('worker', statementsOfWorker(parts)),
  ]
}

function statementsOfApi(parts: StatementParts): Calls {
  const { settings, tenant, completed } = parts
  const paymentId = parseId('pay', completed.paymentId) ?? ''
  return {
    authenticateKey: (sql) => authenticateKey({ sql } as Store, tenant.apiKey),
    countActiveKeys: (sql) => countActiveKeys(sql, tenant.id, settings.MAX_ACTIVE_KEYS),
    reserveIntent: (sql) => reserve(sql, parts),
    'reserveIntent, a replay': (sql) => reserve(sql, parts, completed.key),
    findIdempotencyKey: (sql) => findIdempotencyKey(sql, tenant.id, completed.key),
    findIdle: (sql) => findIdle(sql, [{ tenantId: tenant.id, id: randomUUID() }]),
    findPayment: (sql) => findPayment(sql, tenant.id, paymentId),
  }
}

/** A process without jobs. */
const ROOM = {
  after: { tenant: '', endpoint: '' },
  slots: 4,
  perGroup: 4,
  fullGroups: [],
}

function statementsOfWorker(parts: StatementParts): Calls {
  const { LEASE_MS: leaseMs, KEY_RETENTION_SECONDS: retentionSeconds } = parts.settings
  const reserveOne = (sql: Sql) => reserve(sql, parts)
  const claimOne = async (sql: Sql): Promise<Claim> => {
    const [claim] = await claimEachIfUnowned(sql, [await reserveOne(sql)], leaseMs)
    if (claim === undefined) throw new Error('the reserved operation could not be claimed')
    return claim
  }
  return {
    fetchFairly: arranged(reserveOne, (sql) => fetchFairly(sql, OPERATIONS_QUEUE, ROOM)),
    claimEachIfUnowned: arranged(reserveOne, (sql, ref) => claimEachIfUnowned(sql, [ref], leaseMs)),
    advanceIfHeld: arranged(claimOne, (sql, claim) => {
      const move = { kind: 'advance', to: 'authorized', leaseMs } as const
      return recordEach(sql, [{ claim, move, record: recordOf(claim, 'processing') }])
    }),
    finishIfHeld: arranged(claimOne, (sql, claim) => {
      const move = { kind: 'finish', response: RESPONSE, retentionSeconds } as const
      return recordEach(sql, [{ claim, move, record: recordOf(claim, 'requires_capture') }])
    }),
  }
}

function recordOf({ payment }: Claim, status: 'processing' | 'requires_capture'): PhaseRecord {
  return {
    tries: [{ phase: 'started', reached: null, outcome: undefined, startedAt: new Date() }],
    writes: { payment: paymentAfter(payment, { status, providerPaymentId: 'pi_x' }) },
  }
}

const RESPONSE = { status: 201, headers: {}, body: '{}' }

const FINGERPRINT = createHash('sha256').update('a payment').digest()

const PAYMENT = {
  amountMinor: 1999,
  currency: 'usd',
  captureMethod: 'automatic',
  paymentMethod: 'pm_card_visa',
  customer: null,
  description: 'An order of the shop',
  reference: null,
  metadata: {},
} as const

/** Reserves a payment with the API's own statement. */
export async function reserve(
  sql: Sql,
  { tenant, settings }: Pick<StatementParts, 'tenant' | 'settings'>,
  key: string = randomUUID(),
): Promise<Intent> {
  const reservation = {
    tenantId: tenant.id,
    id: randomUUIDv7(),
    key,
    fingerprint: FINGERPRINT,
    operation: createPayment.name,
    paymentId: randomUUIDv7(),
    refundId: null,
    parameters: {},
    retentionSeconds: settings.KEY_RETENTION_SECONDS,
    details: detailsOfPayment(PAYMENT, 'stripe'),
  }
  await reserveIntent(sql, reservation, insertPayments)
  return reservation
}

/**
 * Returns the service's default settings, for functions that are called in this process. Variables
 * of the shell are ignored, and the provider is unreachable: nothing called here needs it.
 */
export function settingsFor(databaseUrl: string): Config {
  return readConfig({
    DATABASE_URL: databaseUrl,
    STRIPE_SECRET_KEY: 'sk_test_mock',
    // A port on which nothing listens.
    STRIPE_API_BASE: 'http://127.0.0.1:9',
    ENCRYPTION_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  })
}
