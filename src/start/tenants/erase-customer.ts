// `npm run tenants -- erase`: removes what is personal of a customer from a tenant's payments: who paid, with
// which card, and what the client wrote about it. Amounts, states, the provider's ids and the ledger stay.
import { readConfig } from '../../config.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { allowLongStatements } from '../../db/connection/transaction.ts'
import { dropResponses, type AnsweredOperation } from '../../db/idempotency/dropped-responses.ts'
import { findTenant } from '../../db/tenants/tenants.ts'
import { finalStatuses } from '../../domain/payments/payment.ts'
import type { Flavor } from '../../domain/problems/flavor.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import { readCustomers, readTenantId, UsageError, type Given } from './arguments.ts'
import { change, refuse, type Command } from './commands.ts'

/** A customer of the provider, as the payments of a tenant name it. */
interface TenantCustomer {
  readonly tenantId: string
  readonly provider: string
  readonly customer: string
}

/** Stands in for a payment method that was erased. */
const ERASED = 'erased'

/** Erases one customer in one transaction. The audit record has only the counts. */
export function erase({ subject, rest }: Given): Command {
  const tenantId = readTenantId(subject)
  const [customer, ...others] = readCustomers(rest)
  if (customer === undefined || others.length > 0) {
    throw new UsageError('erase takes the id of one tenant and the id of one customer')
  }
  return (store) =>
    change(store, 'customer.erase', async (tx) => {
      if ((await findTenant(tx, tenantId)) === undefined) refuse(`there is no tenant ${subject}`)
      const named = { tenantId, provider: readConfig().PROVIDER, customer }
      // There is no index on the customer: each statement reads all payments of the tenant.
      await allowLongStatements(tx)
      await releaseCustomer(tx, named)
      const open = await countOpenPayments(tx, named)
      if (open > 0) {
        refuse(`${open} payments of ${customer} have not ended. Nothing was erased; erase it later`)
      }
      const counts = await eraseCustomer(tx, named, readConfig().IDEMPOTENCY_FLAVOR)
      const { payments, refunds, events, timelineEntries, responses } = counts
      const printed =
        `Erased ${customer} from ${payments} payments, ${refunds} refunds, ${events} events and ` +
        `${timelineEntries} timeline entries, and dropped ${responses} stored responses.\n` +
        'The ledger is unchanged. The provider has records of its own: erase the customer there too.\n'
      return { subject: showTenantId(tenantId), details: { result: 'erased', ...counts }, printed }
    })
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
 * responses about them. Their idempotency keys stay used. Returns how many rows were changed.
 */
export async function eraseCustomer(
  tx: Transaction,
  { tenantId, provider, customer }: TenantCustomer,
  flavor: Flavor,
) {
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
  const operations = await tx<AnsweredOperation[]>`
    select tenant_id as "tenantId", id, payment_id as "paymentId", refund_id as "refundId"
    from idempotency_keys
    where tenant_id = ${tenantId} and status = 'completed'
      and payment_id = any(${ids}::uuid[])
  `
  return {
    payments: ids.length,
    refunds: refunds.count,
    events: events.count,
    timelineEntries: timelineEntries.count,
    responses: await dropResponses(tx, operations, flavor),
  }
}
