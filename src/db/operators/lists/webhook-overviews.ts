// Reads webhook endpoints and deliveries of all tenants for operators. Tenants never see their
// results.
import type { WebhookDelivery } from '../../../domain/webhooks/webhook-delivery.ts'
import type { WebhookEndpoint } from '../../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql, Transaction } from '../../connection/client.ts'
import { matching, readPage, type Page, type PageRequest } from '../../connection/pages.ts'
import { asService, inService } from '../../connection/transaction.ts'
import {
  deliveryColumns,
  deliveryFromRow,
  meetsDeliveryFilters,
  type DeliveryRow,
  type DeliveryFilters,
} from '../../webhooks/webhook-deliveries.ts'
import {
  endpointColumns,
  endpointFromRow,
  type EndpointRow,
} from '../../webhooks/webhook-endpoints.ts'

/** A selection of endpoints: those of one status; `paused`, which are left alone after failures. */
export const endpointViews = ['enabled', 'disabled', 'paused'] as const
type EndpointView = (typeof endpointViews)[number]

/** Conditions of each view on the endpoint in `entry`. */
const conditions: Record<EndpointView, (sql: Sql) => Fragment> = {
  enabled: (sql) => sql`entry.status = 'enabled'`,
  disabled: (sql) => sql`entry.status = 'disabled'`,
  paused: (sql) => sql`entry.status = 'enabled' and entry.paused_until > now()`,
}

/** Lists the endpoints of all tenants, newest first. Undefined when none has the cursor's id. */
export async function listEndpointsOfTenants(
  sql: Sql,
  { tenant, view }: { tenant?: string | undefined; view?: EndpointView | undefined },
  request: PageRequest,
): Promise<Page<WebhookEndpoint> | undefined> {
  const list = {
    columns: endpointColumns(sql),
    entries: sql`from webhook_endpoints as entry where true ${matching(sql, { tenant_id: tenant })}`,
    filters: sql`and ${view ? conditions[view](sql) : sql`entry.status <> 'deleted'`}`,
    fromRow: endpointFromRow,
  }
  return await inService(sql, (tx) => readPage<EndpointRow, WebhookEndpoint>(tx, list, request))
}

/** Lists the deliveries of all tenants, newest first. Undefined when none has the cursor's id. */
export async function listDeliveriesOfTenants(
  sql: Sql,
  { tenant, ...filters }: DeliveryFilters & { readonly tenant?: string | undefined },
  request: PageRequest,
): Promise<Page<WebhookDelivery> | undefined> {
  const list = {
    columns: deliveryColumns(sql),
    entries: sql`from webhook_deliveries as entry where true ${matching(sql, { tenant_id: tenant })}`,
    filters: meetsDeliveryFilters(sql, filters),
    fromRow: deliveryFromRow,
    ordered: { table: 'webhook_deliveries', tenantId: tenant ?? null },
  } as const
  return await inService(sql, (tx) => readPage(tx, list, request))
}

/** Finds an endpoint of any tenant that is not deleted. */
export async function findEndpointOfTenants(
  sql: Sql | Transaction,
  id: string,
): Promise<WebhookEndpoint | undefined> {
  const [row] = await asService(sql)<EndpointRow[]>`
    select ${endpointColumns(sql)} from webhook_endpoints where id = ${id} and status <> 'deleted'
  `
  return row && endpointFromRow(row)
}

/** Finds a delivery of any tenant, with its last attempts. */
export async function findDeliveryOfTenants(
  sql: Sql | Transaction,
  id: string,
): Promise<WebhookDelivery | undefined> {
  const [row] = await asService(sql)<DeliveryRow[]>`
    select ${deliveryColumns(sql)} from webhook_deliveries as entry where id = ${id}
  `
  return row && deliveryFromRow(row)
}
