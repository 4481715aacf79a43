// The statements on webhook endpoints. Secrets go in here and come out for signing; what is read for
// showing never holds one.
import {
  ENDPOINTS_MAX,
  PREVIOUS_SECRET_HOURS,
  type DisabledReason,
  type EndpointStatus,
  type WebhookEndpoint,
} from '../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { seesTenant } from '../connection/row-security.ts'

/** The columns of a row of `webhook_endpoints` that may be shown. */
interface EndpointRow {
  tenant_id: string
  id: string
  url: string
  description: string | null
  event_types: string[]
  status: EndpointStatus
  disabled_reason: DisabledReason | null
  created_at: string
}

const shownColumns = (sql: Sql | Transaction): Fragment => sql`
  tenant_id, id, url, description, event_types, status, disabled_reason, created_at
`

function endpointFromRow(row: EndpointRow): WebhookEndpoint {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    url: row.url,
    description: row.description,
    eventTypes: row.event_types,
    status: row.status,
    disabledReason: row.disabled_reason,
    createdAt: new Date(row.created_at),
  }
}

/** What a tenant asks for, with the ids and the secret that were made for it. */
export interface NewEndpoint {
  readonly tenantId: string
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly eventTypes: readonly string[]
  readonly secret: string
}

/** Makes an endpoint in the first free place of the tenant. Undefined when there is none. */
export async function insertEndpoint(
  tx: Transaction,
  endpoint: NewEndpoint,
): Promise<WebhookEndpoint | undefined> {
  for (;;) {
    const [found] = await insertIfSlotFree(tx, endpoint)
    if (found === undefined) return undefined
    if (found.id !== null) return endpointFromRow(found as EndpointRow)
    // Another request has taken the place since; the next statement sees it taken.
  }
}

type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null }

/** No row without a free place; a row of nulls when the place was lost to another request. */
function insertIfSlotFree(tx: Transaction, endpoint: NewEndpoint) {
  return tx<Nullable<EndpointRow>[]>`
    with place as (
      select slot from generate_series(1, ${ENDPOINTS_MAX}::int) as slot
      except
      select slot from webhook_endpoints where tenant_id = ${endpoint.tenantId}
      order by slot limit 1
    ),
    made as (
      insert into webhook_endpoints (tenant_id, id, slot, url, description, event_types, secret)
      select
        ${endpoint.tenantId}::uuid, ${endpoint.id}::uuid, slot, ${endpoint.url}::text,
        ${endpoint.description}::text, ${[...endpoint.eventTypes]}::text[], ${endpoint.secret}::text
      from place
      on conflict (tenant_id, slot) do nothing
      returning ${shownColumns(tx)}
    )
    select made.* from place left join made on true where ${seesTenant(tx, endpoint.tenantId)}
  `
}

/** An endpoint that is not deleted. */
export async function findEndpoint(
  sql: Sql | Transaction,
  tenantId: string,
  id: string,
): Promise<WebhookEndpoint | undefined> {
  const [row] = await sql<EndpointRow[]>`
    select ${shownColumns(sql)} from webhook_endpoints
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id} and status <> 'deleted'
  `
  return row && endpointFromRow(row)
}

/** A tenant's endpoints, newest first. Undefined when the cursor names none of them. */
export async function listEndpoints(
  sql: Sql,
  tenantId: string,
  request: PageRequest,
): Promise<Page<WebhookEndpoint> | undefined> {
  const list = {
    columns: shownColumns(sql),
    entries: sql`
      from webhook_endpoints
      where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and status <> 'deleted'
    `,
    fromRow: endpointFromRow,
  }
  return await readPage(sql, list, request)
}

/**
 * Gives an endpoint a new secret; the one that it had signs for some hours more, and the one before that
 * no longer. Undefined when there is no such endpoint.
 */
export async function rotateSecret(
  tx: Transaction,
  { tenantId, id }: Pick<WebhookEndpoint, 'tenantId' | 'id'>,
  secret: string,
): Promise<WebhookEndpoint | undefined> {
  const [row] = await tx<EndpointRow[]>`
    update webhook_endpoints set
      secret = ${secret},
      previous_secret = secret,
      previous_secret_expires_at = now() + ${PREVIOUS_SECRET_HOURS} * interval '1 hour'
    where ${seesTenant(tx, tenantId)} and tenant_id = ${tenantId} and id = ${id} and status <> 'deleted'
    returning ${shownColumns(tx)}
  `
  return row && endpointFromRow(row)
}

/** Deletes an endpoint and its secrets; its deliveries stay. False when there is no such endpoint. */
export async function deleteEndpoint(
  tx: Transaction,
  { tenantId, id }: Pick<WebhookEndpoint, 'tenantId' | 'id'>,
): Promise<boolean> {
  const { count } = await tx`
    update webhook_endpoints set
      status = 'deleted',
      disabled_reason = null,
      slot = null,
      secret = null,
      previous_secret = null,
      previous_secret_expires_at = null
    where ${seesTenant(tx, tenantId)} and tenant_id = ${tenantId} and id = ${id} and status <> 'deleted'
  `
  return count === 1
}
