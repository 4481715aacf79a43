// Creates two sets of books that agree: ours in a real database, the provider's in the storage of a
// real Stripe stand-in. Both are filled directly, without the API, so that one day can have many
// payments.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { join } from 'node:path'
import pino from 'pino'
import type { Store } from '../../src/db/connection/client.ts'
import { insertRun, type Run } from '../../src/reconciliation/runs.ts'
import { createTenant } from '../../src/db/tenants/tenants.ts'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { showRefundId } from '../../src/domain/payments/refund.ts'
import {
  movementOfCapture,
  movementOfRefund,
} from '../../dev/stripe-stand-in/balance/balance-transaction.ts'
import { cardOptions } from '../../dev/stripe-stand-in/payment-intents/payment-intent-terms.ts'
import {
  newPaymentIntent,
  type PaymentIntent,
} from '../../dev/stripe-stand-in/payment-intents/payment-intent.ts'
import { newRefund } from '../../dev/stripe-stand-in/refunds/refund.ts'
import { openStorage, type Storage } from '../../dev/stripe-stand-in/storage.ts'
import { systemClock } from '../../src/engine/engine.ts'
import { createProviders } from '../../src/provider/providers.ts'
import { createStripeProvider } from '../../src/provider/stripe/stripe-provider.ts'
import type { RunParts } from '../../src/reconciliation/carry-out-run.ts'
import { startProvider, type RunningProvider } from '../dev/stripe-stand-in/running-provider.ts'
import { createTestDatabase } from '../support/database.ts'
import { emptyTables } from '../support/empty-tables.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { openTestStore } from '../db/reservations.ts'

/** Long ago, so that no other records fall into the window. */
export const window = {
  from: new Date('2026-03-01T00:00:00Z'),
  to: new Date('2026-03-02T00:00:00Z'),
}

const WINDOW_MS = window.to.getTime() - window.from.getTime()

export type Kind = 'succeeded' | 'requires_capture' | 'declined' | 'canceled'

/** A payment on both sides. */
export interface Booked {
  readonly kind: Kind
  readonly tenantId: string
  readonly id: string
  readonly operationId: string
  readonly intent: PaymentIntent
  readonly amount: number
  readonly at: Date
  /** A partial refund, on both sides. */
  readonly refund: {
    readonly id: string
    readonly providerId: string
    readonly amount: number
  } | null
  /** The provider's ids of the movements. */
  readonly movements: { readonly capture: string | null; readonly refund: string | null }
}

export interface Books {
  readonly parts: RunParts
  readonly store: Store
  readonly databaseUrl: string
  readonly provider: RunningProvider
  /** The provider's own records, which tests can change directly. */
  readonly theirs: Storage
  readonly tenantIds: readonly string[]
  /** Adds payments to both sides, spread over the window. */
  fill(count: number): Promise<Booked[]>
  newRun(over?: { from: Date; to: Date }): Promise<Run>
  findings(): Promise<{ kind: string; object_id: string; tenant_id: string | null }[]>
  /** Removes all records but the tenants, on both sides, and all faults. */
  empty(): Promise<void>
  close(): Promise<void>
}

export async function openBooks(): Promise<Books> {
  const database = await createTestDatabase()
  const path = join(await makeTemporaryFolder(), 'provider.db')
  const provider = await startProvider({ path })
  const theirs = openStorage({ path, webhookUrl: null, systemNow: Date.now })
  const store = openTestStore(database.url)
  const tenantIds: string[] = []
  for (const name of ['one', 'two', 'three']) {
    tenantIds.push(await createTenant(store, { name, apiKey: `sk_test_books_${name}` }))
  }
  return {
    store,
    databaseUrl: database.url,
    provider,
    theirs,
    tenantIds,
    parts: {
      store,
      providers: createProviders([
        createStripeProvider({
          secretKey: 'sk_test_mock',
          apiBase: provider.url,
          timeoutMs: 10_000,
        }),
      ]),
      clock: systemClock,
      log: pino({ level: 'silent' }),
    },
    async fill(count) {
      const booked = theirs.transaction(() =>
        Array.from({ length: count }, (_, index) => bookTheirs(theirs, tenantIds, index, count)),
      )
      await bookOurs(store, booked)
      // Autovacuum would have done this by the next day.
      await store.sql`analyze payments, refunds, ledger_postings`
      return booked
    },
    newRun: (over = window) =>
      insertRun(store.sql, { provider: 'stripe', requestedBy: 'test', ...over }),
    findings: async () =>
      await store.sql`
        select kind, object_id, tenant_id from reconciliation_findings order by kind, object_id
      `,
    async empty() {
      await provider.control('POST', '/reset')
      await emptyTables(store.sql)
    },
    async close() {
      theirs.close()
      await store.close()
      await provider.close()
      await database.drop()
    },
  }
}

/**
 * Of twenty payments one is held, one declined and one canceled. One in ten captured ones is
 * refunded.
 */
function kindOf(index: number): Kind {
  const kinds: readonly Kind[] = ['requires_capture', 'declined', 'canceled']
  return kinds[index % 20] ?? 'succeeded'
}

function bookTheirs(
  { objects }: Storage,
  tenantIds: readonly string[],
  index: number,
  count: number,
): Booked {
  const at = new Date(window.from.getTime() + Math.floor((WINDOW_MS * (index + 0.5)) / count))
  const [kind, amount, id, operationId] = [kindOf(index), 1_000 + index, idAt(at), randomUUIDv7()]
  const tenantId = tenantIds[index % tenantIds.length] ?? ''
  const metadata = metadataOf({ tenantId, id, operationId })
  const intent = newIntent(kind, amount, at, metadata)
  objects.save(intent)
  const capture = kind === 'succeeded' ? movementOfCapture(intent, intent.created) : null
  if (capture !== null) objects.save(capture)
  if (kind !== 'succeeded' || index % 10 !== 3) {
    const movements = { capture: capture?.id ?? null, refund: null }
    return { kind, tenantId, id, operationId, intent, amount, at, refund: null, movements }
  }
  const refundId = idAt(at)
  const refund = newRefund(intent, {
    amount: 400,
    reason: null,
    metadata: { ...metadata, atomic_refund: showRefundId(refundId) },
    created: intent.created,
  })
  const movement = movementOfRefund(refund)
  objects.save(refund)
  objects.save(movement)
  const movements = { capture: capture?.id ?? null, refund: movement.id }
  const ours = { id: refundId, providerId: refund.id, amount: 400 }
  return { kind, tenantId, id, operationId, intent, amount, at, refund: ours, movements }
}

export function metadataOf({
  tenantId,
  id,
  operationId,
}: Pick<Booked, 'tenantId' | 'id' | 'operationId'>) {
  return {
    atomic_tenant: tenantId,
    atomic_payment: showPaymentId(id),
    atomic_operation: operationId,
  }
}

/** The provider's intent for a payment of ours of this kind. */
export function newIntent(
  kind: Kind,
  amount: number,
  at: Date,
  metadata: Record<string, string>,
): PaymentIntent {
  const terms = {
    amount,
    currency: 'usd',
    capture_method: 'manual',
    payment_method: 'pm_card_visa',
    allowed_payment_method_types: ['card'],
    payment_method_options: { card: cardOptions },
    payment_method_types: ['card'],
    customer: null,
    description: null,
    metadata,
  } as const
  const intent = newPaymentIntent(
    { ...terms, allowed_payment_method_types: ['card'], payment_method_types: ['card'] },
    Math.floor(at.getTime() / 1_000),
  )
  const charged = { ...intent, latest_charge: `ch_${intent.id.slice(3)}` }
  switch (kind) {
    case 'succeeded':
      return { ...charged, status: 'succeeded', amount_received: amount }
    case 'requires_capture':
      return { ...charged, status: 'requires_capture', amount_capturable: amount }
    case 'canceled':
      return { ...charged, status: 'canceled' }
    case 'declined': {
      const last_payment_error = {
        type: 'card_error',
        code: 'card_declined',
        message: 'Your card was declined.',
      } as const
      return { ...charged, status: 'requires_payment_method', last_payment_error }
    }
  }
}

/** A UUIDv7 with this time. */
export function idAt(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

async function bookOurs({ sql }: Store, booked: readonly Booked[]): Promise<void> {
  const common = { currency: 'usd', status: 'succeeded', previous_status: 'processing' }
  await sql`
    insert into payments ${sql(
      booked.map((entry) => ({
        ...common,
        tenant_id: entry.tenantId,
        id: entry.id,
        amount_minor: entry.amount,
        amount_captured_minor: entry.kind === 'succeeded' ? entry.amount : 0,
        amount_refunded_minor: entry.refund?.amount ?? 0,
        status: entry.kind,
        capture_method: 'manual',
        payment_method: 'pm_card_visa',
        metadata: '{}',
        failure_code: entry.kind === 'declined' ? 'card_declined' : null,
        provider: 'stripe',
        provider_payment_id: entry.intent.id,
        created_at: entry.at.toISOString(),
      })),
    )}
  `
  const refunds = booked.flatMap(({ refund, tenantId, id, at }) =>
    refund === null
      ? []
      : [
          {
            ...common,
            tenant_id: tenantId,
            id: refund.id,
            payment_id: id,
            amount_minor: refund.amount,
            metadata: '{}',
            provider_refund_id: refund.providerId,
            created_at: at.toISOString(),
          },
        ],
  )
  if (refunds.length > 0) await sql`insert into refunds ${sql(refunds)}`
  await sql`insert into ledger_postings ${sql(booked.flatMap(postingsOf))}`
}

function postingsOf({ kind, tenantId, id: paymentId, amount, refund, at }: Booked) {
  if (kind !== 'succeeded') return []
  const posting = (refundId: string | null, minor: number, debit: string, credit: string) => {
    const id = idAt(at)
    return {
      tenant_id: tenantId,
      id,
      transaction_id: id,
      operation_id: id,
      kind: refundId === null ? 'capture' : 'refund',
      payment_id: paymentId,
      refund_id: refundId,
      debit,
      credit,
      amount_minor: minor,
      currency: 'usd',
      created_at: at.toISOString(),
    }
  }
  const capture = posting(null, amount, 'provider_receivable', 'merchant_payable')
  if (refund === null) return [capture]
  return [capture, posting(refund.id, refund.amount, 'refunds', 'provider_receivable')]
}
