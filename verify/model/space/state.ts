// Defines a state: the store, the provider, refusals that clients received, the remaining fault
// budget, and the running instances, all as interned numbers. Encodes a state as the row of numbers
// that the state table stores.
import type { Budget, Space } from './space.ts'

export interface State {
  readonly database: number
  readonly provider: number
  readonly refusals: number
  readonly budget: Budget
  /** The running instances, sorted: the order of equal instances does not matter. */
  readonly instances: readonly number[]
}

const BUDGET_BASE = 16
const FIXED_COLUMNS = 4

/** Maximum number of concurrent instances. */
export function maxInstances(space: Space): number {
  const { workers, requests, maintenance, cancels, appliers } = space
  return workers + requests + maintenance + (cancels ? 1 : 0) + appliers
}

export const widthOf = (space: Space): number => FIXED_COLUMNS + maxInstances(space)

export function encode(state: State, row: Int32Array): void {
  const { database, provider, refusals, budget, instances } = state
  row[0] = database
  row[1] = provider
  row[2] = refusals
  row[3] = encodeBudget(budget)
  for (let place = FIXED_COLUMNS; place < row.length; place += 1) {
    row[place] = instances[place - FIXED_COLUMNS] ?? -1
  }
}

export function decode(row: Int32Array): State {
  const [database = 0, provider = 0, refusals = 0, budget = 0] = row
  const instances = Array.from(row.subarray(FIXED_COLUMNS)).filter((instance) => instance >= 0)
  return { database, provider, refusals, budget: decodeBudget(budget), instances }
}

function encodeBudget({ crashes, expiries, losses, early }: Budget): number {
  return ((crashes * BUDGET_BASE + expiries) * BUDGET_BASE + losses) * BUDGET_BASE + early
}

function decodeBudget(encoded: number): Budget {
  const digit = (place: number) => Math.floor(encoded / BUDGET_BASE ** place) % BUDGET_BASE
  return { crashes: digit(3), expiries: digit(2), losses: digit(1), early: digit(0) }
}

export const spend = (budget: Budget, what: keyof Budget): Budget => ({
  ...budget,
  [what]: budget[what] - 1,
})

/** Inserts an id into a sorted list. */
export function insertSorted(ids: readonly number[], id: number): number[] {
  const place = ids.findIndex((other) => other > id)
  return ids.toSpliced(place < 0 ? ids.length : place, 0, id)
}

export const sortNumbers = (ids: readonly number[]): number[] =>
  ids.toSorted((one, other) => one - other)
