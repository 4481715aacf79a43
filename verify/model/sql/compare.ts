// Compares values as PostgreSQL does: null is neither equal nor unequal to any value.
import { jsonOf, type Value } from '../store/rows.ts'

/** Negative, zero or positive; undefined when one value is null. */
export function compare(left: Value, right: Value): number | undefined {
  if (left === null || right === null) return undefined
  if (Array.isArray(left) && Array.isArray(right)) return compareRows(left, right)
  if (typeof left === 'number' && typeof right === 'number') return left - right
  const [one, other] = [keyOf(left), keyOf(right)]
  if (one === other) return 0
  const [first, second] = [JOB_STATES.indexOf(one), JOB_STATES.indexOf(other)]
  if (first >= 0 && second >= 0) return first - second
  return one < other ? -1 : 1
}

/** pg-boss defines these as an enum type, which has this order. */
const JOB_STATES = ['created', 'retry', 'active', 'completed', 'cancelled', 'failed']

const keyOf = (value: Value): string => (typeof value === 'string' ? value : jsonOf(value))

function compareRows(left: readonly Value[], right: readonly Value[]): number | undefined {
  for (const [index, part] of left.entries()) {
    const order = compare(part, right[index] ?? null)
    if (order !== 0) return order
  }
  return 0
}

/** Whether the values are not distinct: null equals null. */
export function isSame(left: Value, right: Value): boolean {
  return left === null || right === null ? left === right : compare(left, right) === 0
}
