// Announces early fraud warnings to the tenant, each once.
import { EARLY_FRAUD_WARNING } from '../../domain/events/event-types.ts'
import type { ProviderEvent } from '../../domain/events/provider-event.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Sql } from '../connection/client.ts'
import { insertEventsOfTypes } from './event-records.ts'
import { seesTenant } from '../connection/row-security.ts'

/**
 * Inserts the event `payment.early_fraud_warning`. The provider sends several events about a warning.
 * An internal event of the inbox, with an id made from the warning, lets one of them announce it.
 * Returns whether this call did.
 */
export async function announceEarlyFraudWarning(
  sql: Sql,
  { tenantId, id: paymentId, providerPaymentId }: Payment,
  { provider, objectId }: Pick<ProviderEvent, 'provider' | 'objectId'>,
): Promise<boolean> {
  const { count } = await sql`
    with announced as (
      insert into provider_events (
        provider, id, type, about, object_id, provider_payment_id, tenant_id, payment_id, status,
        occurred_at, settled_at
      )
      values (
        ${provider}, ${`warning_${objectId}`}, 'warning', 'early_fraud_warning', ${objectId},
        ${providerPaymentId}, ${tenantId}, ${paymentId}, 'applied', now(), now()
      )
      on conflict (provider, id) do nothing
      returning tenant_id, payment_id
    ),
    resource as (
      select payments.* from payments
      join announced
        on payments.tenant_id = announced.tenant_id and payments.id = announced.payment_id
    ),
    ${insertEventsOfTypes(sql, { cte: 'resource', kind: 'payment' }, [EARLY_FRAUD_WARNING])}
    select from announced where ${seesTenant(sql, tenantId)}
  `
  return count === 1
}
