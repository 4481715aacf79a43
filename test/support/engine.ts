// The engine inside a test: on a real database and against a real mock provider over HTTP, with time
// that the test lets pass.
import { randomUUIDv7 } from 'node:crypto'
import pino from 'pino'
import { openStore } from '../../src/db/client.ts'
import { reserveIntent } from '../../src/db/idempotency-keys.ts'
import { findPayment, insertPayment } from '../../src/db/payments.ts'
import { createTenant } from '../../src/db/tenants.ts'
import type { OperationRef } from '../../src/domain/operation.ts'
import type { Payment, PaymentRequest } from '../../src/domain/payment.ts'
import type { Engine, EngineSettings } from '../../src/operations/engine.ts'
import { createStripeProvider } from '../../src/provider/stripe-provider.ts'
import { startProvider, type RunningProvider } from '../mock-provider/running-provider.ts'
import { createTestDatabase } from './database.ts'

const settings: EngineSettings = {
  LEASE_MS: 10_000,
  PROVIDER_TIMEOUT_MS: 500,
  PROVIDER_KEY_WINDOW_SECONDS: 3_600,
  CALL_ATTEMPTS: 3,
  CALL_RETRY_DELAY_MS: 1,
  JOB_RETRY_LIMIT: 100,
  KEY_RETENTION_SECONDS: 86_400,
}

export interface TestEngine {
  readonly engine: Engine
  readonly provider: RunningProvider
  /** Ids of the operations that were announced as settled. */
  readonly announced: string[]
  /** Accepts a payment without a job, so that only the test runs it. */
  accept(request?: Partial<PaymentRequest>): Promise<OperationRef & { paymentId: string }>
  readKey(ref: OperationRef): Promise<Record<string, unknown>>
  readPayment(ref: { tenantId: string; paymentId: string }): Promise<Payment>
  /** As if the owner's lease had run out. */
  expireLease(ref: OperationRef): Promise<void>
  stop(): Promise<void>
}

export async function startTestEngine(): Promise<TestEngine> {
  const database = await createTestDatabase()
  const provider = await startProvider()
  const store = openStore({
    url: database.url,
    applicationName: 'test engine',
    poolSize: 6,
    timeoutMs: 10_000,
  })
  const { sql } = store
  const announced: string[] = []
  const tenantId = await createTenant(store, { name: 'test', apiKey: 'sk_test_engine' })
  return {
    provider,
    announced,
    engine: {
      store,
      provider: createStripeProvider({
        secretKey: 'sk_test_mock',
        apiBase: provider.url,
        timeoutMs: settings.PROVIDER_TIMEOUT_MS,
      }),
      settings,
      clock: {
        now: () => new Date(),
        monotonicMs: () => performance.now(),
        // The waits between tries are not what these tests are about.
        sleep: () => Promise.resolve(),
      },
      random: () => 0.5,
      announceSettled: (id) => void announced.push(id),
      log: pino({ level: 'silent' }),
    },
    async accept(request = {}) {
      const ref = { tenantId, id: randomUUIDv7(), paymentId: randomUUIDv7() }
      const payment = { ...paymentRequest, ...request }
      await reserveIntent(
        sql,
        {
          ...ref,
          key: ref.id,
          fingerprint: Buffer.alloc(32),
          operation: 'payment.create',
          refundId: null,
          parameters: {},
          retentionSeconds: settings.KEY_RETENTION_SECONDS,
        },
        insertPayment(sql, payment, 'stripe'),
      )
      return ref
    },
    async readKey({ id }) {
      const [row] = await sql`select * from idempotency_keys where id = ${id}`
      return row ?? {}
    },
    async readPayment({ paymentId }) {
      const payment = await findPayment(sql, tenantId, paymentId)
      if (payment === undefined) throw new Error('the payment is gone')
      return payment
    },
    async expireLease({ id }) {
      await sql`
        update idempotency_keys set lease_expires_at = now() - interval '1 second'
        where id = ${id} and status = 'processing'
      `
    },
    async stop() {
      await store.close()
      await provider.close()
      await database.drop()
    },
  }
}

const paymentRequest: PaymentRequest = {
  amountMinor: 1999,
  currency: 'usd',
  captureMethod: 'automatic',
  paymentMethod: 'pm_card_visa',
  customer: null,
  description: null,
  metadata: {},
}
