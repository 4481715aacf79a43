// Checks a parsed body against the schema of its operation, and turns what zod finds into one
// problem that lists every complaint by its place and repeats no value.
import type { z } from 'zod'
import { type FieldError, ProblemError } from '../../domain/problems/problem-error.ts'
import { type ProblemType } from '../../domain/problems/problems.ts'
import { jsonPointer } from '../../domain/problems/json-pointer.ts'

type Body = Readonly<Record<string, unknown>>
type Issue = z.core.$ZodIssue

interface FieldProblem extends FieldError {
  readonly problem: ProblemType
}

/** Enough to mend a body by; a body of 64 KiB can be wrong in thousands of places. */
const ERRORS_MAX = 20

/**
 * Which complaint names the problem when there are several. A field that we do not know comes
 * first: the client means something that we would not do. Then the specific before the general.
 */
const PRECEDENCE: readonly ProblemType[] = [
  'unknown-field',
  'invalid-amount',
  'unknown-currency',
  'invalid-field',
]

/**
 * The body as the schema gives it out.
 *
 * @throws ProblemError unknown-field, invalid-amount, unknown-currency or invalid-field, in this
 *   order of precedence; a required field that is missing is an invalid-field. `errors` has the
 *   first 20 complaints in the same order.
 */
export function validateBody<Schema extends z.ZodType>(
  schema: Schema,
  body: Body,
): z.output<Schema> {
  const result = schema.safeParse(body, { error: explain })
  const issues = result.success ? [] : result.error.issues
  const complaints = [
    ...issues.flatMap((issue) => fieldProblemsOf(issue, body)),
    ...findHidden(body),
  ]
  const [first, ...others] = complaints.toSorted((one, other) => rank(one) - rank(other))
  if (first !== undefined) throw toProblem(first, others)
  // Without a complaint the result is a success, which the types cannot tell.
  return result.data as z.output<Schema>
}

function rank({ problem }: FieldProblem): number {
  return PRECEDENCE.indexOf(problem)
}

/** A text for what zod's own would not say well; undefined leaves it to zod. */
function explain({ input }: { readonly input?: unknown }): string | undefined {
  if (input === undefined) return 'Required'
  // `parseJsonBody` makes NaN of a number that is not written as an integer.
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

/** Zod leaves a `__proto__` out of a record without a word; a client that sends one is told. */
function findHidden(body: Body): FieldProblem[] {
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
