// The endpoints below /admin/reconciliations and /admin/findings: comparisons with the provider.
import { z } from 'zod'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import { findIn, listOf, matching, type PageRequest } from '../../db/connection/pages.ts'
import { objectsOf } from '../../db/connection/rows.ts'
import type { Finding } from '../../db/operations/findings.ts'
import { findingKinds, findingStatuses, runStatuses } from '../../domain/operations/finding.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showId } from '../../domain/resource-id.ts'
import { providerNames } from '../../provider/adapters.ts'
import { findRun, listRuns, requestReconciliation } from '../../reconciliation/runs.ts'
import type { Endpoints } from '../contracts/contract.ts'
import {
  anyMembers,
  idField,
  listOf as pageOf,
  shownText,
  timeField,
  render,
} from '../contracts/fields.ts'
import { byId, byName } from '../contracts/parameters.ts'
import { optionalField, textField } from '../requests/validate-body.ts'
import { timeFilter } from '../requests/list-query.ts'
import { readOne, readList, presentOne } from '../contracts/reads.ts'
import { adminCommand } from './commands.ts'

const reconciliationShape = z.object({
  id: idField('rec', 'The id of the reconciliation.'),
  object: z.literal('reconciliation'),
  provider: shownText('The name of the provider.'),
  from: timeField('The beginning of the period, inclusive.'),
  to: timeField('The end of the period, exclusive.'),
  status: z.enum(runStatuses).meta({ description: 'The status of the reconciliation.' }),
  requested_by: shownText('Who requested the reconciliation.'),
  counts: z.record(z.string(), z.number()).meta({
    description:
      'How many objects were compared, found to differ and repaired. `fees`: how many fees of the provider were posted. `account_movements`: how many movements belong to no payment, such as payouts.',
  }),
  last_error: shownText('The error of the last attempt.').nullable(),
  created_at: timeField('When the reconciliation was requested.'),
  finished_at: timeField('When the reconciliation ended.').nullable(),
})

const findingSchema = z
  .object({
    id: idField('fnd', 'The id of the finding.'),
    object: z.literal('finding'),
    kind: z.enum(findingKinds).meta({
      description:
        "The kind of finding. `outcome_unknown`: the service could not find out whether an operation happened. `operation_abandoned`: an operation stopped before it was completed, and its client did not retry. `missing_here`: the provider has an object that our records do not have. `missing_there`: our records have an object that the provider does not have. `amount_differs`, `currency_differs` and `status_differs`: our record and the provider's object differ. `ledger_differs`: the provider moved another amount than the ledger states. `charged_twice`, `held_twice` and `refunded_twice`: two objects of the provider belong to the same operation, and the second one took, holds or returned money, or may still do so. `unknown_movement`: money moved on the provider's balance, and the service cannot say why.",
    }),
    status: z.enum(findingStatuses).meta({ description: 'The status of the finding.' }),
    provider: shownText('The name of the provider.'),
    about: shownText("The id of the object concerned, either the provider's or ours."),
    reconciliation: idField('rec', 'The reconciliation that opened the finding.').nullable(),
    tenant: idField('tnt', 'The tenant concerned.').nullable(),
    payment: idField('pay', 'The payment concerned.').nullable(),
    refund: idField('re', 'The refund concerned.').nullable(),
    operation: idField('op', 'The operation concerned.').nullable(),
    ours: anyMembers.nullable().meta({ description: 'What our records state.' }),
    theirs: anyMembers.nullable().meta({ description: 'What the provider states.' }),
    opened_at: timeField('When the finding was opened.'),
    resolved_at: timeField('When the finding was resolved.').nullable(),
    resolved_by: shownText('Who resolved the finding.').nullable(),
    note: shownText('What was done about the finding.').nullable(),
  })
  .meta({
    id: 'Finding',
    description: 'A problem that the service could not repair by itself and that needs a person.',
  })

const findingListSchema = pageOf('FindingList', findingSchema)

const reconciliationWithFindingsSchema = reconciliationShape
  .extend({ findings: findingListSchema })
  .meta({ id: 'ReconciliationWithFindings' })

const reconciliation = {
  prefix: 'rec',
  schema: reconciliationShape.meta({ id: 'Reconciliation' }),
  idInPath: 'The id of the reconciliation.',
  find: findRun,
} as const

const FINDINGS = { table: 'reconciliation_findings' }

const finding = {
  prefix: 'fnd',
  schema: findingSchema,
  idInPath: 'The id of the finding.',
  find: (sql: Sql | Transaction, id: string) => findIn<Finding>(sql, undefined, FINDINGS, { id }),
  present: (found: Finding) =>
    render(findingSchema, { ...found, about: found.objectId, reconciliation: found.runId }),
} as const

/** Lists the findings that have these values. */
const listFindings = (
  sql: Sql,
  values: { readonly status?: string | undefined; readonly run_id?: string | undefined },
  page: PageRequest,
) => listOf<Finding>(sql, undefined, { ...FINDINGS, filters: matching(sql, values) }, page)

/** Closes a finding, and returns it. Undefined when it is not open. */
export async function resolveFindingIfOpen(
  tx: Transaction,
  id: string,
  by: string,
  note: string,
): Promise<Finding | undefined> {
  const resolved = await tx`
    update reconciliation_findings
    set status = 'resolved', resolved_at = now(), resolved_by = ${by}, note = ${note}
    where id = ${id} and status = 'open'
    returning *
  `
  return objectsOf<Finding>(resolved)[0]
}

const resolveFindingBody = z.strictObject({
  note: textField({ min: 1, max: 500 }).describe(
    'What was done about the finding. It is stored with the finding and in the audit trail.',
  ),
})

const windowTime = z.string().transform((text, context) => {
  const time = timeFilter.parse(text)
  if (time !== undefined) return new Date(time)
  context.addIssue(`must be ${timeFilter.expected}`)
  return z.NEVER
})

const requestReconciliationBody = z.strictObject({
  from: windowTime.describe('The beginning of the period, inclusive.'),
  to: windowTime.describe('The end of the period, exclusive.'),
  provider: optionalField(z.enum(providerNames)).describe(
    'The provider; by default that of the service.',
  ),
})

export const reconciliationEndpoints: Endpoints = {
  'POST /admin/reconciliations': adminCommand({
    operationId: 'requestReconciliation',
    summary: 'Request a reconciliation',
    description:
      "Compares our records of a period of time with the provider's. A worker does the comparison, repairs what it can and opens a finding for each remaining difference. If a reconciliation of the same period is in progress, that one is returned.",
    action: 'reconciliation.request',
    body: {
      schema: requestReconciliationBody.meta({ id: 'RequestReconciliation' }),
      example: { from: '2026-01-30T00:00:00Z', to: '2026-01-31T00:00:00Z' },
    },
    async work({ parts, tx, body, operator }) {
      const { from, to } = body
      if (from >= to) {
        const errors = [{ pointer: '/to', detail: 'Must be later than from' }]
        throw new ProblemError('invalid-field', { detail: '/to: Must be later than from', errors })
      }
      const provider = body.provider ?? parts.providers.defaultName
      const run = await requestReconciliation(tx, { provider, from, to, requestedBy: operator })
      return {
        answer: presentOne(reconciliation, run, parts),
        subject: showId('rec', run.id),
        details: { result: run.requestedBy === operator ? 'requested' : 'under_way', from, to },
      }
    },
    answers: {
      202: {
        description:
          'The reconciliation, or the one of the same period that is already in progress.',
        schema: reconciliation.schema,
      },
    },
  }),
  'GET /admin/reconciliations': readList({
    operationId: 'listReconciliations',
    summary: 'List reconciliations',
    description: 'Returns the reconciliations, newest first.',
    of: reconciliation,
    read: ({ store }, page) => listRuns(store.sql, page),
    answer: 'A page of reconciliations.',
  }),
  'GET /admin/reconciliations/:id': readList({
    operationId: 'getReconciliation',
    summary: 'Retrieve a reconciliation',
    description:
      'Returns a reconciliation with a page of its findings. The query parameters apply to the findings.',
    of: finding,
    below: reconciliation,
    read: ({ store }, page, _filters, { owner: { id: runId } }) =>
      listFindings(store.sql, { run_id: runId }, page),
    show: (findings, _found, run) => ({ ...render(reconciliationShape, run), findings }),
    answer: 'The reconciliation with a page of its findings.',
    schema: reconciliationWithFindingsSchema,
  }),
  'GET /admin/findings': readList({
    operationId: 'listFindings',
    summary: 'List findings',
    description:
      'Returns the problems that the service could not repair by itself and that need a person, newest first.',
    of: finding,
    filters: {
      status: byName(findingStatuses, 'open or resolved', 'Only return findings with this status.'),
      reconciliation: byId(
        'rec',
        'reconciliation',
        'Only return the findings of this reconciliation.',
      ),
    },
    read: ({ store }, page, { status, reconciliation: runId }) =>
      listFindings(store.sql, { status, run_id: runId }, page),
    answer: 'A page of findings.',
    schema: findingListSchema,
  }),
  'GET /admin/findings/:id': readOne({
    operationId: 'getFinding',
    summary: 'Retrieve a finding',
    description: 'Returns a finding with its evidence: our record beside that of the provider.',
    of: finding,
    answer: 'The finding.',
  }),
  'POST /admin/findings/:id/resolve': adminCommand({
    operationId: 'resolveFinding',
    summary: 'Resolve a finding',
    description: 'Closes a finding after a person has dealt with it, and stores a note about it.',
    action: 'finding.resolve',
    on: finding,
    body: {
      schema: resolveFindingBody.meta({ id: 'ResolveFinding' }),
      example: { note: 'Refunded by hand.' },
    },
    async work({ tx, body: { note }, operator, found: { id } }) {
      const resolved = await resolveFindingIfOpen(tx, id, operator, note)
      if (resolved === undefined) throw new ProblemError('finding-not-open')
      return { answer: finding.present(resolved), details: { result: 'resolved', note } }
    },
    answers: { 200: { description: 'The resolved finding.', schema: findingSchema } },
    problems: ['finding-not-open'],
  }),
}
