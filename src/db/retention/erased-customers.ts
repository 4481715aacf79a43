// Removes what is personal of a customer from a tenant's payments: who paid, with which card, and what
// the client wrote about it. Amounts, states, the provider's ids and the ledger stay.
import type { Flavor } from '../../domain/problems/flavor.ts'
import { finalStatuses } from '../../domain/payments/payment-status.ts'
import type { Transaction } from '../connection/client.ts'
import { allowLongStatements } from '../connection/transaction.ts'
import {
  advanceAnswerEpoch,
  dropResponseIfCompleted,
  type AnsweredOperation,
} from '../idempotency/dropped-responses.ts'

/** A customer of the provider, as the payments of a tenant name it. */
export interface TenantCustomer {
  readonly tenantId: string
  readonly provider: string
  readonly customer: string
}

/** Stands in for a payment method that was erased. */
const ERASED = 'erased'

/** How many rows were changed. */
export interface ErasedCounts {
  readonly payments: number
  readonly refunds: number
  readonly events: number
  readonly timelineEntries: number
  readonly responses: number
}

/** Takes the customer from the tenant, so that no new payment can name it. */
export async function releaseCustomer(
  tx: Transaction,
  { tenantId, provider, customer }: TenantCustomer,
): Promise<void> {
  await tx`
    delete from provider_customers
    where tenant_id = ${tenantId} and provider = ${provider}
      and id = ${customer}
  `
}

/** The number of payments of the customer that an operation may still change. */
export async function countOpenPayments(
  tx: Transaction,
  { tenantId, provider, customer }: TenantCustomer,
): Promise<number> {
  // It reads all payments of the tenant: there is no index on the customer.
  await allowLongStatements(tx)
  const [row] = await tx<{ open: number }[]>`
    select count(*)::int as open from payments
    where tenant_id = ${tenantId} and provider = ${provider}
      and customer = ${customer} and (
        status <> all(${finalStatuses}::text[])
        or exists (
          select from idempotency_keys
          where idempotency_keys.tenant_id = payments.tenant_id
            and idempotency_keys.payment_id = payments.id
            and idempotency_keys.status <> 'completed'
        )
      )
  `
  return row?.open ?? 0
}

/**
 * Erases the customer from its payments, their refunds, events and timelines, and drops the stored
 * responses about them. Their idempotency keys stay used.
 */
export async function eraseCustomer(
  tx: Transaction,
  { tenantId, provider, customer }: TenantCustomer,
  flavor: Flavor,
): Promise<ErasedCounts> {
  await allowLongStatements(tx)
  const ofPayment = { customer: null, description: null, metadata: {}, client_secret: null }
  const erased = await tx<{ id: string }[]>`
    update payments set
      customer = null, description = null, metadata = '{}', client_secret = null,
      return_url = null, payment_method = ${ERASED}
    where tenant_id = ${tenantId} and provider = ${provider}
      and customer = ${customer}
    returning id
  `
  const ids = erased.map(({ id }) => id)
  const refunds = await tx`
    update refunds set metadata = '{}'
    where tenant_id = ${tenantId}
      and payment_id = any(${ids}::uuid[])
  `
  const events = await tx`
    update events set object = object || case
        when object ? 'payment_method'
        then ${JSON.stringify({ ...ofPayment, payment_method: ERASED })}::jsonb
        when object ? 'metadata' then '{"metadata": {}}'::jsonb
        else '{}'::jsonb
      end
    where tenant_id = ${tenantId}
      and payment_id = any(${ids}::uuid[])
  `
  const timelineEntries = await tx`
    update phase_runs set asked = asked || ${JSON.stringify({ payment_method: ERASED })}::jsonb
    where tenant_id = ${tenantId}
      and payment_id = any(${ids}::uuid[]) and asked ? 'payment_method'
  `
  return {
    payments: ids.length,
    refunds: refunds.count,
    events: events.count,
    timelineEntries: timelineEntries.count,
    responses: await dropResponses(tx, tenantId, ids, flavor),
  }
}

/** Drops the responses about payments, and returns how many these were. */
async function dropResponses(
  tx: Transaction,
  tenantId: string,
  paymentIds: readonly string[],
  flavor: Flavor,
): Promise<number> {
  const operations = await tx<AnsweredOperation[]>`
    select tenant_id as "tenantId", id, status, payment_id as "paymentId", refund_id as "refundId"
    from idempotency_keys
    where tenant_id = ${tenantId} and status = 'completed'
      and payment_id = any(${[...paymentIds]}::uuid[])
  `
  if (operations.length > 0) await advanceAnswerEpoch(tx)
  let dropped = 0
  for (const operation of operations) {
    const result = await dropResponseIfCompleted(tx, operation, flavor)
    if (result === 'dropped') dropped += 1
  }
  return dropped
}
