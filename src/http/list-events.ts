// GET /v1/events
import { listEvents as readEvents } from '../db/events/events.ts'
import { eventTypes, parseEventId, presentEvent } from '../domain/events/event.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { oneOfFilter, paymentFilter } from './list-filters.ts'
import { parseFilteredQuery } from './list-query.ts'
import { showPage } from './show-page.ts'

const filtersKnown = {
  type: oneOfFilter('one type of event, such as payment.succeeded', eventTypes),
  payment: paymentFilter,
}

export const listEvents: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(request.query, parseEventId, filtersKnown)
  const { type, payment: paymentId } = filters
  return showPage(await readEvents(store.sql, tenantId, { type, paymentId }, page), presentEvent)
}
