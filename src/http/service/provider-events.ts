// POST /provider/webhooks and, for each further provider, a route below it: receive the events of a
// provider. They only verify the signature, which is the authentication, and store the event; a worker
// applies it later.
import { open, headerLines, withinStoreTimeout, type OpenEndpoint } from '../endpoint.ts'
import { z } from 'zod'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { anyMembers } from '../contracts/fields.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { storeProviderEvent } from '../../db/events/provider-events.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../responses/answer.ts'
import { eventSources, type EventSource } from '../../provider/adapters.ts'
import { readBody } from '../requests/read-body.ts'

const received = {
  description: 'The event is stored, or was stored before.',
  schema: z.object({ received: z.literal(true) }).meta({ id: 'Received' }),
}

const eventProblems = [
  'webhook-signature-invalid',
  'webhook-malformed',
  'route-not-found',
  'body-too-large',
  'unsupported-content-type',
  'unsupported-content-encoding',
  'store-unavailable',
] as const satisfies readonly ProblemType[]

/** An event contains a whole object of the provider with its lists; 64 KiB would not be enough. */
export const EVENT_MAX_BYTES = 1024 * 1024

/**
 * Answers 200 once the event is stored, also when it was stored before. With any other answer the
 * provider sends the event again.
 */
function receiveEvent({ name: provider, secrets, route }: EventSource): OpenEndpoint {
  const { form, signatureHeader } = route
  const contentType = form === undefined ? 'json' : 'form'
  const header = signatureHeader?.name.toLowerCase()
  return async (parts, request) => {
    const read = parts.providers.eventReaders.get(provider)
    if (read === undefined) {
      throw new ProblemError('route-not-found', { detail: `${secrets[0]} is not set.` })
    }
    const body = await readBody(parts, request, { maxBytes: EVENT_MAX_BYTES, contentType })
    const signatures = header === undefined ? [] : headerLines(request, header)
    const event = await read(body, signatures.length === 1 ? signatures[0] : undefined)
    const isNew = await withinStoreTimeout(parts, storeProviderEvent(parts.store.sql, event))
    if (isNew) parts.wake.eventWorkers()
    const { id, type } = event
    parts.log.info({ provider, event: id, type, repeated: !isNew }, 'provider event stored')
    return showJson({ received: true })
  }
}

export const providerEventEndpoints: Endpoints = Object.fromEntries(
  eventSources.map((source) => [`POST ${source.route.path}`, endpointOf(source)]),
)

function endpointOf(source: EventSource): Endpoints[string] {
  const { operationId, description, signatureHeader, form, example } = source.route
  const problems = [...eventProblems, 'webhook-too-old'] as const
  return {
    serve: open(receiveEvent(source)),
    operationId,
    tag: 'Provider',
    summary: `Receive an event of ${source.title}`,
    description,
    ...(signatureHeader && {
      headers: z.object({
        [signatureHeader.name]: z.string().meta({ description: signatureHeader.description }),
      }),
    }),
    ...(form === undefined
      ? { body: { schema: anyMembers, example }, problems: [...problems, 'malformed-json'] }
      : {
          body: { contentType: 'application/x-www-form-urlencoded', schema: form, example },
          problems,
        }),
    answers: { 200: received },
  }
}
