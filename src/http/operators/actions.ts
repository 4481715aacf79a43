// GET /admin/actions: the audit trail of what operators did.
import { admin } from '../server/route.ts'
import { z } from 'zod'
import { listOf, anyMembers, idField, timeField } from '../contracts/fields.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { listAdminActions, type AdminAction } from '../../db/operators/admin-actions.ts'
import { parseId, showId } from '../../domain/resource-id.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import { type Filter, parseFilteredQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/answer.ts'

const adminActionSchema = z
  .object({
    id: idField('act', 'The id of the entry.'),
    object: z.literal('admin_action'),
    actor: z.string().meta({
      description:
        'The name of the operator, or `reconciler` for the verdict on what an operator claimed.',
    }),
    action: z.string().meta({
      description:
        'What the operator did. `operation.resolve` is a claim, and `operation.resolve.verdict` says whether a look-up verified it.',
    }),
    subject: z
      .string()
      .nullable()
      .meta({ description: 'The id of the resource that the action concerned.' }),
    details: anyMembers.meta({
      description: 'The result and the parameters. For a refusal, `refused` is the problem type.',
    }),
    happened_at: timeField('When the action happened.'),
  })
  .meta({ id: 'AdminAction', description: 'An entry of the audit trail of operators.' })

const name = (expected: string): Filter<string> => ({
  expected,
  parse: (text) => (/^[A-Za-z0-9._-]{1,100}$/.test(text) ? text : undefined),
})

const knownFilters = {
  actor: name('the name of one operator'),
  subject: name('the id of one resource, as the API shows it'),
}

const parseActionId = (text: string): string | undefined => parseId('act', text)

const listActions: AdminEndpoint = async (parts, request) => {
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

export const actionEndpoints: Endpoints = {
  'GET /admin/actions': {
    serve: admin(listActions),
    operationId: 'listActions',
    tag: 'Operators',
    summary: 'List the audit trail',
    description:
      'Returns what operators did, newest first. Refused requests are included, with the type of the problem.',
    isList: true,
    query: z.object({
      actor: z
        .string()
        .meta({ description: 'Only return the actions of the operator with this name.' })
        .optional(),
      subject: z
        .string()
        .meta({ description: 'Only return actions on the resource with this id.' })
        .optional(),
    }),
    answers: {
      200: {
        description: 'A page of the audit trail.',
        schema: listOf('AdminActionList', adminActionSchema),
      },
    },
  },
}
