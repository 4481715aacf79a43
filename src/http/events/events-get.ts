// GET /v1/events and GET /v1/events/:id: list and return events.
import { listEvents as readEvents, findEvent } from '../../db/events/events.ts'
import { eventTypes } from '../../domain/events/event-types.ts'
import { parseEventId, presentEvent } from '../../domain/events/event.ts'
import type { TenantEndpoint } from '../endpoint.ts'
import { oneOfFilter, paymentFilter } from '../requests/list-filters.ts'
import { parseFilteredQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showJson } from '../responses/answer.ts'

const knownFilters = {
  type: oneOfFilter('one event type, such as payment.succeeded', eventTypes),
  payment: paymentFilter,
}

export const listEvents: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(request.query, parseEventId, knownFilters)
  const { type, payment: paymentId } = filters
  return showPage(await readEvents(store.sql, tenantId, { type, paymentId }, page), presentEvent)
}

export const getEvent: TenantEndpoint = async ({ store }, request, tenantId) => {
  const id = parseEventId(String(request.params['id']))
  const event = id === undefined ? undefined : await findEvent(store.sql, tenantId, id)
  if (event === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentEvent(event))
}
