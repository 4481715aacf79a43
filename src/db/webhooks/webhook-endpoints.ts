// Creates, reads, changes, rotates and deletes webhook endpoints. Rows that the API shows never
// contain a secret.
import { ENDPOINT_TEST, EVERY_EVENT } from '../../domain/events/event-types.ts'
import {
  ENDPOINTS_MAX,
  PREVIOUS_SECRET_HOURS,
  type DisabledReason,
  type EndpointStatus,
  type WebhookEndpoint,
} from '../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { endpointSecret } from '../../encryption/encryption.ts'
import { findIn, listOf, type PageRequest } from '../connection/pages.ts'
import { objectOf, rowsOf, type RowOf } from '../connection/rows.ts'
import { together } from '../connection/transaction.ts'
import { writeEndpointEvent } from '../events/write-events.ts'
import type { webhookEndpoints } from '../schema/events.ts'

/** The columns of `webhook_endpoints` that the API may show. */
type EndpointRow = Omit<
  RowOf<typeof webhookEndpoints>,
  'slot' | 'failing_since' | 'consecutive_failures' | `${string}secret${string}`
>

type EndpointRef = Pick<WebhookEndpoint, 'tenantId' | 'id'>

/** An endpoint that a tenant requests, with its generated id and secret. */
export type NewEndpoint = Pick<
  WebhookEndpoint,
  'tenantId' | 'id' | 'url' | 'description' | 'eventTypes'
> & { readonly secret: string }

/** Creates an endpoint in the first free slot of the tenant. Undefined when there is none. */
export async function insertEndpoint(
  tx: Transaction,
  endpoint: NewEndpoint,
): Promise<WebhookEndpoint | undefined> {
  const { tenantId, id, url, description } = endpoint
  const secret = endpointSecret.encrypt(endpoint, endpoint.secret)
  for (;;) {
    const [free] = await tx<{ slot: number }[]>`
      select slot from generate_series(1, ${ENDPOINTS_MAX}::int) as slot
      where slot not in (
        select slot from webhook_endpoints where tenant_id = ${tenantId} and slot is not null
      )
      order by slot limit 1
    `
    if (free === undefined) return undefined
    const eventTypes = tx`${[...endpoint.eventTypes]}::text[]`
    const row = { tenantId, id, slot: free.slot, url, description, eventTypes, secret }
    const { count } = await tx`
      insert into webhook_endpoints ${rowsOf(tx, [row])}
      on conflict (tenant_id, slot) do nothing
    `
    if (count === 1) return await findEndpoint(tx, tenantId, id)
    // A concurrent request took the slot; the next statement sees that.
  }
}

const endpointsWhere = (sql: Sql | Transaction, filters = sql`and status <> 'deleted'`) => ({
  table: 'webhook_endpoints',
  columns: sql`
    tenant_id, id, url, description, event_types, status, disabled_reason,
    case when paused_until > now() then paused_until end as paused_until, created_at
  `,
  filters,
  fromRow: (row: EndpointRow): WebhookEndpoint => objectOf(row),
})

/** Finds an endpoint of a tenant, or of any, that is not deleted. */
export const findEndpoint = (sql: Sql | Transaction, tenantId: string | null, id: string) =>
  findIn(sql, tenantId, endpointsWhere(sql), { id })

/** Lists a tenant's endpoints, or those of all tenants. */
export const listEndpoints = (
  sql: Sql,
  tenantId: string | null,
  request: PageRequest,
  filters?: Fragment,
) => listOf(sql, tenantId, endpointsWhere(sql, filters), request)

/** What a tenant changes; an absent member stays as it is. */
export interface EndpointChanges {
  readonly url?: string | undefined
  readonly description?: string | null | undefined
  readonly eventTypes?: readonly string[] | undefined
  readonly disabled?: boolean | undefined
}

/**
 * Changes an endpoint. An endpoint that the service has disabled keeps that reason when its tenant
 * disables it too. Another URL, and being enabled again, end the record of its failures. Undefined
 * when there is no such endpoint.
 */
export async function updateEndpoint(
  tx: Transaction,
  { tenantId, id }: EndpointRef,
  { url, description, eventTypes, disabled }: EndpointChanges,
): Promise<WebhookEndpoint | undefined> {
  const requested: DisabledReason = 'requested'
  const wantedStatus: EndpointStatus | null =
    disabled === undefined ? null : disabled ? 'disabled' : 'enabled'
  const newUrl = tx`coalesce(${url ?? null}::text, url)`
  const newStatus = tx`coalesce(${wantedStatus}::text, status)`
  const isSameReceiver = tx`(${newUrl} = url and ${newStatus} = status)`
  const change = async () =>
    await tx`
      update webhook_endpoints set
        url = ${newUrl},
        description = case
          when ${description !== undefined} then ${description ?? null}::text else description end,
        event_types = coalesce(${eventTypes ? [...eventTypes] : null}::text[], event_types),
        status = ${newStatus},
        disabled_reason = case
          when ${newStatus} = 'disabled' then coalesce(disabled_reason, ${requested}::text) end,
        failing_since = case when ${isSameReceiver} then failing_since end,
        consecutive_failures = case when ${isSameReceiver} then consecutive_failures else 0 end,
        paused_until = case when ${isSameReceiver} then paused_until end
      where tenant_id = ${tenantId} and id = ${id} and status <> 'deleted'
    `
  const [, endpoint] = await together([change(), findEndpoint(tx, tenantId, id)])
  return endpoint
}

/**
 * Gives an endpoint a new secret. The last three also sign until some hours after they were replaced.
 * Undefined when there is no such endpoint.
 */
export async function rotateSecret(
  tx: Transaction,
  { tenantId, id }: EndpointRef,
  secret: string,
): Promise<WebhookEndpoint | undefined> {
  const change = async () =>
    await tx`
      update webhook_endpoints set
        secret = ${endpointSecret.encrypt({ tenantId, id }, secret)},
        previous_secret = secret,
        previous_secret_expires_at = now() + ${PREVIOUS_SECRET_HOURS} * interval '1 hour',
        second_previous_secret = previous_secret,
        second_previous_secret_expires_at = previous_secret_expires_at,
        third_previous_secret = second_previous_secret,
        third_previous_secret_expires_at = second_previous_secret_expires_at
      where tenant_id = ${tenantId} and id = ${id} and status <> 'deleted'
    `
  const [, endpoint] = await together([change(), findEndpoint(tx, tenantId, id)])
  return endpoint
}

/**
 * Deletes an endpoint and its secrets; its deliveries stay. False when there is no such endpoint.
 */
export async function deleteEndpoint(
  tx: Transaction,
  { tenantId, id }: EndpointRef,
): Promise<boolean> {
  const { count } = await tx`
    update webhook_endpoints set
      status = 'deleted',
      disabled_reason = null,
      slot = null,
      secret = null,
      previous_secret = null,
      previous_secret_expires_at = null,
      second_previous_secret = null,
      second_previous_secret_expires_at = null,
      third_previous_secret = null,
      third_previous_secret_expires_at = null
    where tenant_id = ${tenantId} and id = ${id} and status <> 'deleted'
  `
  return count === 1
}

/**
 * Inserts a test event, with its delivery to this endpoint alone, whose pause ends. Returns the id
 * of the delivery; undefined when there is no such endpoint, or when it is disabled.
 */
export async function insertTestEvent(
  tx: Transaction,
  endpoint: EndpointRef,
): Promise<string | undefined> {
  const { tenantId, id } = endpoint
  const { count } = await tx`
    select id from webhook_endpoints
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'enabled'
    for no key update
  `
  if (count === 0) return undefined
  const [, [deliveryId]] = await together([
    endPause(tx, endpoint),
    writeEndpointEvent(tx, endpoint, ENDPOINT_TEST, [{ id, event_types: [EVERY_EVENT] }]),
  ])
  return deliveryId
}

/** Lets the next attempt test an endpoint that has a pause. */
export async function endPause(tx: Transaction, { tenantId, id }: EndpointRef): Promise<void> {
  await tx`
    update webhook_endpoints set paused_until = now()
    where tenant_id = ${tenantId} and id = ${id}
      and paused_until > now()
  `
}
