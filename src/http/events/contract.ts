// The contracts of the endpoints of events.
import { z } from 'zod'
import { eventTypes } from '../../domain/events/event.ts'
import { anyEventSchema } from './schema.ts'
import { listOf } from '../contracts/fields.ts'
import type { Contracts } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

export const eventContracts: Contracts = {
  'GET /v1/events': {
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List events, newest first',
    isList: true,
    query: z.object({
      type: oneOf(eventTypes, 'Only those of this type.'),
      payment: idFilter('pay', 'Only those of this payment and its refunds.'),
    }),
    answers: {
      200: { description: 'A page of events.', schema: listOf('EventList', anyEventSchema) },
    },
  },
  'GET /v1/events/:id': {
    operationId: 'getEvent',
    tag: 'Events',
    summary: 'Read an event',
    path: idInPath('evt', 'The event.'),
    answers: { 200: { description: 'The event.', schema: anyEventSchema } },
  },
}
