// GET /admin/actions: lists the audit trail of operators.
import { listAdminActions, type AdminAction } from '../../db/operators/admin-actions.ts'
import { parseId, showId } from '../../domain/resource-id.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import type { Filter } from '../requests/list-query.ts'
import { parseFilteredQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'

const name = (expected: string): Filter<string> => ({
  expected,
  parse: (text) => (/^[A-Za-z0-9._-]{1,100}$/.test(text) ? text : undefined),
})

const knownFilters = {
  actor: name('the name of one operator'),
  subject: name('the id of one resource, as the API shows it'),
}

const parseActionId = (text: string): string | undefined => parseId('act', text)

export const listActions: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseActionId, knownFilters)
  const lookup = listAdminActions(parts.store.sql, filters, page)
  return showPage(await withinStoreTimeout(parts, lookup), presentAction)
}

function presentAction({ id, ...action }: AdminAction): Record<string, unknown> {
  return {
    id: showId('act', id),
    object: 'admin_action',
    actor: action.actor,
    action: action.action,
    subject: action.subject,
    details: action.details,
    happened_at: action.happenedAt,
  }
}
