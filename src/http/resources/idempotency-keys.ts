// GET /v1/idempotency-keys/:key and POST /v1/idempotency-keys/:key/cancel.
import { z } from 'zod'
import {
  cancellationStatuses,
  CANCEL_KEY,
  type CancellationStatus,
  longestRetention,
  retentionOf,
} from '../../domain/idempotency/idempotency-key.ts'
import { operationStatuses } from '../../domain/operations/operation.ts'
import {
  EXAMPLE_KEY,
  EXAMPLE_TIME,
  exampleId,
  idField,
  timeField,
  anyMembers,
  render,
} from '../contracts/fields.ts'
import type { Request } from 'express'
import {
  findIdempotencyKey,
  type IdempotencyKey,
  findTombstone,
} from '../../db/idempotency/idempotency-keys.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showPaymentId } from '../../domain/payments/payment.ts'
import { showRefundId } from '../../domain/payments/refund.ts'
import { showJson, type Answer, retryAfter } from '../responses/answer.ts'
import { tombstoneHeaders, keyExpired } from '../keyed/keyed-answer.ts'
import {
  type TenantEndpoint,
  withinStoreTimeout,
  type TenantParts,
  tenant,
  keyless,
  open,
} from '../endpoint.ts'
import { hash, randomUUIDv7 } from 'node:crypto'
import { requestCancellation } from '../../db/idempotency/cancellations.ts'
import { inTenant } from '../../db/connection/transaction.ts'
import { problemResponse } from '../../domain/operations/stored-response.ts'
import { cancelOperation } from '../../engine/reopen-or-cancel.ts'
import { findKey, readNamedRequest } from '../keyed/keyed-request.ts'
import { doWithinLimits } from '../keyed/keyed-locally.ts'
import { notFound } from '../contracts/reads.ts'
import { keyFilter } from '../requests/list-query.ts'
import { validateBody } from '../requests/validate-body.ts'
import { getIdempotencyPolicy } from './idempotency-policy.ts'
import { EARLIER_USE_HEADERS } from '../contracts/response-headers.ts'
import { flavors } from '../../domain/problems/flavor.ts'
import { idempotencyKeyHeader } from '../contracts/parameters.ts'
import type { Endpoints } from '../contracts/contract.ts'

const idempotencyKeySchema = z
  .object({
    object: z.literal('idempotency_key'),
    key: z.string().meta({ description: 'The idempotency key, without quotes.' }),
    operation: z.string().meta({ description: 'The operation that the key was used for.' }),
    status: z.enum(operationStatuses).meta({
      description:
        'The status of the operation. `pending` and `processing`: the operation is in progress. `completed`: the final response is stored, and retries replay it. `failed_retryable`: the operation stopped, and it is proved, or stated by operators, that its current step had no effect, or the provider knows of none and would not execute it twice; a retry resumes it. `unknown`: the operation may have taken effect, and the service is looking up the outcome at the provider.',
    }),
    recovery_point: z
      .string()
      .meta({ description: 'The last step that was recorded; work resumes after it.' }),
    attempts: z.int().meta({
      description:
        'How many times work on the operation has started since it was last reopened or looked up.',
    }),
    resource: z
      .union([
        z.object({ object: z.literal('payment'), id: idField('pay', 'The payment.') }),
        z.object({ object: z.literal('refund'), id: idField('re', 'The refund.') }),
      ])
      .nullable()
      .meta({
        description:
          'The payment or refund that the operation creates or changes. Null when the operation concerns no payment.',
      }),
    cancellation: z.enum(cancellationStatuses).nullable().meta({
      description:
        'What became of the request to cancel the key; null when there was none. `in_progress`: the operation is under way, or its payment is being canceled or refunded. `prevented`: nothing was executed, and nothing will be. `undone`: the payment is canceled, or the provider has accepted refunds of all its money. `nothing_to_undo`: the operation ended without effect. `refused`: what it did cannot be undone, for example because the payment is disputed.',
    }),
    created_at: timeField('When the key was first used.'),
    expires_at: timeField('When the key expires. Its stored response is not available after that.'),
  })
  .meta({
    id: 'IdempotencyKey',
    examples: [
      {
        object: 'idempotency_key',
        key: EXAMPLE_KEY,
        operation: 'payment.create',
        status: 'completed',
        recovery_point: 'finished',
        attempts: 1,
        resource: { object: 'payment', id: exampleId('pay') },
        cancellation: null,
        created_at: EXAMPLE_TIME,
        expires_at: '2026-02-07T12:00:00.000Z',
      },
    ],
  })

const getIdempotencyKey: TenantEndpoint = async ({ store }, request, tenantId) => {
  const text = readKeyInPath(request)
  const key = await findIdempotencyKey(store.sql, tenantId, text)
  if (key !== undefined) return showKey(key)
  const earlier = await findTombstone(store.sql, tenantId, text)
  throw earlier === undefined ? new ProblemError('resource-not-found') : keyExpired(earlier)
}

/** @throws ProblemError resource-not-found when no request can have had this key. */
function readKeyInPath(request: Request): string {
  return keyFilter.parse(String(request.params['key'])) ?? notFound()
}

function showKey(key: IdempotencyKey): Answer {
  const own = { resource: presentResource(key), cancellation: cancellationOf(key) }
  const answer = showJson(render(idempotencyKeySchema, { ...key, ...own }))
  const headers = key.earlier === null ? {} : tombstoneHeaders(key.earlier)
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

function cancellationOf({ operation, cancellation }: IdempotencyKey): CancellationStatus | null {
  return operation === CANCEL_KEY ? 'prevented' : cancellation
}

/** The resource that the operation creates or changes; null when it concerns no payment. */
function presentResource({ paymentId, refundId }: IdempotencyKey): Record<string, unknown> | null {
  if (refundId !== null) return { object: 'refund', id: showRefundId(refundId) }
  return paymentId === null ? null : { object: 'payment', id: showPaymentId(paymentId) }
}

/** Nothing may be asked for that would be ignored. */
const cancelKeyBody = z.strictObject({}).meta({ id: 'CancelIdempotencyKey' })

const cancelIdempotencyKey: TenantEndpoint = async (parts, request, tenantId) => {
  const read = await readNamedRequest(
    { key: readKeyInPath(request), firstSent: undefined },
    parts,
    request,
    { mayOmit: true },
  )
  validateBody(cancelKeyBody, read.body)
  const found = await reserveOrFind(parts, tenantId, read.key)
  const now = found.cancellation === null ? await cancel(parts, found) : found
  return answerTo(now)
}

/** A key that was never used is used up now: a request that arrives later executes nothing. */
async function reserveOrFind(
  parts: TenantParts,
  tenantId: string,
  key: string,
): Promise<IdempotencyKey> {
  const reservation = {
    tenantId,
    id: randomUUIDv7(),
    key,
    fingerprint: hash('sha256', key, 'buffer'),
    operation: CANCEL_KEY,
    // Which operation the request would begin is unknown, and it may arrive late.
    retentionSeconds: longestRetention(parts.settings),
    // What an expired key did cannot be found out from its tombstone.
    expiredKeys: 'gone',
  } as const
  const response = problemResponse(parts.settings.IDEMPOTENCY_FLAVOR, 'operation-canceled')
  return await doWithinLimits(parts, reservation, () => Promise.resolve(response))
}

async function cancel(parts: TenantParts, key: IdempotencyKey): Promise<IdempotencyKey> {
  if (key.operation === CANCEL_KEY) return key
  const { tenantId, id, paymentId, status } = key
  if (paymentId === null) throw new ProblemError('operation-not-cancelable')
  if (status !== 'completed' && (await withinStoreTimeout(parts, cancelOperation(parts, key)))) {
    return await readAgain(parts, key)
  }
  const operation = { tenantId, id, paymentId }
  const retentionSeconds = retentionOf(parts.settings, key.operation)
  const isRequested = await withinStoreTimeout(
    parts,
    inTenant(parts.store.sql, tenantId, (tx) =>
      requestCancellation(tx, operation, {
        provider: parts.providers.defaultName,
        retentionSeconds,
      }),
    ),
  )
  if (isRequested) parts.wake.eventWorkers()
  const now = await readAgain(parts, key)
  // Of several requests one is first, and the others find what it wrote.
  if (!isRequested && now.cancellation === null) throw new ProblemError('operation-not-cancelable')
  return now
}

async function readAgain(parts: TenantParts, key: IdempotencyKey): Promise<IdempotencyKey> {
  return (await findKey(parts, key)) ?? key
}

function answerTo(key: IdempotencyKey): Answer {
  const answer = showKey(key)
  if (key.cancellation !== 'in_progress') return answer
  const location = `/v1/idempotency-keys/${encodeURIComponent(key.key)}`
  return { ...answer, status: 202, headers: { ...answer.headers, ...retryAfter(), location } }
}

const idempotencyPolicySchema = z
  .looseObject({
    flavor: z.enum(flavors).meta({
      description:
        'The form of errors and headers. `ietf` follows the IETF draft; `stripe` suits the SDKs of Stripe; `acp` is the Agentic Commerce Protocol.',
    }),
    key: anyMembers.meta({ description: 'The syntax of idempotency keys.' }),
    scope: z
      .string()
      .meta({ description: 'What a key is unique in. `tenant`: each tenant has its own keys.' }),
    retention_seconds: z.int().meta({
      description: 'How long a key, with its response, is kept after the final response.',
    }),
    retention_seconds_by_operation: z.record(z.string(), z.int()).meta({
      description: 'The same for each operation that has a retention of its own.',
    }),
    stored: anyMembers.meta({
      description:
        'Which answers are stored, and how they are replayed: with the original status and bytes, for `DELETE` as for `POST`. With a status of `final`, an error is stored if its problem is among `final_problems`.',
    }),
    member: anyMembers.meta({
      description:
        'The member that answers about a stored key have in their body, and whether all have it or those whose request prefers it.',
    }),
    first_sent: anyMembers.meta({
      description:
        'How a client says when it first sent a request, and the greatest age at which a request without a stored response is executed.',
    }),
    answers: anyMembers.meta({
      description:
        'For each situation, the status and the problem type of the answer, and whether to retry with the same key.',
    }),
  })
  .meta({ id: 'IdempotencyPolicy' })

const keyInPath = z.object({
  key: z
    .string()
    .meta({ description: 'The idempotency key, without quotes.', examples: [EXAMPLE_KEY] }),
})

export const keyEndpoints: Endpoints = {
  'GET /v1/idempotency-keys/:key': {
    serve: tenant(getIdempotencyKey, 'payments:read'),
    operationId: 'getIdempotencyKey',
    tag: 'Idempotency keys',
    summary: 'Retrieve an idempotency key',
    description:
      'Returns the operation that an idempotency key was used for, its status and its resource. Use it to find out what happened to a request whose response was lost, without sending the request again.',
    path: keyInPath,
    answers: {
      200: {
        description: 'The idempotency key.',
        schema: idempotencyKeySchema,
        headers: EARLIER_USE_HEADERS,
      },
    },
    problems: ['idempotency-key-expired'],
  },
  'POST /v1/idempotency-keys/:key/cancel': {
    serve: keyless(cancelIdempotencyKey, 'refunds:write'),
    operationId: 'cancelIdempotencyKey',
    tag: 'Idempotency keys',
    summary: 'Cancel an idempotency key',
    description:
      'For a client that lost the answer and wants out. If nothing was executed under the key, nothing ever will be: its final answer is `operation-canceled`, also for a request that arrives later. Otherwise the payment is canceled or, if it is captured, refunded, as soon as its operation has ended. It is safe to repeat, and needs no key of its own. `cancellation` shows what became of it. The API key needs the scope of refunds, because money may be returned.',
    path: keyInPath,
    headers: idempotencyKeyHeader.pick({ 'Request-Timestamp': true }),
    body: { schema: cancelKeyBody, mayOmit: true, example: {} },
    answers: {
      200: {
        description: 'The idempotency key. The cancellation has ended.',
        schema: idempotencyKeySchema,
        headers: EARLIER_USE_HEADERS,
      },
      202: {
        description: 'The idempotency key. The cancellation is in progress.',
        schema: idempotencyKeySchema,
        headers: ['Location', 'Retry-After', ...EARLIER_USE_HEADERS],
      },
    },
    problems: [
      'idempotency-key-expired',
      'operation-not-cancelable',
      'too-many-stored-keys',
      'card-number-refused',
      'secret-refused',
      'request-timestamp-missing',
      'request-timestamp-invalid',
      'request-too-old',
    ],
  },
  'GET /.well-known/idempotency-policy': {
    serve: open(getIdempotencyPolicy),
    operationId: 'getIdempotencyPolicy',
    tag: 'Idempotency keys',
    summary: 'Retrieve the idempotency policy',
    description:
      'Returns, in machine-readable form, what clients can rely on: the syntax of keys, how long keys are kept, how errors are answered, and the limits of the service. No API key is needed.',
    answers: {
      200: { description: 'The policy of this service.', schema: idempotencyPolicySchema },
    },
  },
}
