// Validates a parsed body against the schema of its operation. Turns the issues that zod reports
// into one problem that lists every error by its place and quotes no value.
import type { z } from 'zod'
import { type FieldError, ProblemError } from '../../domain/problems/problem-error.ts'
import { type ProblemType } from '../../domain/problems/problems.ts'
import { jsonPointer } from '../../domain/problems/json-pointer.ts'

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
