// Describes problems for the OpenAPI documents: one schema for each flavour, and an example of each
// type.
import { failureTypes } from '../../domain/payments/payment.ts'
import { z } from 'zod'
import { problemBody } from '../../domain/problems/problem-error.ts'
import { problems, type ProblemType } from '../../domain/problems/problems.ts'
import { idempotencyField } from './fields.ts'
import { examplePayment, paymentSchema, refundSchema } from '../resources/payment.ts'

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
export const problemSchema = z
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
export function exampleProblem(type: ProblemType): Record<string, unknown> {
  return problemBody(type, undefined, examples[type])
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
