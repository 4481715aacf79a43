// Runs the engine inside a test, on a real database and with the Stripe stand-in over HTTP. The
// test controls the passage of time.
import { randomUUIDv7 } from 'node:crypto'
import pino from 'pino'
import { batchClaims } from '../../src/db/operations/leases.ts'
import { batchRecords } from '../../src/db/operations/record-phases.ts'
import { createCounts } from '../../src/domain/tenants/tenant-counts.ts'
import { responseBody } from '../../src/encryption/encryption.ts'
import type { Intent, WriteResources } from '../../src/db/idempotency/intent.ts'
import { IntentRefusedError, reserveIntent } from '../../src/db/idempotency/intents.ts'
import { detailsOfPayment, findPayment, insertPayments } from '../../src/db/payments/payments.ts'
import { findRefund } from '../../src/db/payments/refunds.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import {
  type Payment,
  type PaymentRequest,
  showPaymentId,
} from '../../src/domain/payments/payment.ts'
import type { Refund } from '../../src/domain/payments/refund.ts'
import type { Engine, EngineSettings } from '../../src/engine/engine.ts'
import type { Request } from 'express'
import type { ApiParts } from '../../src/http/endpoint.ts'
import type { OperationEndpoint } from '../../src/http/keyed/keyed-route.ts'
import { operationEndpoints, operations } from '../../src/operations/index.ts'
import { silentObserver } from '../../src/engine/observer.ts'
import { stripeCapabilities } from '../../src/provider/stripe/adapter.ts'
import { createProviders } from '../../src/provider/providers.ts'
import { createStripeProvider } from '../../src/provider/stripe/stripe-provider.ts'
import { startProvider, type RunningProvider } from '../dev/stripe-stand-in/running-provider.ts'
import { AMOUNT_MINOR } from '../operations/amount.ts'
import { createTestDatabase } from './database.ts'
import { openTestStore } from '../db/reservations.ts'

const usualSettings: EngineSettings = {
  LEASE_MS: 10_000,
  // Longer than a busy machine delays an answer.
  PROVIDER_TIMEOUT_MS: process.env['TEST_MACHINE'] === 'slow' ? 5_000 : 1_500,
  PROVIDER_KEY_WINDOW_SECONDS: 3_600,
  CALL_ATTEMPTS: 3,
  CALL_RETRY_DELAY_MS: 1,
  JOB_RETRY_LIMIT: 100,
  PROVIDER_OUTAGE_SECONDS: 86_400,
  KEY_RETENTION_SECONDS: 86_400,
  CHECK_DELAYS_SECONDS: [5, 60, 600, 3_600, 86_400],
  CHECK_ON_READ_SECONDS: 10,
  PROVIDER_SETTLE_SECONDS: 60,
  ACTION_EXPIRES_SECONDS: 3_600,
  IDEMPOTENCY_FLAVOR: 'ietf',
}

/** Identifies a payment of the engine's tenant. */
export interface PaymentRef {
  readonly tenantId: string
  readonly paymentId: string
}

export type Accepted = OperationRef & PaymentRef

export interface TestEngine {
  readonly engine: Engine
  readonly provider: RunningProvider
  readonly databaseUrl: string
  readonly tenantId: string
  readonly apiKey: string
  /** Ids of the operations that were announced as idle. */
  readonly announced: string[]
  /** Accepts a payment. No worker runs it: the test does. */
  accept(
    request?: Partial<PaymentRequest>,
    parameters?: Readonly<Record<string, unknown>>,
  ): Promise<Accepted>
  /**
   * Accepts an operation, by its name or its endpoint, on a payment as the endpoint does, with that
   * body. Throws IntentRefusedError, which names the problem, when it is refused.
   */
  begin(
    operation: string | OperationEndpoint,
    payment: PaymentRef,
    body?: Readonly<Record<string, unknown>>,
  ): Promise<Accepted & { refundId?: string }>
  acceptCapture(payment: PaymentRef, amountMinor?: number): Promise<Accepted>
  acceptCancel(payment: PaymentRef, reason?: string | null): Promise<Accepted>
  /** Refunds the whole remaining amount by default. */
  acceptRefund(payment: PaymentRef, amountMinor?: number): Promise<Accepted & { refundId: string }>
  readKey(ref: OperationRef): Promise<Record<string, unknown>>
  /** The newest operation with these columns. */
  findOperation(columns: Readonly<Record<string, string>>): Promise<Accepted>
  /** The calls about a payment that the provider executed. */
  executedFor(ref: { paymentId: string }): ReturnType<RunningProvider['executed']>
  readRefund(ref: { refundId: string }): Promise<Refund>
  readPayment(ref: PaymentRef): Promise<Payment>
  /** Makes the owner's lease look expired. */
  expireLease(ref: OperationRef): Promise<void>
  /** Moves all times of the operation into the past by that many seconds. */
  letTimePass(ref: OperationRef, seconds: number): Promise<void>
  stop(): Promise<void>
}

function routeOf(operation: string): OperationEndpoint {
  const route = operationEndpoints.find((candidate) => candidate.operation.name === operation)
  if (route === undefined) throw new Error(`no client begins ${operation}`)
  return route
}

/** @param own settings that differ from the usual ones. */
export async function startTestEngine(own: Partial<EngineSettings> = {}): Promise<TestEngine> {
  const settings = { ...usualSettings, ...own }
  const database = await createTestDatabase()
  const provider = await startProvider()
  const store = openTestStore(database.url, 6)
  const { sql } = store
  const announced: string[] = []
  const apiKey = 'sk_test_engine'
  const tenantId = await createTenant(store, { name: 'test', apiKey })
  const reserve = async (
    operation: string,
    about: Pick<Intent, 'paymentId'> & Partial<Intent>,
    resource: WriteResources,
  ): Promise<Accepted> => {
    const id = randomUUIDv7()
    const reservation = {
      tenantId,
      id,
      key: id,
      fingerprint: Buffer.alloc(32),
      operation,
      refundId: null,
      parameters: {},
      retentionSeconds: settings.KEY_RETENTION_SECONDS,
      ...about,
    }
    await reserveIntent(sql, reservation, resource)
    return { tenantId, id, paymentId: about.paymentId }
  }
  const begin: TestEngine['begin'] = async (operation, payment, body = {}) => {
    const route = typeof operation === 'string' ? routeOf(operation) : operation
    const draft = await route.readBeforeKey({
      parts: {
        store,
        providers: { defaultName: 'stripe', capabilitiesOf: () => stripeCapabilities },
      } as unknown as ApiParts,
      request: { params: { id: showPaymentId(payment.paymentId) } } as unknown as Request,
      tenantId,
      body,
    })
    const { paymentId, refundId = null, parameters = {}, details } = draft
    const about = { paymentId, refundId, parameters, details }
    const reserved = reserve(route.operation.name, about, draft.resource)
    const ref = await reserved.catch(async (error: unknown) => {
      if (!(error instanceof IntentRefusedError)) throw error
      const problem = await draft.explainRefusal()
      throw new IntentRefusedError(`${problem?.type}: ${problem?.message}`, { cause: error })
    })
    return refundId === null ? ref : { ...ref, refundId }
  }
  const running = createCounts()
  return {
    provider,
    databaseUrl: database.url,
    tenantId,
    apiKey,
    announced,
    engine: {
      operations,
      store,
      running,
      claim: batchClaims(sql),
      record: batchRecords(running),
      providers: createProviders([
        createStripeProvider({
          secretKey: 'sk_test_mock',
          apiBase: provider.url,
          timeoutMs: settings.PROVIDER_TIMEOUT_MS,
        }),
      ]),
      settings,
      clock: {
        now: () => new Date(),
        monotonicMs: () => performance.now(),
        // These tests do not depend on the pauses between attempts.
        sleep: () => Promise.resolve(),
      },
      random: () => 0.5,
      announceIdle: (id) => void announced.push(id),
      observe: silentObserver,
      log: pino({ level: 'silent' }),
    },
    async accept(request = {}, parameters = {}) {
      const details = detailsOfPayment({ ...paymentRequest, ...request }, 'stripe')
      const about = { paymentId: randomUUIDv7(), details, parameters }
      return await reserve('payment.create', about, insertPayments)
    },
    begin,
    acceptCapture(payment, amount = paymentRequest.amountMinor) {
      return begin('payment.capture', payment, { amount })
    },
    acceptCancel(payment, reason = null) {
      return begin('payment.cancel', payment, { reason })
    },
    async acceptRefund(payment, amount) {
      const body = amount === undefined ? {} : { amount }
      const { refundId = '', ...ref } = await begin('refund.create', payment, body)
      return { ...ref, refundId }
    },
    async readKey({ id }) {
      const [row] = await sql`select * from idempotency_keys where id = ${id}`
      if (row === undefined) return {}
      const body = row['response_body']
      return { ...row, response_body: responseBody.decrypt({ tenantId, id }, body) }
    },
    async findOperation(columns) {
      const [row] = await sql<Accepted[]>`
        select tenant_id as "tenantId", id, payment_id as "paymentId" from idempotency_keys k
        where to_jsonb(k) @> ${JSON.stringify(columns)}::jsonb
        order by created_at desc limit 1
      `
      if (row === undefined) throw new Error('there is no such operation')
      return row
    },
    async executedFor({ paymentId }) {
      const shown = showPaymentId(paymentId)
      const calls = await provider.executed()
      return calls.filter(({ metadata }) => metadata['atomic_payment'] === shown)
    },
    async readPayment({ paymentId }) {
      const payment = await findPayment(sql, tenantId, paymentId)
      if (payment === undefined) throw new Error('the payment is gone')
      return payment
    },
    async readRefund({ refundId }) {
      const refund = await findRefund(sql, tenantId, refundId)
      if (refund === undefined) throw new Error('the refund is gone')
      return refund
    },
    async expireLease({ id }) {
      await sql`
        update idempotency_keys set lease_expires_at = now() - interval '1 second'
        where id = ${id} and status = 'processing'
      `
    },
    async letTimePass({ id }, seconds) {
      const passed = sql`${seconds} * interval '1 second'`
      await sql`
        with moved as (
          select tenant_id, id,
            created_at - ${passed} as created_at, phase_began_at - ${passed} as phase_began_at,
            unknown_at - ${passed} as unknown_at, checked_at - ${passed} as checked_at,
            next_check_at - ${passed} as next_check_at,
            lease_expires_at - ${passed} as lease_expires_at
          from idempotency_keys where id = ${id}
        )
        update idempotency_keys set
          created_at = moved.created_at, phase_began_at = moved.phase_began_at,
          unknown_at = moved.unknown_at, checked_at = moved.checked_at,
          next_check_at = moved.next_check_at, lease_expires_at = moved.lease_expires_at
        from moved
        where idempotency_keys.tenant_id = moved.tenant_id and idempotency_keys.id = moved.id
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
  amountMinor: AMOUNT_MINOR,
  currency: 'usd',
  captureMethod: 'automatic',
  paymentMethod: 'pm_card_visa',
  customer: null,
  description: null,
  reference: null,
  metadata: {},
}
