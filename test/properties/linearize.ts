// Checks concurrent requests for one payment: they are correct if there is a sequential order with
// the same answers.
import { act, type Payment, type Request, type Told } from './model.ts'

/** A request of a race, with its answer. */
export interface Observed {
  readonly key: string
  readonly request: Request
  readonly told: Told
}

/**
 * The payment after the race, in the first order that explains the answers; undefined when no order
 * does. A key that was accepted earlier in the order gets the same answer again and does nothing.
 */
export function afterRace(payment: Payment, observed: readonly Observed[]): Payment | undefined {
  for (const order of ordersOf(observed)) {
    const after = afterOrder(payment, order)
    if (after !== undefined) return after
  }
  return undefined
}

function afterOrder(payment: Payment, order: readonly Observed[]): Payment | undefined {
  const accepted = new Map<string, Told>()
  let current = payment
  for (const { key, request, told } of order) {
    const before = accepted.get(key)
    const expected = before ?? act(current, request).told
    if (!isSame(expected, told)) return undefined
    if (before !== undefined || !usesUpKey(told)) continue
    accepted.set(key, told)
    current = act(current, request).after
  }
  return current
}

function* ordersOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  if (items.length === 0) yield []
  for (const [index, first] of items.entries()) {
    for (const rest of ordersOf(items.toSpliced(index, 1))) yield [first, ...rest]
  }
}

function isSame(one: Told, other: Told): boolean {
  return one.status === other.status && one.problem === other.problem
}

/** A final answer uses up its key; a refusal does not. */
export function usesUpKey({ status }: Told): boolean {
  return status < 300 || status === 402
}
