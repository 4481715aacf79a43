// Checks how a program ended: a client's answer, or an error.
import type { Automaton, Node } from '../programs/automaton.ts'
import { ownerOf } from '../programs/ids.ts'
import type { Database } from '../store/database.ts'
import { toText, type Value } from '../store/rows.ts'
import type { Instance } from './instance.ts'
import type { SearchContext } from './search-context.ts'
import { AMOUNT_MINOR, REFUND_MINOR } from './space.ts'
import { AND, MISUSE, rowOfKey } from './starts.ts'
import type { Effect } from './effect.ts'
import { CONNECTION_LOST } from '../store/store-errors.ts'
import { receiveAnswer } from './client-answers.ts'

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
  check(refusals: number, instance: Instance, { ended, database }: Effect): EndingResult {
    const { kind, snapshot } = instance
    if (ended === undefined) return { refusals, violations: NO_VIOLATIONS }
    if (ended.error !== undefined) return { refusals, violations: checkError(kind, ended.error) }
    if (kind !== 'send') return { refusals, violations: NO_VIOLATIONS }
    const name = `${refusals} ${database} ${snapshot} ${ended.id}`
    const cached = this.#results.get(name)
    if (cached !== undefined) return cached
    const result = this.#receiveAnswers(refusals, instance, database, ended)
    this.#results.set(name, result)
    return result
  }

  /** The answers of the members arrive in any order: none depends on another one. */
  #receiveAnswers(
    refusals: number,
    { members, snapshot }: Instance,
    database: number,
    ended: Node,
  ): EndingResult {
    const { refusalSets, databases } = this.#context
    const value = databases.valueOf(database)
    const requests = this.#automaton.nameOf(ended).split(AND)
    const answers = Array.isArray(ended.value) ? (ended.value as readonly Value[]) : []
    const violations: string[] = []
    let after = refusalSets.valueOf(refusals)
    for (const [index, { key }] of members.entries()) {
      const received = receiveAnswer(after, {
        key,
        mayExceedCapture: refundedByOthersMinor(value, key) + REFUND_MINOR > AMOUNT_MINOR,
        isMisuse: requests[index]?.startsWith(MISUSE) === true,
        answer: answers[index] ?? null,
        row: rowOfKey(value, key),
        rowAtSnapshot: snapshot < 0 ? undefined : rowOfKey(databases.valueOf(snapshot), key),
      })
      after = received.refusals
      violations.push(...received.violations)
    }
    return { refusals: refusalSets.idOf(after), violations }
  }
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
