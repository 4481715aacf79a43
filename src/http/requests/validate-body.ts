// Validates a parsed body against the schema of its operation. Turns the issues that zod reports
// into one problem that lists every error by its place and quotes no value. Has the schemas of the fields
// that the bodies of several operations have; the rules of amounts are checked only for new operations.
import { z } from 'zod'
import { type FieldError, ProblemError } from '../../domain/problems/problem-error.ts'
import { jsonPointer } from '../../domain/problems/json-pointer.ts'
import type { ProblemType } from '../../domain/problems/problems.ts'
import { AMOUNT_MAX_MINOR, REFERENCE, REFERENCE_LENGTH_MAX } from '../../domain/payments/payment.ts'
import { amountMaxMinor, currencies, decimalsOf } from '../../domain/payments/currency.ts'
import { adapters, capabilitiesOf } from '../../provider/adapters.ts'

type Body = Readonly<Record<string, unknown>>
type Issue = z.core.$ZodIssue

interface FieldProblem extends FieldError {
  readonly problem: ProblemType
}

/** Enough to correct a body. A body of 64 KiB can have thousands of errors. */
const ERRORS_MAX = 20

/**
 * Which error determines the problem when there are several. An unknown field comes first: the
 * client asks for something that we would not do. Then specific errors come before general ones.
 */
const PRECEDENCE: readonly ProblemType[] = [
  'unknown-field',
  'invalid-amount',
  'unknown-currency',
  'invalid-field',
]

/**
 * Returns the output of the schema for the body.
 *
 * @throws ProblemError unknown-field, invalid-amount, unknown-currency or invalid-field, in this
 *   order of precedence; a missing required field is an invalid-field. `errors` has the first 20
 *   errors in the same order.
 */
export function validateBody<Schema extends z.ZodType>(
  schema: Schema,
  body: Body,
): z.output<Schema> {
  const result = schema.safeParse(body, { error: explain })
  const issues = result.success ? [] : result.error.issues
  const errors = [
    ...issues.flatMap((issue) => fieldProblemsOf(issue, body)),
    ...findHiddenFields(body),
  ]
  const [first, ...others] = errors.toSorted((one, other) => rank(one) - rank(other))
  if (first !== undefined) throw toProblem(first, others)
  // Without an error the result is a success, which the compiler cannot infer.
  return result.data as z.output<Schema>
}

function rank({ problem }: FieldProblem): number {
  return PRECEDENCE.indexOf(problem)
}

/** Returns a better message than zod's own; undefined keeps zod's. */
function explain({ input }: { readonly input?: unknown }): string | undefined {
  if (input === undefined) return 'Required'
  // `parseJsonBody` returns NaN for an integer written with a fraction or an exponent.
  if (Number.isNaN(input)) return 'Invalid input: expected an integer without fraction or exponent'
  return undefined
}

function fieldProblemsOf(issue: Issue, body: Body): FieldProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((name) => unknownField([...issue.path, name]))
  }
  const problem = problemOf(issue, body)
  const pointer = jsonPointer(issue.path)
  if (issue.code === 'invalid_key') {
    return issue.issues.map(({ message }) => ({ problem, pointer, detail: `Name: ${message}` }))
  }
  return [{ problem, pointer, detail: issue.message }]
}

function problemOf({ path }: Issue, body: Body): ProblemType {
  const [field] = path
  if (field === 'amount' && body['amount'] !== undefined) return 'invalid-amount'
  if (field === 'currency' && typeof body['currency'] === 'string') return 'unknown-currency'
  return 'invalid-field'
}

function unknownField(path: readonly PropertyKey[]): FieldProblem {
  return { problem: 'unknown-field', pointer: jsonPointer(path), detail: 'Unknown field' }
}

/** Zod silently removes `__proto__` from a record. A client that sends one must get an error. */
function findHiddenFields(body: Body): FieldProblem[] {
  return Object.entries(body)
    .filter(([, value]) => Object.hasOwn(Object(value) as object, '__proto__'))
    .map(([name]) => unknownField([name, '__proto__']))
}

function toProblem(first: FieldProblem, others: readonly FieldProblem[]): ProblemError {
  const errors = [first, ...others]
    .slice(0, ERRORS_MAX)
    .map(({ pointer, detail }) => ({ pointer, detail }))
  return new ProblemError(first.problem, {
    detail: `${first.pointer || 'The body'}: ${first.detail}`,
    errors,
  })
}

/**
 * Stripe accepts 50. Five are reserved for our own ids, by which we find our resources at Stripe.
 */
const METADATA_MEMBERS_MAX = 45

/** An amount in minor units. */
const amountField = z.int().min(1).max(AMOUNT_MAX_MINOR)

/**
 * Text with a limited number of code points. `minLength` and `maxLength` in openapi.yaml count code
 * points (JSON Schema Validation 2020-12, section 6.3). Zod's own limits count UTF-16 units: an
 * emoji has two.
 */
export function textField(
  { min = 0, max }: { min?: number; max: number },
  text = z.string(),
): z.ZodString {
  return text
    .refine((value) => countCharacters(value) >= min, {
      error: `Too small: expected string to have >=${min} characters`,
    })
    .refine((value) => countCharacters(value) <= max, {
      error: `Too big: expected string to have <=${max} characters`,
    })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max })
}

function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** The id of an object of the provider. */
export const providerIdField = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x21-\x7E]+$/, 'Invalid string: must be visible ASCII without spaces')

export const referenceField = z
  .string()
  .min(1)
  .max(REFERENCE_LENGTH_MAX)
  .regex(REFERENCE, 'Invalid string: must be visible ASCII without spaces')

// The limits are Stripe's: https://docs.stripe.com/api/metadata. Our own ids there begin with
// `atomic_`.
const metadataField = z
  .record(
    textField({ min: 1, max: 40 })
      .regex(/^[^[\]]*$/, 'must not have square brackets')
      .regex(/^(?!atomic_)/, 'must not begin with atomic_'),
    textField({ max: 500 }),
  )
  .refine((members) => Object.keys(members).length <= METADATA_MEMBERS_MAX, {
    error: `Too big: expected at most ${METADATA_MEMBERS_MAX} members`,
  })
  .meta({ maxProperties: METADATA_MEMBERS_MAX })

/** An optional field in which null means absent, because clients without a value often send null. */
export const optionalField = <Field extends z.ZodType>(field: Field) =>
  field.nullish().overwrite((value) => value ?? undefined)

/** Metadata that may be absent, null or empty, which is the same. */
export const optionalMetadataField = metadataField.nullish().overwrite((members) => members ?? {})

/** The body of a contract whose requests need none. */
export const noBody = { schema: z.strictObject({}), mayOmit: true }

const { amounts } = capabilitiesOf('stripe')

const maxima = new Map(
  currencies
    .map((currency) => [currency, amountMaxMinor(currency)] as const)
    .filter(([, maximum]) => maximum !== amountMaxMinor('usd')),
)

const UNIT = `In the smallest unit of the currency, as at Stripe, whichever provider charges it: with two decimals, without any in ${codesOf(0)}, and with three in ${codesOf(3)}. See docs/currencies.md.`

const STEPS = `${adapters
  .filter(({ capabilities }) => capabilities.amounts.steps.size > 0)
  .map(({ title, capabilities }, index) => {
    const what = index === 0 ? ', in some currencies it must be a multiple' : ''
    return `${index === 0 ? 'At' : 'at'} ${title}${what}: ${list(capabilities.amounts.steps)}`
  })
  .join('; ')}.`

const MAXIMA = `The largest amount is ${amountMaxMinor('usd')}; in ${list(maxima)}.`

const MINIMA = `The smallest amount at Stripe by currency: ${list(amounts.chargeMinimaMinor)}. Other currencies have no minimum here, but the provider may decline a small amount.`

/** The amount of a payment, in minor units. */
export const chargeAmountField = amountField.meta({
  id: 'ChargeAmount',
  description: `${UNIT} ${MAXIMA} ${STEPS} ${MINIMA}`,
})

/** A part of the amount of a payment, in minor units. */
export const partAmountField = amountField.meta({
  id: 'PartAmount',
  description: `${UNIT} ${STEPS}`,
})

function codesOf(decimals: number): string {
  const codes = currencies.filter((currency) => decimalsOf(currency) === decimals)
  return codes.map((code) => `\`${code}\``).join(', ')
}

function list(numbers: ReadonlyMap<string, number>): string {
  return [...numbers].map(([currency, minor]) => `\`${currency}\` ${minor}`).join(', ')
}
