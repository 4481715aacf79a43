// Builds the store of the initial state.
import {
  OPERATIONS_DEAD_LETTERS,
  OPERATIONS_QUEUE,
  PROVIDER_EVENTS_QUEUE,
  WEBHOOKS_QUEUE,
} from '../../../src/db/queue/jobs.ts'
import { REFUNDED_PAYMENT_ID, TENANT_ID } from '../programs/ids.ts'
import type { Database } from '../store/database.ts'
import type { Row } from '../store/rows.ts'
import type { Schema } from '../store/schema.ts'
import { fullRow } from './canonical.ts'
import { AMOUNT_MINOR, type Space } from './space.ts'

/** Fees of the tenant, so that a capture posts a fee. */
export const FEES = { basisPoints: 290, fixedMinor: 30 }

const QUEUES = [OPERATIONS_QUEUE, OPERATIONS_DEAD_LETTERS, PROVIDER_EVENTS_QUEUE, WEBHOOKS_QUEUE]

export function initialDatabase(schema: Schema, { operation }: Pick<Space, 'operation'>): Database {
  const tables: Record<string, readonly Row[]> = {}
  for (const name of schema.keys()) tables[name] = []
  tables['tenants'] = [
    fullRow(schema, 'tenants', {
      id: TENANT_ID,
      name: 'model',
      fee_basis_points: FEES.basisPoints,
      fee_fixed_minor: FEES.fixedMinor,
      requires_reference: false,
      created_at: 0,
    }),
  ]
  tables['atomic_jobs.queue'] = QUEUES.map((name) =>
    fullRow(schema, 'atomic_jobs.queue', { name, policy: 'standard', retention_seconds: 1 }),
  )
  const refunded = {
    id: REFUNDED_PAYMENT_ID,
    status: 'succeeded',
    previous_status: 'processing',
    amount_captured_minor: AMOUNT_MINOR,
    provider_payment_id: 'pi_refunded',
  }
  if (operation === 'refund.create') tables['payments'] = [paymentRow(schema, refunded)]
  return tables
}

/** A payment with these values, of a size that all have. */
export function paymentRow(schema: Schema, values: Row): Row {
  return fullRow(schema, 'payments', {
    tenant_id: TENANT_ID,
    amount_minor: AMOUNT_MINOR,
    amount_captured_minor: 0,
    amount_refunded_minor: 0,
    amount_refunding_minor: 0,
    currency: 'usd',
    capture_method: 'automatic',
    payment_method: 'pm_card_visa',
    off_session: false,
    metadata: {},
    provider: 'stripe',
    created_at: 0,
    updated_at: 0,
    ...values,
  })
}
