// The endpoints below /admin/reconciliations and /admin/findings: comparisons with the provider.
import { z } from 'zod'
import { findingKinds, findingStatuses, runStatuses } from '../../domain/operations/finding.ts'
import { anyMembers, idField, listOf, timeField } from '../contracts/fields.ts'
import {
  type Finding,
  listFindings,
  findFinding,
  resolveFindingByIdIfOpen,
} from '../../db/reconciliation/findings.ts'
import {
  type Run,
  requestReconciliation,
  listRuns,
  findRun,
} from '../../db/reconciliation/reconciliation-runs.ts'
import { showPaymentId } from '../../domain/payments/payment.ts'
import { showRefundId } from '../../domain/payments/refund.ts'
import { parseId, showId } from '../../domain/resource-id.ts'
import { showOperationId } from './operation.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../endpoint.ts'
import {
  oneOfFilter,
  timeFilter,
  parseFilteredQuery,
  parseListQuery,
} from '../requests/list-query.ts'
import { showPage, presentPage, showJson, jsonType } from '../responses/answer.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { textField, optionalField } from '../requests/body-fields.ts'
import { adminCommand } from './admin-commands.ts'
import { providerNames } from '../../provider/adapters.ts'
import { admin } from '../server/route.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { idFilter, idInPath, oneOf } from '../contracts/parameters.ts'

const reconciliationShape = z.object({
  id: idField('rec', 'The id of the reconciliation.'),
  object: z.literal('reconciliation'),
  provider: z.string().meta({ description: 'The name of the provider.' }),
  from: timeField('The beginning of the period, inclusive.'),
  to: timeField('The end of the period, exclusive.'),
  status: z.enum(runStatuses).meta({ description: 'The status of the reconciliation.' }),
  requested_by: z.string().meta({ description: 'Who requested the reconciliation.' }),
  counts: z.record(z.string(), z.number()).meta({
    description:
      'How many objects were compared, found to differ and repaired. `fees`: how many fees of the provider were posted. `account_movements`: how many movements belong to no payment, such as payouts.',
  }),
  last_error: z.string().nullable().meta({ description: 'The error of the last attempt.' }),
  created_at: timeField('When the reconciliation was requested.'),
  finished_at: timeField('When the reconciliation ended.').nullable(),
})

const reconciliationSchema = reconciliationShape.meta({ id: 'Reconciliation' })

const findingSchema = z
  .object({
    id: idField('fnd', 'The id of the finding.'),
    object: z.literal('finding'),
    kind: z.enum(findingKinds).meta({
      description:
        "The kind of finding. `outcome_unknown`: the service could not find out whether an operation happened. `operation_abandoned`: an operation stopped before it was completed, and its client did not retry. `missing_here`: the provider has an object that our records do not have. `missing_there`: our records have an object that the provider does not have. `amount_differs`, `currency_differs` and `status_differs`: our record and the provider's object differ. `ledger_differs`: the provider moved another amount than the ledger states. `charged_twice`, `held_twice` and `refunded_twice`: two objects of the provider belong to the same operation, and the second one took, holds or returned money, or may still do so. `unknown_movement`: money moved on the provider's balance, and the service cannot say why.",
    }),
    status: z.enum(findingStatuses).meta({ description: 'The status of the finding.' }),
    provider: z.string().meta({ description: 'The name of the provider.' }),
    about: z
      .string()
      .meta({ description: "The id of the object concerned, either the provider's or ours." }),
    reconciliation: idField('rec', 'The reconciliation that opened the finding.').nullable(),
    tenant: idField('tnt', 'The tenant concerned.').nullable(),
    payment: idField('pay', 'The payment concerned.').nullable(),
    refund: idField('re', 'The refund concerned.').nullable(),
    operation: idField('op', 'The operation concerned.').nullable(),
    ours: anyMembers.nullable().meta({ description: 'What our records state.' }),
    theirs: anyMembers.nullable().meta({ description: 'What the provider states.' }),
    opened_at: timeField('When the finding was opened.'),
    resolved_at: timeField('When the finding was resolved.').nullable(),
    resolved_by: z.string().nullable().meta({ description: 'Who resolved the finding.' }),
    note: z.string().nullable().meta({ description: 'What was done about the finding.' }),
  })
  .meta({
    id: 'Finding',
    description: 'A problem that the service could not repair by itself and that needs a person.',
  })

const findingListSchema = listOf('FindingList', findingSchema)

const reconciliationWithFindingsSchema = reconciliationShape
  .extend({
    findings: findingListSchema,
  })
  .meta({ id: 'ReconciliationWithFindings' })

const parseRunId = (text: string): string | undefined => parseId('rec', text)
const parseFindingId = (text: string): string | undefined => parseId('fnd', text)

const showRunId = (id: string): string => showId('rec', id)

function presentRun(run: Run): Record<string, unknown> {
  return {
    id: showRunId(run.id),
    object: 'reconciliation',
    provider: run.provider,
    from: run.from,
    to: run.to,
    status: run.status,
    requested_by: run.requestedBy,
    counts: run.counts,
    last_error: run.lastError,
    created_at: run.createdAt,
    finished_at: run.finishedAt,
  }
}

function presentFinding(finding: Finding): Record<string, unknown> {
  const { runId, tenantId, paymentId, refundId, operationId } = finding
  return {
    id: showId('fnd', finding.id),
    object: 'finding',
    kind: finding.kind,
    status: finding.status,
    provider: finding.provider,
    about: finding.objectId,
    reconciliation: runId && showRunId(runId),
    tenant: tenantId && showId('tnt', tenantId),
    payment: paymentId && showPaymentId(paymentId),
    refund: refundId && showRefundId(refundId),
    operation: operationId && showOperationId(operationId),
    ours: finding.ours,
    theirs: finding.theirs,
    opened_at: finding.openedAt,
    resolved_at: finding.resolvedAt,
    resolved_by: finding.resolvedBy,
    note: finding.note,
  }
}

const knownFilters = {
  status: oneOfFilter('open or resolved', findingStatuses),
  reconciliation: { expected: 'the id of one reconciliation', parse: parseRunId },
}

const listFindingsEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parseFindingId, knownFilters)
  const { status, reconciliation: runId } = filters
  const lookup = listFindings(parts.store.sql, { status, runId }, page)
  return showPage(await withinStoreTimeout(parts, lookup), presentFinding)
}

const getFindingEndpoint: AdminEndpoint = async (parts, request) => {
  const id = parseFindingId(String(request.params['id']))
  const lookup = id === undefined ? undefined : findFinding(parts.store.sql, id)
  const finding = lookup && (await withinStoreTimeout(parts, lookup))
  if (finding === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentFinding(finding))
}

const resolveFindingBody = z.strictObject({
  note: textField({ min: 1, max: 500 }).describe(
    'What was done about the finding. It is stored with the finding and in the audit trail.',
  ),
})

const resolveFinding = adminCommand({
  action: 'finding.resolve',
  subject({ params }) {
    const text = String(params['id'])
    return parseFindingId(text) === undefined ? null : text
  },
  body: resolveFindingBody,
  async work(_parts, tx, { request, body: { note }, operator }) {
    const id = parseFindingId(String(request.params['id']))
    const before = id === undefined ? undefined : await findFinding(tx, id)
    if (before === undefined) throw new ProblemError('resource-not-found')
    if (!(await resolveFindingByIdIfOpen(tx, before.id, { by: operator, note }))) {
      throw new ProblemError('finding-not-open')
    }
    const finding = (await findFinding(tx, before.id)) ?? before
    return { answer: showJson(presentFinding(finding)), details: { result: 'resolved', note } }
  },
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

const requestReconciliationEndpoint = adminCommand({
  action: 'reconciliation.request',
  body: requestReconciliationBody,
  async work({ providerName }, tx, { body: { from, to, provider }, operator }) {
    if (from >= to) {
      const errors = [{ pointer: '/to', detail: 'Must be later than from' }]
      throw new ProblemError('invalid-field', { detail: '/to: Must be later than from', errors })
    }
    const run = await requestReconciliation(tx, {
      provider: provider ?? providerName,
      from,
      to,
      requestedBy: operator,
    })
    return {
      answer: { status: 202, headers: jsonType, body: JSON.stringify(presentRun(run)) },
      subject: showRunId(run.id),
      details: { result: run.requestedBy === operator ? 'requested' : 'under_way', from, to },
    }
  },
})

const listReconciliations: AdminEndpoint = async (parts, request) => {
  const page = parseListQuery(request.query, parseRunId)
  return showPage(await withinStoreTimeout(parts, listRuns(parts.store.sql, page)), presentRun)
}

const getReconciliation: AdminEndpoint = async (parts, request) => {
  const { sql } = parts.store
  const page = parseListQuery(request.query, parseFindingId)
  const id = parseRunId(String(request.params['id']))
  const run = id === undefined ? undefined : await withinStoreTimeout(parts, findRun(sql, id))
  if (run === undefined) throw new ProblemError('resource-not-found')
  const findings = await withinStoreTimeout(parts, listFindings(sql, { runId: run.id }, page))
  return showJson({ ...presentRun(run), findings: presentPage(findings, presentFinding) })
}

export const reconciliationEndpoints: Endpoints = {
  'POST /admin/reconciliations': {
    serve: admin(requestReconciliationEndpoint),
    operationId: 'requestReconciliation',
    tag: 'Operators',
    summary: 'Request a reconciliation',
    description:
      "Compares our records of a period of time with the provider's. A worker does the comparison, repairs what it can and opens a finding for each remaining difference. If a reconciliation of the same period is in progress, that one is returned.",
    body: {
      schema: requestReconciliationBody.meta({ id: 'RequestReconciliation' }),
      example: { from: '2026-01-30T00:00:00Z', to: '2026-01-31T00:00:00Z' },
    },
    answers: {
      202: {
        description:
          'The reconciliation, or the one of the same period that is already in progress.',
        schema: reconciliationSchema,
      },
    },
  },
  'GET /admin/reconciliations': {
    serve: admin(listReconciliations),
    operationId: 'listReconciliations',
    tag: 'Operators',
    summary: 'List reconciliations',
    description: 'Returns the reconciliations, newest first.',
    isList: true,
    answers: {
      200: {
        description: 'A page of reconciliations.',
        schema: listOf('ReconciliationList', reconciliationSchema),
      },
    },
  },
  'GET /admin/reconciliations/:id': {
    serve: admin(getReconciliation),
    operationId: 'getReconciliation',
    tag: 'Operators',
    summary: 'Retrieve a reconciliation',
    description:
      'Returns a reconciliation with a page of its findings. The query parameters apply to the findings.',
    path: idInPath('rec', 'The id of the reconciliation.'),
    isList: true,
    answers: {
      200: {
        description: 'The reconciliation with a page of its findings.',
        schema: reconciliationWithFindingsSchema,
      },
    },
  },
  'GET /admin/findings': {
    serve: admin(listFindingsEndpoint),
    operationId: 'listFindings',
    tag: 'Operators',
    summary: 'List findings',
    description:
      'Returns the problems that the service could not repair by itself and that need a person, newest first.',
    isList: true,
    query: z.object({
      status: oneOf(findingStatuses, 'Only return findings with this status.'),
      reconciliation: idFilter('rec', 'Only return the findings of this reconciliation.'),
    }),
    answers: { 200: { description: 'A page of findings.', schema: findingListSchema } },
  },
  'GET /admin/findings/:id': {
    serve: admin(getFindingEndpoint),
    operationId: 'getFinding',
    tag: 'Operators',
    summary: 'Retrieve a finding',
    description: 'Returns a finding with its evidence: our record beside that of the provider.',
    path: idInPath('fnd', 'The id of the finding.'),
    answers: { 200: { description: 'The finding.', schema: findingSchema } },
  },
  'POST /admin/findings/:id/resolve': {
    serve: admin(resolveFinding),
    operationId: 'resolveFinding',
    tag: 'Operators',
    summary: 'Resolve a finding',
    description: 'Closes a finding after a person has dealt with it, and stores a note about it.',
    path: idInPath('fnd', 'The id of the finding.'),
    body: {
      schema: resolveFindingBody.meta({ id: 'ResolveFinding' }),
      example: { note: 'Refunded by hand.' },
    },
    answers: { 200: { description: 'The resolved finding.', schema: findingSchema } },
    problems: ['finding-not-open'],
  },
}
