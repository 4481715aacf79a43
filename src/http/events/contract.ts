// Contracts of the endpoints for events.
import { z } from 'zod'
import { eventTypes } from '../../domain/events/event-types.ts'
import { anyEventSchema } from './schema.ts'
import { listOf } from '../contracts/fields.ts'
import type { Contracts } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

export const eventContracts: Contracts = {
  'GET /v1/events': {
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List events',
    description:
      'Returns your events, newest first. An event is shown only when no earlier one can still appear, so that a program can follow the list with `ending_before`.',
    isList: true,
    query: z.object({
      type: oneOf(eventTypes, 'Only return events of this type.'),
      payment: idFilter(
        'pay',
        'Only return the events of this payment, of its refunds and of its disputes.',
      ),
    }),
    answers: {
      200: { description: 'A page of events.', schema: listOf('EventList', anyEventSchema) },
    },
  },
  'GET /v1/events/:id': {
    operationId: 'getEvent',
    tag: 'Events',
    summary: 'Retrieve an event',
    description: 'Returns an event. Webhooks deliver the same object.',
    path: idInPath('evt', 'The id of the event.'),
    answers: { 200: { description: 'The event.', schema: anyEventSchema } },
  },
}
