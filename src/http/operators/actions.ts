// GET /admin/actions: the audit trail of what operators did.
import { z } from 'zod'
import { listOf, matching } from '../../db/connection/pages.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { anyMembers, idField, shownText, timeField } from '../contracts/fields.ts'
import { byText } from '../contracts/parameters.ts'
import { matchingFilter } from '../requests/list-query.ts'
import { readList } from '../contracts/reads.ts'

const schema = z
  .object({
    id: idField('act', 'The id of the entry.'),
    object: z.literal('admin_action'),
    actor: shownText(
      'The name of the operator, or `reconciler` for the verdict on what an operator claimed.',
    ),
    action: shownText(
      'What the operator did. `operation.resolve` is a claim, and `operation.resolve.verdict` says whether a lookup verified it.',
    ),
    subject: shownText('The id of the resource that the action concerned.').nullable(),
    details: anyMembers.meta({
      description: 'The result and the parameters. For a refusal, `refused` is the problem type.',
    }),
    happened_at: timeField('When the action happened.'),
  })
  .meta({ id: 'AdminAction', description: 'An entry of the audit trail of operators.' })

const name = (expected: string) => matchingFilter(/^[A-Za-z0-9._-]{1,100}$/, expected)

export const actionEndpoints: Endpoints = {
  'GET /admin/actions': readList({
    operationId: 'listActions',
    summary: 'List the audit trail',
    description:
      'Returns what operators did, newest first. Refused requests are included, with the type of the problem.',
    of: { prefix: 'act', schema },
    filters: {
      actor: byText(
        name('the name of one operator'),
        'Only return the actions of the operator with this name.',
      ),
      subject: byText(
        name('the id of one resource, as the API shows it'),
        'Only return actions on the resource with this id.',
      ),
    },
    read({ store: { sql } }, page, filters) {
      const ordered = { table: 'admin_actions' } as const
      const list = { ...ordered, ordered, filters: matching(sql, filters) }
      return listOf(sql, undefined, list, page)
    },
    answer: 'A page of the audit trail.',
  }),
}
