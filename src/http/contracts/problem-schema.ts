// Describes problem responses for openapi.yaml: one schema for each row of the table of problem
// types, so that a client can tell problems apart by `type`.
import { failureTypes } from '../../domain/payments/failure-type.ts'
import { z } from 'zod'
import { acpError } from '../../domain/problems/acp-error.ts'
import { problemBody, errorMember } from '../../domain/problems/problem-error.ts'
import { problems, type ProblemType } from '../../domain/problems/problems.ts'
import { idempotencyField } from './idempotency-field.ts'
import { examplePayment, exampleRefund, paymentSchema, refundSchema } from '../payments/schema.ts'

const fieldErrorSchema = z
  .object({
    pointer: z
      .string()
      .meta({ description: 'The place in the body that is wrong, as an RFC 6901 JSON pointer.' }),
    detail: z.string().meta({ description: 'What is wrong there.' }),
  })
  .meta({ id: 'FieldError', examples: [{ pointer: '/amount', detail: 'Required' }] })

const errorsField = z
  .array(fieldErrorSchema)
  .max(20)
  .optional()
  .meta({ description: 'The errors in the body, at most the first 20.' })

const locationField = z
  .string()
  .optional()
  .meta({ description: 'The path of the resource that the operation created or changed.' })

/** Members of a problem beyond those of RFC 9457. */
const extensions: { readonly [Type in ProblemType]?: z.ZodRawShape } = {
  'payment-declined': { payment: paymentSchema, idempotency: idempotencyField },
  'authorization-expired': { payment: paymentSchema, idempotency: idempotencyField },
  'refund-declined': { refund: refundSchema, idempotency: idempotencyField },
  'charge-disputed': { refund: refundSchema.optional(), idempotency: idempotencyField },
  'duplicate-reference': {
    earlier: z.string().optional().meta({
      description: 'The id of the payment or refund that uses the reference.',
    }),
    location: z.string().optional().meta({ description: 'Its path.' }),
    idempotency: idempotencyField,
  },
  'reference-required': { errors: errorsField },
  'response-dropped': { location: locationField, idempotency: idempotencyField },
  'idempotency-key-reused': { idempotency: idempotencyField },
  'operation-in-progress': { idempotency: idempotencyField },
  'outcome-unknown': { idempotency: idempotencyField },
  'provider-unavailable': { idempotency: idempotencyField },
  'invalid-state': { idempotency: idempotencyField },
  'operation-timed-out': { idempotency: idempotencyField },
  'operation-canceled': { idempotency: idempotencyField },
  'unknown-field': { errors: errorsField },
  'invalid-amount': { errors: errorsField },
  'amount-too-small': { errors: errorsField },
  'unknown-currency': { errors: errorsField },
  'customer-not-found': { errors: errorsField },
  'invalid-field': { errors: errorsField },
  'capture-exceeds-authorization': { errors: errorsField },
  'webhook-url-refused': { errors: errorsField },
  'card-number-refused': { errors: errorsField },
}

const declineError = {
  code: 'card_declined',
  decline_code: 'generic_decline',
  message: 'Declined.',
}

const expiryError = {
  code: 'charge_expired_for_capture',
  decline_code: null,
  message: 'The authorization has expired.',
}

/** Extension members of the example, for problems that have some. */
const examples: { readonly [Type in ProblemType]?: Record<string, unknown> } = {
  'payment-declined': {
    payment: { ...examplePayment, amount_captured: 0, status: 'declined', failure: declineError },
    error: declineError,
  },
  'authorization-expired': {
    payment: {
      ...examplePayment,
      amount_captured: 0,
      status: 'canceled',
      capture_method: 'manual',
      cancellation_reason: 'automatic',
    },
    error: expiryError,
  },
  'refund-declined': {
    refund: { ...exampleRefund, status: 'declined', failure: declineError },
    error: declineError,
  },
  'duplicate-reference': {
    earlier: examplePayment.id,
    location: `/v1/payments/${examplePayment.id}`,
  },
  'invalid-amount': { errors: [{ pointer: '/amount', detail: 'Required' }] },
  'reference-required': { errors: [{ pointer: '/reference', detail: 'Required' }] },
  'customer-not-found': { errors: [{ pointer: '/customer', detail: 'No such customer' }] },
}

/** The problems that say what the provider answered. */
const DECLINES: readonly ProblemType[] = [
  'payment-declined',
  'authorization-expired',
  'refund-declined',
]

function makeProblemSchema(type: ProblemType) {
  const { title, status, meaning } = problems[type]
  const isDecline = DECLINES.includes(type)
  const { type: stripeType, code } = errorMember(type)
  return z
    .object({
      type: z.literal(`/problems/${type}`),
      title: z.literal(title),
      status: z.literal(status),
      detail: z.string().optional(),
      ...extensions[type],
      error: z.object({
        type: type === 'payment-declined' ? z.enum(failureTypes) : z.literal(stripeType),
        code: isDecline ? z.string() : z.literal(code),
        message: z.string(),
        ...(extensions[type]?.['errors'] === undefined ? {} : { param: z.string().optional() }),
        ...(isDecline ? { decline_code: z.string().nullable() } : {}),
      }),
    })
    .meta({
      id: `${pascalCase(type)}Problem`,
      title,
      description: meaning,
      examples: [problemBody(type, undefined, examples[type])],
    })
}

export function pascalCase(type: string): string {
  return type.replaceAll(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

const schemas = new Map(
  (Object.keys(problems) as ProblemType[]).map((type) => [type, makeProblemSchema(type)]),
)

/** @throws Error when the table has no such type. */
export function problemSchema(type: ProblemType): z.ZodType {
  const schema = schemas.get(type)
  if (schema === undefined) throw new Error(`there is no problem type ${type}`)
  return schema
}

const exampleStripeError = {
  error: { ...errorMember('invalid-state'), doc_url: '/problems/invalid-state' },
}

/** Every problem when `IDEMPOTENCY_FLAVOR=stripe`. */
export const stripeErrorSchema = z
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
    examples: [exampleStripeError],
  })

/** Every problem when `IDEMPOTENCY_FLAVOR=acp`. */
export const acpErrorSchema = z
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
    examples: [acpError('idempotency-key-reused')],
  })

/** The JSON that `GET /problems/:type` returns. */
export const problemPageSchema = z
  .object({
    type: z.string().meta({ description: 'The `type` of the problem.' }),
    title: z.string().meta({ description: 'A short summary of the problem.' }),
    status: z.int().meta({ description: 'The HTTP status of the problem.' }),
    meaning: z.string().meta({ description: 'What happened, and what to do next.' }),
  })
  .meta({
    id: 'ProblemMeaning',
    examples: [
      {
        type: '/problems/route-not-found',
        title: problems['route-not-found'].title,
        status: 404,
        meaning: problems['route-not-found'].meaning,
      },
    ],
  })
