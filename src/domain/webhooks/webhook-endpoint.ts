// A webhook endpoint as the domain knows it, and as the API shows it. Its secrets are no part of it, so
// that they are shown nowhere but where they are made.
import { eventTypes } from '../events/event.ts'
import { parseId, showId } from '../resource-id.ts'

/** A deleted endpoint stays as a row, for the deliveries that name it, but is shown no more. */
export const endpointStatuses = ['enabled', 'disabled', 'deleted'] as const
export type EndpointStatus = (typeof endpointStatuses)[number]

/** `gone`: it answered 410. `failing`: every attempt has failed for long. */
export const disabledReasons = ['gone', 'failing'] as const
export type DisabledReason = (typeof disabledReasons)[number]

/** Stands for every type of event, those of later versions included. */
export const EVERY_EVENT = '*'

/** What an endpoint can be told of. */
export const wantedEventTypes = [EVERY_EVENT, ...eventTypes]

/** Every event is delivered to each endpoint that wants it, in the transaction that writes it. */
export const ENDPOINTS_MAX = 20

/** How long the secret before the last rotation still signs: a receiver has that long to change over. */
export const PREVIOUS_SECRET_HOURS = 24

export interface WebhookEndpoint {
  readonly tenantId: string
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly eventTypes: readonly string[]
  readonly status: EndpointStatus
  readonly disabledReason: DisabledReason | null
  readonly createdAt: Date
}

export const showEndpointId = (id: string): string => showId('we', id)
export const parseEndpointId = (text: string): string | undefined => parseId('we', text)

/** The path at which an endpoint can be read. */
export function endpointPath(id: string): string {
  return `/v1/webhook-endpoints/${showEndpointId(id)}`
}

/** The endpoint as the API shows it; times in ISO 8601. */
export function presentEndpoint(endpoint: WebhookEndpoint): Record<string, unknown> {
  return {
    id: showEndpointId(endpoint.id),
    object: 'webhook_endpoint',
    url: endpoint.url,
    description: endpoint.description,
    event_types: endpoint.eventTypes,
    status: endpoint.status,
    disabled_reason: endpoint.disabledReason,
    created_at: endpoint.createdAt.toISOString(),
  }
}

/** The same with its new secret, for the one answer that shows it. */
export function presentEndpointWithSecret(
  endpoint: WebhookEndpoint,
  secret: string,
): Record<string, unknown> {
  return { ...presentEndpoint(endpoint), secret }
}
