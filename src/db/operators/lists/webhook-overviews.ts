// Reads webhook endpoints and deliveries of all tenants for operators. Tenants never see their
// results.
import type { WebhookDelivery } from '../../../domain/webhooks/webhook-delivery.ts'
import type { WebhookEndpoint } from '../../../domain/webhooks/webhook-endpoint.ts'
import type { Fragment, Sql, Transaction } from '../../connection/client.ts'
import type { Page, PageRequest } from '../../connection/pages.ts'
import { asService } from '../../connection/transaction.ts'
import {
  deliveryColumns,
  deliveryFromRow,
  type DeliveryRow,
} from '../../webhooks/webhook-deliveries.ts'
import {
  endpointColumns,
  endpointFromRow,
  listEndpoints,
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

/** Lists the endpoints of all tenants, or of one, newest first. Undefined as from `listEndpoints`. */
export const listEndpointsOfTenants = (
  sql: Sql,
  { tenant = null, view }: { tenant?: string | null; view?: EndpointView | undefined },
  request: PageRequest,
): Promise<Page<WebhookEndpoint> | undefined> =>
  listEndpoints(sql, tenant, request, view && sql`and ${conditions[view](sql)}`)

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
