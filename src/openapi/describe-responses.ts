// Describes responses for OpenAPI: the successes of an endpoint, and one response for each status of
// a problem, which all endpoints share. `x-problems` of an operation says what it can answer.
import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi'
import { failureTypes } from '../domain/payments/payment.ts'
import { problemBody } from '../domain/problems/problem-error.ts'
import { problems, type ProblemType } from '../domain/problems/problems.ts'
import { idempotencyField } from '../http/contracts/fields.ts'
import {
  tenantTags,
  type Contract,
  type Endpoints,
  type Success,
} from '../http/contracts/contract.ts'
import { EARLIER_USE_HEADERS, type ResponseHeader } from '../http/contracts/response-headers.ts'
import { examplePayment, paymentSchema, refundSchema } from '../http/resources/payment.ts'
import { pascalCase } from './share-parts.ts'
import { problemNamesOf, problemsOf } from './problems-of.ts'

// One schema of problems for each flavour, and an example of each type.

const fieldErrorSchema = z
  .object({
    pointer: z
      .string()
      .meta({ description: 'The place in the body that is wrong, as an RFC 6901 JSON pointer.' }),
    detail: z.string().meta({ description: 'What is wrong there.' }),
  })
  .meta({ id: 'FieldError' })

const errorsField = z
  .array(fieldErrorSchema)
  .max(20)
  .optional()
  .meta({ description: 'The errors in the body, at most the first 20.' })

const locationField = z.string().optional().meta({
  description: 'The path of the resource that was created or changed, or that uses the reference.',
})

const declineError = {
  code: 'card_declined',
  decline_code: 'generic_decline',
  message: 'Declined.',
}

/** Members of the example beyond those that each problem has. */
const examples: { readonly [Type in ProblemType]?: Record<string, unknown> } = {
  'payment-declined': {
    payment: { ...examplePayment, amount_captured: 0, status: 'declined', failure: declineError },
    error: { ...declineError, type: 'card_error' },
  },
  'invalid-field': { errors: [{ pointer: '/amount', detail: 'Required' }] },
}

const stripeTypes = [...new Set(Object.values(problems).map(({ stripeType }) => stripeType))]

const shownFailureSchema = z
  .object({
    type: z.enum([...new Set([...stripeTypes, ...failureTypes])]),
    code: z.string().meta({
      description: 'The code of the problem or, for a decline, of the provider.',
    }),
    message: z.string(),
    param: z.string().optional().meta({ description: 'The first wrong field.' }),
    decline_code: z.string().nullable().optional(),
  })
  .meta({ description: 'The same for the SDKs of Stripe.' })

const problemTypes = Object.keys(problems) as ProblemType[]

/** Every problem when `IDEMPOTENCY_FLAVOR=ietf`. `x-problems` says which an operation can answer. */
const problemSchema = z
  .object({
    type: z.enum(problemTypes.map((type) => `/problems/${type}`)).meta({
      description: 'The path of the page that explains the problem. It tells problems apart.',
    }),
    title: z.string(),
    status: z.int().meta({ description: 'The HTTP status.' }),
    detail: z.string().optional().meta({ description: 'What is particular to this request.' }),
    errors: errorsField,
    payment: paymentSchema.optional().meta({
      description: 'The payment, with `payment-declined` and `authorization-expired`.',
    }),
    refund: refundSchema.optional().meta({
      description: 'The refund, with `refund-declined` and `charge-disputed`.',
    }),
    earlier: z.string().optional().meta({
      description: 'With `duplicate-reference`: the id of the payment or refund that uses it.',
    }),
    location: locationField,
    idempotency: idempotencyField,
    error: shownFailureSchema,
  })
  .meta({ id: 'Problem', description: 'A problem as in RFC 9457.' })

/** A problem as the service answers it. */
function exampleProblem(type: ProblemType): Record<string, unknown> {
  return problemBody(type, undefined, examples[type])
}

/** Every problem when `IDEMPOTENCY_FLAVOR=stripe`. */
const stripeErrorSchema = z
  .object({
    error: z.object({
      type: z.string(),
      code: z.string(),
      message: z.string(),
      doc_url: z.string().meta({ description: 'The path of the page that explains the problem.' }),
      param: z.string().optional(),
      decline_code: z.string().nullable().optional(),
      errors: errorsField,
      payment: paymentSchema.optional(),
      refund: refundSchema.optional(),
      earlier: z.string().optional(),
      location: locationField,
    }),
    idempotency: idempotencyField,
  })
  .meta({
    id: 'StripeError',
    description:
      'The form of every problem when the service runs with `IDEMPOTENCY_FLAVOR=stripe`, for clients that use the SDKs of Stripe. In this flavor, problems with status 413, 415 or 422 have status 400 instead. Each service has one flavor; `/.well-known/idempotency-policy` states which.',
  })

/** Every problem when `IDEMPOTENCY_FLAVOR=acp`. */
const acpErrorSchema = z
  .strictObject({
    type: z.enum(['invalid_request', 'processing_error', 'service_unavailable']),
    code: z.string(),
    message: z.string(),
    param: z.string().optional().meta({ description: 'The JSONPath of the first wrong field.' }),
    idempotency: idempotencyField,
  })
  .meta({
    id: 'AcpError',
    description:
      'The form of every problem when the service runs with `IDEMPOTENCY_FLAVOR=acp`, as in the Agentic Commerce Protocol of 2026-04-17.',
  })

/** The name of the response with any other status. */
const DEFAULT = 'OtherProblem'

/** The statuses of problems that do not depend on the operation: `default` stands for them. */
const OF_ANY_OPERATION = [401, 403, 405, 413, 415, 417, 429, 431, 500, 503]

/** In the document of all operations. In its own document, a name has no prefix. */
export const PREFIXES = { tenants: '', operators: 'Operators-' }

type Readers = keyof typeof PREFIXES

export function describeResponses(
  method: string,
  endpoint: Endpoints[string],
): Pick<ZodOpenApiOperationObject, 'responses' | `x-${string}`> {
  const names = problemNamesOf(method, endpoint)
  const readers = Object.hasOwn(tenantTags, endpoint.tag) ? 'tenants' : 'operators'
  const refTo = (name: string) => ({ $ref: `#/components/responses/${PREFIXES[readers]}${name}` })
  const failures = [...problemsOf(method, endpoint)]
    .map((type) => problems[type].status)
    .filter((status) => !OF_ANY_OPERATION.includes(status))
    .map((status) => [status, refTo(nameOf(status))] as const)
  const successes = Object.entries(endpoint.answers).map(
    ([status, success]) => [status, describeSuccess(endpoint, success)] as const,
  )
  return {
    responses: Object.fromEntries<ZodOpenApiResponseObject>([
      ...successes,
      ...failures,
      ['default', refTo(DEFAULT)],
    ]),
    ...(names.length === 0 ? {} : { 'x-problems': names }),
  }
}

function describeSuccess({ keyed, answers }: Contract, success: Success): ZodOpenApiResponseObject {
  const { description, schema, texts = [], headers: own = [] } = success
  const waits = keyed === 'foreign' && answers[202] === success
  const headers = [
    ...(keyed === undefined ? [] : KEY_HEADERS),
    ...own,
    ...(waits ? (['Retry-After'] as const) : []),
  ]
  const example = success.example ?? schema?.meta()?.['examples']?.[0]
  const json = schema && { schema, ...(example === undefined ? {} : { example }) }
  const content = {
    ...(json === undefined ? {} : { 'application/json': json }),
    ...Object.fromEntries(texts.map((type) => [type, { schema: z.string() }])),
  }
  return {
    description,
    ...(headers.length === 0 ? {} : { headers: headerRefs(headers) }),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  }
}

/** The responses that operations refer to: one for each status, and one for those of any. */
export function describeProblems(readers: Readers): Record<string, ZodOpenApiResponseObject> {
  const own = problemTypes.filter((type) => !OF_ANY_OPERATION.includes(problems[type].status))
  const isTenants = readers === 'tenants'
  const shared = [...Map.groupBy(own, (type) => problems[type].status)].map(
    ([status, [example = 'internal-error']]) => {
      const headers: ResponseHeader[] = [
        ...(isTenants ? KEY_HEADERS : []),
        ...(status === problems['operation-in-progress'].status ? (['Retry-After'] as const) : []),
        ...(status === problems['response-dropped'].status ? (['Location'] as const) : []),
      ]
      const shown = isTenants ? example : undefined
      return [nameOf(status), describeProblem(`${titleOf(status)}.`, headers, shown)] as const
    },
  )
  const others = describeProblem('A problem that does not depend on the operation.', [
    ...GENERAL_HEADERS,
    ...(isTenants ? [...LIMIT_HEADERS, ...KEY_HEADERS] : []),
    'WWW-Authenticate',
    'Retry-After',
  ])
  return Object.fromEntries(
    [...shared, [DEFAULT, others] as const].map(([name, one]) => [PREFIXES[readers] + name, one]),
  )
}

const nameOf = (status: number): string => pascalCase(titleOf(status))

const titleOf = (status: number): string => STATUS_CODES[status] ?? String(status)

function describeProblem(
  description: string,
  headers: readonly ResponseHeader[],
  shown: ProblemType = 'overloaded',
): ZodOpenApiResponseObject {
  return {
    description,
    ...(headers.length === 0 ? {} : { headers: headerRefs(headers) }),
    content: {
      'application/problem+json': { schema: problemSchema, example: exampleProblem(shown) },
      'application/json': { schema: errorOfFlavor },
    },
  }
}

/** A service has one flavor. */
const errorOfFlavor = z.union([stripeErrorSchema, acpErrorSchema]).meta({ id: 'ErrorOfFlavor' })

/** Any answer can have them. They are described once, with the response for any other status. */
const GENERAL_HEADERS: readonly ResponseHeader[] = ['Request-Id', 'Stripe-Should-Retry']

/** On answers to requests with an API key. */
const LIMIT_HEADERS: readonly ResponseHeader[] = ['RateLimit', 'RateLimit-Policy']

const KEY_HEADERS: readonly ResponseHeader[] = [
  'Link',
  'Idempotency-Key',
  'Idempotency-Key-Expires',
  ...EARLIER_USE_HEADERS,
  'Idempotent-Replayed',
  'Repeatability-Result',
  'Preference-Applied',
]

function headerRefs(names: readonly ResponseHeader[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
