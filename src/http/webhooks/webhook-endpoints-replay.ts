// POST /v1/webhook-endpoints/:id/replay: starts the failed deliveries to an endpoint again.
import { z } from 'zod'
import { replayFailedDeliveries } from '../../db/webhooks/webhook-deliveries.ts'
import { findEndpoint } from '../../db/webhooks/webhook-endpoints.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { REPLAY_MAX } from '../../domain/webhooks/webhook-delivery.ts'
import { showEndpointId } from '../../domain/webhooks/webhook-endpoint.ts'
import { keyedLocally } from '../keyed/keyed-locally.ts'
import { jsonType } from '../responses/answer.ts'
import { endpointNotFound, requestedEndpointId } from './webhook-endpoints-find.ts'

export const replayWebhooksBody = z
  .strictObject({
    since: z.iso.datetime({ offset: true }).meta({
      description:
        'Only deliveries of events that happened at this time or later. A time in RFC 3339.',
    }),
  })
  .meta({ id: 'ReplayWebhooks' })

export const replayWebhooks = keyedLocally({
  operation: 'webhook_endpoint.replay',
  body: replayWebhooksBody,
  read: ({ request, body: { since } }) => ({
    id: requestedEndpointId(request),
    since: new Date(since),
  }),
  // The 202 is a final response: this operation only makes the deliveries pending again.
  async work(tx, { id, since }, tenantId) {
    const endpoint = (await findEndpoint(tx, tenantId, id)) ?? endpointNotFound()
    if (endpoint.status !== 'enabled') throw new ProblemError('webhook-endpoint-disabled')
    const deliveries = await replayFailedDeliveries(tx, endpoint, since, REPLAY_MAX)
    const replay = presentReplay({ id, since, deliveries })
    return { status: 202, headers: jsonType, body: JSON.stringify(replay) }
  },
})

interface Replay {
  /** The id of the endpoint. */
  readonly id: string
  readonly since: Date
  /** How many deliveries were started again. */
  readonly deliveries: number
}

export function presentReplay({ id, since, deliveries }: Replay): Record<string, unknown> {
  return {
    object: 'webhook_replay',
    endpoint: showEndpointId(id),
    since: since.toISOString(),
    deliveries,
    has_more: deliveries === REPLAY_MAX,
  }
}
