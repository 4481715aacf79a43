// Every problem as the API answers it, described for openapi.yaml: one schema for each row of the table of
// problem types, so that a client can tell them apart by `type`.
import { z } from 'zod'
import { problemBody, errorMember } from '../../domain/problems/problem-error.ts'
import { problems, type ProblemType } from '../../domain/problems/problems.ts'
import { examplePayment, exampleRefund, paymentSchema, refundSchema } from '../payments/schema.ts'

const fieldErrorSchema = z
  .object({
    pointer: z.string().meta({ description: 'Which place of the body: an RFC 6901 pointer.' }),
    detail: z.string(),
  })
  .meta({ id: 'FieldError', examples: [{ pointer: '/amount', detail: 'Required' }] })

const errorsField = z.array(fieldErrorSchema).max(20).optional()

/** Members that a problem has beside those of RFC 9457. */
const extensions: { readonly [Type in ProblemType]?: z.ZodRawShape } = {
  'payment-declined': { payment: paymentSchema },
  'refund-declined': { refund: refundSchema },
  'response-dropped': { location: z.string().optional() },
  'unknown-field': { errors: errorsField },
  'invalid-amount': { errors: errorsField },
  'unknown-currency': { errors: errorsField },
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

/** What an example of it says, where the title alone would be none. */
const examples: { readonly [Type in ProblemType]?: Record<string, unknown> } = {
  'payment-declined': {
    payment: { ...examplePayment, amount_captured: 0, status: 'declined', failure: declineError },
    error: declineError,
  },
  'refund-declined': {
    refund: { ...exampleRefund, status: 'declined', failure: declineError },
    error: declineError,
  },
  'invalid-amount': { errors: [{ pointer: '/amount', detail: 'Required' }] },
}

function makeProblemSchema(type: ProblemType) {
  const { title, status, meaning } = problems[type]
  const isDecline = type === 'payment-declined' || type === 'refund-declined'
  const { type: stripeType, code } = errorMember(type)
  return z
    .object({
      type: z.literal(`/problems/${type}`),
      title: z.literal(title),
      status: z.literal(status),
      detail: z.string().optional(),
      ...extensions[type],
      error: z.object({
        type: z.literal(stripeType),
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

/** @throws Error for what is no row of the table. */
export function problemSchema(type: ProblemType): z.ZodType {
  const schema = schemas.get(type)
  if (schema === undefined) throw new Error(`there is no problem type ${type}`)
  return schema
}

const exampleStripeError = {
  error: { ...errorMember('invalid-state'), doc_url: '/problems/invalid-state' },
}

/** Any problem by `IDEMPOTENCY_FLAVOR=stripe`. */
export const stripeErrorSchema = z
  .object({
    error: z.object({
      type: z.string(),
      code: z.string(),
      message: z.string(),
      doc_url: z.string().meta({ description: "The path of the problem's page." }),
      param: z.string().optional(),
      decline_code: z.string().nullable().optional(),
      errors: errorsField,
      payment: paymentSchema.optional(),
      refund: refundSchema.optional(),
      location: z.string().optional(),
    }),
  })
  .meta({
    id: 'StripeError',
    description:
      'How a service with `IDEMPOTENCY_FLAVOR=stripe` shows each of these problems; there, what is 413, 415 or 422 otherwise is answered 400. A service has one flavour, which `/.well-known/idempotency-policy` tells.',
    examples: [exampleStripeError],
  })

/** What `/problems/:type` tells a program. */
export const problemPageSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    meaning: z.string().meta({ description: 'What happened, and what to do.' }),
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
