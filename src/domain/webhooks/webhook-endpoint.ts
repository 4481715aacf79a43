// Defines webhook endpoints. The type contains no secrets, so a secret can only be shown where it is
// created.
import { ENDPOINT_TEST, eventTypes, EVERY_EVENT } from '../events/event-types.ts'
import { showId } from '../resource-id.ts'

/**
 * A deleted endpoint stays in the table for the deliveries that refer to it, but is no longer
 * shown.
 */
export const endpointStatuses = ['enabled', 'disabled', 'deleted'] as const
export type EndpointStatus = (typeof endpointStatuses)[number]

/**
 * `gone`: it answered 410. `failing`: every attempt has failed for a long time. `requested`: its
 * tenant disabled it.
 */
export const disabledReasons = ['gone', 'failing', 'requested'] as const
export type DisabledReason = (typeof disabledReasons)[number]

/** The event types that an endpoint can subscribe to. A test is sent to whichever it is for. */
export const wantedEventTypes = [
  EVERY_EVENT,
  ...eventTypes.filter((type) => type !== ENDPOINT_TEST),
]

/**
 * Limited because the transaction that writes an event also inserts a delivery for each endpoint.
 */
export const ENDPOINTS_MAX = 20

/**
 * How long a secret still signs after its rotation, so that the receiver has time to switch. The last
 * three do.
 */
export const PREVIOUS_SECRET_HOURS = 24

export interface WebhookEndpoint {
  readonly tenantId: string
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly eventTypes: readonly string[]
  readonly status: EndpointStatus
  readonly disabledReason: DisabledReason | null
  /** The end of the pause, while the circuit of the endpoint is open. */
  readonly pausedUntil: Date | null
  readonly createdAt: Date
}

export const showEndpointId = (id: string): string => showId('we', id)

/** The API path of an endpoint. */
export function endpointPath(id: string): string {
  return `/v1/webhook-endpoints/${showEndpointId(id)}`
}

/**
 * An endpoint as its events show it. Events go to the other endpoints of the tenant, too, so they
 * do not have its URL, which may contain a credential.
 */
export type EventEndpoint = Pick<
  WebhookEndpoint,
  'id' | 'description' | 'status' | 'disabledReason'
> & {
  readonly failingSince: Date | null
}

/** Renders the endpoint for an event; times in ISO 8601. */
export function presentEventEndpoint(endpoint: EventEndpoint): Record<string, unknown> {
  return {
    id: showEndpointId(endpoint.id),
    object: 'webhook_endpoint',
    description: endpoint.description,
    status: endpoint.status,
    disabled_reason: endpoint.disabledReason,
    failing_since: endpoint.failingSince?.toISOString() ?? null,
  }
}

// The circuit breaker of an endpoint: after repeated failures it is left alone for a growing, bounded
// time; then one attempt tests it. Deliveries wait meanwhile, and use up no tries.

/** How many consecutive failures, of whichever deliveries, open the circuit. */
export const FAILURES_TO_OPEN = 5

/** The first pause. Each further failure doubles it. */
export const FIRST_PAUSE_SECONDS = 30

/**
 * The longest pause. A receiver that works again waits no longer for its events, and one that does
 * not costs one attempt in an hour.
 */
export const LONGEST_PAUSE_SECONDS = 60 * 60

/** `half_open`: the pause is over, and one attempt may test the endpoint. */
export type CircuitState = 'closed' | 'open' | 'half_open'
