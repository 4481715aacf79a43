// Announces early fraud warnings to the tenant, each once.
import { EARLY_FRAUD_WARNING } from '../../domain/events/event-types.ts'
import type { ProviderEvent } from '../../domain/events/provider-event.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Sql } from '../connection/client.ts'
import { inTenant } from '../connection/transaction.ts'
import { writePaymentEvents } from './write-events.ts'

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
  return await inTenant(sql, tenantId, async (tx) => {
    const { count } = await tx`
      insert into provider_events (
        provider, id, type, about, object_id, provider_payment_id, tenant_id, payment_id, status,
        occurred_at, settled_at
      )
      select
        ${provider}::text, ${`warning_${objectId}`}::text, 'warning', 'early_fraud_warning',
        ${objectId}::text, ${providerPaymentId}::text, ${tenantId}::uuid, ${paymentId}::uuid,
        'applied', now(), now()
      on conflict (provider, id) do nothing
    `
    if (count === 1) await writePaymentEvents(tx, tenantId, [paymentId], EARLY_FRAUD_WARNING)
    return count === 1
  })
}
