// GET /v1/events/:id
import { findEvent } from '../db/events/events.ts'
import { ProblemError } from '../domain/problems/problem-error.ts'
import { parseEventId, presentEvent } from '../domain/events/event.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'

export const getEvent: TenantEndpoint = async ({ store }, request, tenantId) => {
  const id = parseEventId(String(request.params['id']))
  const event = id === undefined ? undefined : await findEvent(store.sql, tenantId, id)
  if (event === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentEvent(event))
}
