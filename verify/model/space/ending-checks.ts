// Checks how a program or one of its members ended: a client's answer, or an error.
import type { Automaton } from '../programs/automaton.ts'
import { ownerOf } from '../programs/ids.ts'
import type { MemberResult } from '../programs/run.ts'
import type { Database } from '../store/database.ts'
import { toText, type Row } from '../store/rows.ts'
import type { Instance } from './instance.ts'
import type { SearchContext } from './search-context.ts'
import { AMOUNT_MINOR, REFUND_MINOR } from './space.ts'
import { MISUSE } from './possible-requests.ts'
import { rowOfKey } from './rows-of-key.ts'
import { AND } from './starts.ts'
import type { Effect } from './effect.ts'
import { CONNECTION_LOST } from '../store/store-errors.ts'
import { receiveAnswer, type Refusal } from './client-answers.ts'

export interface EndingResult {
  readonly refusals: number
  readonly violations: readonly string[]
}

const NO_VIOLATIONS: readonly string[] = []

export class EndingChecks {
  readonly #automaton: Automaton
  readonly #context: SearchContext
  readonly #results = new Map<string, EndingResult>()

  constructor(automaton: Automaton, context: SearchContext) {
    this.#automaton = automaton
    this.#context = context
  }

  /** @param refusals the refusals before. */
  check(refusals: number, instance: Instance, { ended, database, results }: Effect): EndingResult {
    const { kind, snapshot, node } = instance
    const error = ended?.error
    if (error !== undefined) return { refusals, violations: checkError(kind, error) }
    if (kind !== 'send' || results.length === 0) return { refusals, violations: NO_VIOLATIONS }
    const ids = JSON.stringify(instance.names)
    const name = `${refusals} ${database} ${snapshot} ${node} ${ids} ${JSON.stringify(results)}`
    const cached = this.#results.get(name)
    if (cached !== undefined) return cached
    const result = this.#receiveAnswers(refusals, instance, database, results)
    this.#results.set(name, result)
    return result
  }

  #receiveAnswers(
    refusals: number,
    { members, snapshot, node, names }: Instance,
    database: number,
    results: readonly MemberResult[],
  ): EndingResult {
    const { refusalSets, databases } = this.#context
    const value = databases.valueOf(database)
    const requests = this.#automaton.nameOf(this.#automaton.nodeOf(node)).split(AND)
    const violations: string[] = []
    let after = refusalSets.valueOf(refusals)
    for (const { member, result } of results) {
      const key = members[member]?.key ?? -1
      const received = receiveAnswer(after, {
        key,
        refusal: this.#refusalOf(value, key),
        isMisuse: requests[member]?.startsWith(MISUSE) === true,
        answer: result,
        canonicalIds: names,
        row: rowOfKey(value, key),
        rowAtSnapshot: snapshot < 0 ? undefined : rowOfKey(databases.valueOf(snapshot), key),
      })
      after = received.refusals
      violations.push(...received.violations)
    }
    return { refusals: refusalSets.idOf(after), violations }
  }

  #refusalOf(database: Database, key: number): Refusal | undefined {
    const { refusedKeys, oneReference } = this.#context.space
    if (refusedKeys.includes(key)) return { types: ['customer-not-found'], isCertain: true }
    if (oneReference) {
      const names = othersWithReference(database, key)
      return { types: ['duplicate-reference'], isCertain: false, names }
    }
    // The refunds that other keys requested, with any result, may leave too little for this one. When
    // the refund of a cancellation has failed meanwhile, enough is left again.
    const types = [
      'refund-exceeds-capture',
      ...(this.#context.space.appliers > 0 ? (['invalid-state'] as const) : []),
    ] as const
    return refundedByOthersMinor(database, key) + REFUND_MINOR > AMOUNT_MINOR
      ? { types, isCertain: false }
      : undefined
  }
}

/** The payments and refunds with a reference that other keys requested. */
function othersWithReference({ payments = [], refunds = [] }: Database, key: number): string[] {
  const others = (rows: readonly Row[]) =>
    rows.filter((row) => row['reference'] !== null && ownerOf(toText(row['id'])).key !== key)
  return [...others(payments), ...others(refunds)].map(({ id }) => toText(id))
}

/** The amount that other keys requested to refund. */
function refundedByOthersMinor({ refunds = [] }: Database, key: number): number {
  return refunds
    .filter(({ id }) => ownerOf(toText(id)).key !== key)
    .reduce((sum, row) => sum + Number(row['amount_minor']), 0)
}

/**
 * A lost connection may end maintenance, because its next run repeats the work. No other error may.
 */
function checkError(kind: string, error: string): readonly string[] {
  return error.includes(CONNECTION_LOST) ? NO_VIOLATIONS : [`bug: ${kind} ends with ${error}`]
}
