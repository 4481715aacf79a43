// Evaluates expressions in the three-valued logic of SQL: true, false and null.
import { jsonOf, type Relation, type Value } from '../store/rows.ts'
import { compare, isSame } from './compare.ts'
import { aggregate, AGGREGATES, callFunction, cast, listOf, operate } from './functions.ts'
import type { Scope } from './scope.ts'
import type { Expression, Query } from './syntax.ts'

/** What an expression needs besides the rows in scope. */
export interface EvaluationContext {
  readonly parameters: readonly Value[]
  readonly makeUuid: () => string
  select(query: Query, context: Scope): Relation
}

export function evaluate(expression: Expression, scope: Scope, context: EvaluationContext): Value {
  const read = (part: Expression): Value => evaluate(part, scope, context)
  switch (expression.kind) {
    case 'constant':
      return expression.value
    case 'parameter':
      return context.parameters[expression.index] ?? null
    case 'column':
      return scope.value(expression.of, expression.name)
    case 'call':
      return call(expression, scope, context)
    case 'operation':
      return operation(expression, read)
    case 'not':
      return negate(read(expression.part))
    case 'is_null':
      return read(expression.part) === null
    case 'is_distinct':
      return !isSame(read(expression.left), read(expression.right))
    case 'in_list':
      return isAmong(read(expression.part), expression.list.map(read))
    case 'in_query':
      return isAmong(read(expression.part), rowsOf(context.select(expression.query, scope)))
    case 'is_any':
      return isAmong(read(expression.left), listOf(read(expression.array)))
    case 'row':
    case 'array':
      return expression.parts.map(read)
    case 'scalar':
      return rowsOf(context.select(expression.query, scope))[0] ?? null
    case 'exists':
      return context.select(expression.query, scope).rows.length > 0
    case 'case':
      return choose(expression, read)
    case 'cast':
      return cast(read(expression.part), expression.to)
  }
}

/** Whether a condition is true: neither false nor null. */
export function holds(
  condition: Expression | undefined,
  scope: Scope,
  context: EvaluationContext,
): boolean {
  return condition === undefined || evaluate(condition, scope, context) === true
}

/** Whether the expression is an aggregate, which turns many rows into one value. */
export function isAggregate(expression: Expression): boolean {
  if (expression.kind === 'call' && AGGREGATES.has(expression.name)) return true
  if (expression.kind === 'cast' || expression.kind === 'not') return isAggregate(expression.part)
  if (expression.kind !== 'operation') return false
  return isAggregate(expression.left) || isAggregate(expression.right)
}

function call(
  { name, parts }: Extract<Expression, { kind: 'call' }>,
  scope: Scope,
  context: EvaluationContext,
): Value {
  // No statement of the model reads the order of the ids that `next_id` makes.
  if (name === 'gen_random_uuid' || name === 'next_id') return context.makeUuid()
  if (AGGREGATES.has(name)) {
    const [part] = parts
    const group = scope.group ?? []
    const values = part === undefined ? [] : group.map((row) => evaluate(part, row, context))
    return aggregate(name, values)
  }
  if (name === 'coalesce') {
    for (const part of parts) {
      const value = evaluate(part, scope, context)
      if (value !== null) return value
    }
    return null
  }
  return callFunction(
    name,
    parts.map((part) => evaluate(part, scope, context)),
  )
}

function operation(
  { operator, left, right }: Extract<Expression, { kind: 'operation' }>,
  read: (part: Expression) => Value,
): Value {
  if (operator !== 'and' && operator !== 'or') return operate(operator, read(left), read(right))
  const decisive = operator === 'or'
  const first = read(left)
  if (first === decisive) return decisive
  const second = read(right)
  if (second === decisive) return decisive
  return first === null || second === null ? null : !decisive
}

function negate(value: Value): Value {
  return value === null ? null : value !== true
}

function isAmong(value: Value, list: readonly Value[]): Value {
  const orders = list.map((part) => compare(value, part))
  if (orders.includes(0)) return true
  return orders.includes(undefined) ? null : false
}

/** Each row as its single value, or as the list of its values. */
function rowsOf({ columns, rows }: Relation): Value[] {
  return rows.map((row) => {
    const values = columns.map((column) => row[column] ?? null)
    return values.length === 1 ? (values[0] ?? null) : values
  })
}

function choose(
  { subject, branches, otherwise }: Extract<Expression, { kind: 'case' }>,
  read: (part: Expression) => Value,
): Value {
  const subjectValue = subject && read(subject)
  for (const { when, value: result } of branches) {
    const value = read(when)
    const isMatch = subjectValue === undefined ? value === true : compare(subjectValue, value) === 0
    if (isMatch) return read(result)
  }
  return otherwise === undefined ? null : read(otherwise)
}

/** Text that identifies the group of a row. */
export function groupOf(
  expressions: readonly Expression[],
  scope: Scope,
  context: EvaluationContext,
): string {
  return jsonOf(expressions.map((expression) => evaluate(expression, scope, context)))
}
